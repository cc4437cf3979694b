import { startInterval, unixMs } from "../../runtime/index.js";
import type { SyncEvent } from "../../sync/events.js";
import type { SyncState } from "../../sync/watch/state.js";
import type { LineTaker } from "../client.js";
import { type CommandContext, json } from "../output.js";
import { createDisplay, sizeOf } from "./display.js";
import { createEventLines, eventObject, logLine } from "./events.js";
import { progressLines } from "./progress-lines.js";
import { workerLines, workerLogLine } from "./worker-lines.js";

/** Milliseconds between two pictures on a terminal, and between two lines of a log. */
const [DRAW_MS, LOG_MS] = [200, 60_000];

/** Shows how a sync goes. */
export interface Reporter {
  /** Take an event. */
  readonly take: (event: SyncEvent) => void;
  /** Takes what is to be written beside the display. */
  readonly notes: LineTaker;
  /** End the display; in a log, write the last line. */
  end(): void;
}

/**
 * Show how a sync goes: on a terminal lines that are redrawn in place, else a line a minute on standard error; with
 * `--json`, a line of JSON for each event on standard output, and no log.
 *
 * @param state how the sync stands; it is given the events
 * @param asJson whether a program reads standard output
 * @param context the streams, and the environment variables
 * @param kind `worker`: it loads what others have planned, so that nobody tells it how much there is
 * @returns the reporter, to be ended
 */
export function createReporter(
  state: SyncState,
  asJson: boolean,
  { out, notes, environment }: CommandContext,
  { worker = false }: { readonly worker?: boolean } = {},
): Reporter {
  const isTerminal = notes.isTTY === true && environment["TERM"] !== "dumb" && !(asJson && out.isTTY === true);
  const told = (event: SyncEvent) => {
    state.take(event);
    const object = asJson ? eventObject(event) : undefined;
    if (object !== undefined) {
      out.write(json(object));
    }
  };
  if (isTerminal) {
    return onTerminal(state, told, notes, worker ? workerLines : progressLines);
  }
  return asJson ? { take: told, notes, end() {} } : inLog(state, told, notes, worker ? workerLogLine : logLine);
}

function onTerminal(
  state: SyncState,
  told: (event: SyncEvent) => void,
  notes: CommandContext["notes"],
  linesOf: typeof progressLines,
): Reporter {
  const display = createDisplay(notes);
  const eventLine = createEventLines();
  const draw = () => display.draw(linesOf(state.snapshot(), sizeOf(notes)));
  const stopDrawing = startInterval(draw, DRAW_MS);
  notes.on("resize", draw);
  draw();
  return {
    take(event) {
      told(event);
      const line = eventLine(event);
      if (line !== undefined) {
        display.write(`${line}\n`);
      }
    },
    notes: display,
    end() {
      stopDrawing();
      notes.off("resize", draw);
      display.end();
    },
  };
}

function inLog(
  state: SyncState,
  told: (event: SyncEvent) => void,
  notes: CommandContext["notes"],
  lineOf: typeof logLine,
): Reporter {
  const eventLine = createEventLines();
  let [planned, waited, ended] = [false, false, false];
  let last = "";
  const line = () => {
    const text = lineOf(state.snapshot());
    return { text, figures: text.slice(text.indexOf(" ")) };
  };
  const log = () => {
    const { text, figures } = line();
    last = figures;
    notes.write(`${text}\n`);
  };
  const stopLog = startInterval(log, LOG_MS);
  log();
  return {
    take(event) {
      told(event);
      const text = eventLine(event);
      if (text !== undefined) {
        notes.write(`${new Date(unixMs()).toISOString().slice(0, 19)}Z ${text}\n`);
      }
      // The first plan and the begin of a wait are told at once; then the line of each minute has it.
      if ((event.case === "waiting" && !waited) || (event.case === "planned" && !planned)) {
        log();
      }
      planned ||= event.case === "planned";
      waited = event.case === "waiting" || (waited && (event.case === "failed" || event.case === "left"));
    },
    notes,
    end() {
      if (!ended) {
        ended = true;
        stopLog();
        // What failed before anything happened has no figures to tell.
        if (line().figures !== last) {
          log();
        }
      }
    },
  };
}
