import type { TradewireError } from "../../base/errors/index.js";
import { startInterval, unixMs } from "../../base/runtime/index.js";
import { describeLag } from "../../data/history/data-node-lag.js";
import type { SyncEvent, SyncSnapshot, SyncState, SyncSummary, Unit } from "../../sync/index.js";
import type { LineWriter } from "../client.js";
import { grouped, span, speed } from "../formatting.js";
import { type CommandContext, json, printable } from "../output.js";
import { createDisplay, sizeOf } from "../progress.js";
import { progressLines, workerLines, workerLogLine } from "./progress-lines.js";

/** Milliseconds between two updates of a terminal, and between two lines of a log. */
const [DRAW_MS, LOG_MS] = [200, 60_000];

/** Reports the progress of a sync. */
export interface Reporter {
  readonly onEvent: (event: SyncEvent) => void;
  /** Receives other text, which is written above the display. */
  readonly notes: LineWriter;
  /** Removes the display; in a log, writes the last line. */
  end(): void;
}

/**
 * Reports the progress of a sync: on a terminal with lines that are redrawn in place, otherwise with one line per minute on
 * standard error; with `--output jsonl`, with a line of JSON for each event on standard output, and no log.
 */
export function createReporter(
  state: SyncState,
  asJson: boolean,
  { out, err, notes, environment }: CommandContext,
  { worker = false }: { readonly worker?: boolean } = {},
): Reporter {
  const isTerminal = notes.isTTY === true && environment["TERM"] !== "dumb" && !(asJson && out.isTTY === true);
  const onEvent = (event: SyncEvent) => {
    state.take(event);
    const object = asJson ? eventObject(event) : undefined;
    if (object !== undefined) {
      out.write(json(object));
    }
  };
  if (isTerminal) {
    return terminalReporter(state, onEvent, notes, worker ? workerLines : progressLines);
  }
  return asJson
    ? { onEvent, notes, end() {} }
    : logReporter(state, onEvent, { err, notes }, worker ? workerLogLine : logLine);
}

function terminalReporter(
  state: SyncState,
  onEvent: (event: SyncEvent) => void,
  notes: CommandContext["notes"],
  linesOf: typeof progressLines,
): Reporter {
  const display = createDisplay(notes);
  const describe = createEventDescriber();
  const draw = () => display.draw(linesOf(state.snapshot(), sizeOf(notes)));
  const stopDrawing = startInterval(draw, DRAW_MS);
  notes.on("resize", draw);
  draw();
  return {
    onEvent(event) {
      onEvent(event);
      const line = describe(event);
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

function logReporter(
  state: SyncState,
  onEvent: (event: SyncEvent) => void,
  { err, notes }: Pick<CommandContext, "err" | "notes">,
  lineOf: typeof logLine,
): Reporter {
  const describe = createEventDescriber();
  // The first plan and the begin of each wait are logged at once; then the line of each minute includes them.
  const logged = new Set<SyncEvent["kind"]>();
  let last = "";
  let isEnded = false;
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
    onEvent(event) {
      onEvent(event);
      const text = describe(event);
      if (text !== undefined) {
        const to = WARNINGS.has(event.kind) ? err : notes;
        to.write(`${new Date(unixMs()).toISOString().slice(0, 19)}Z ${text}\n`);
      }
      if (event.kind === "waiting" || event.kind === "planned") {
        if (!logged.has(event.kind)) {
          log();
        }
        logged.add(event.kind);
      }
      if (event.kind !== "waiting" && event.kind !== "failed" && event.kind !== "skipped") {
        logged.delete("waiting"); // The wait is over.
      }
    },
    notes,
    end() {
      if (!isEnded) {
        isEnded = true;
        stopLog();
        // A sync that failed before its first event has no new figures.
        if (line().figures !== last) {
          log();
        }
      }
    },
  };
}

function eventObject(event: SyncEvent): object | undefined {
  switch (event.kind) {
    case "planned": {
      const { chainId, segments } = event.history;
      const [fromBlock, toBlock] = [segments[0]?.fromBlock, segments.at(-1)?.toBlock];
      return {
        event: "planned",
        chainId,
        segments: segments.length,
        fromBlock,
        toBlock,
        tables: event.tables,
        gaps: event.gaps,
      };
    }
    case "loaded":
      return { event: "loaded", ...event.entry, ms: Math.round(event.ms) };
    case "failed":
      return { event: "failed", ...unitObject(event.unit), ...retryObject(event), attempt: event.attempt };
    case "waiting":
      return { event: "waiting", ...retryObject(event) };
    case "unreachable":
      return { event: "away", node: event.node, error: event.error };
    case "lag":
      return { event: "lag", node: event.node, ...event.lag };
    case "unviewed":
    case "unlisted":
      return { event: event.kind, error: event.error };
    case "unknown": {
      const { table, column, value } = event.unknown;
      return { event: "unknown", table, column, value };
    }
    case "idle":
      return { event: "idle", againMs: event.againMs };
    case "began":
    case "arrived":
    case "skipped":
      return undefined;
  }
}

function retryObject({ error, againMs }: { readonly error: TradewireError; readonly againMs?: number }) {
  return { error, ...(againMs !== undefined && { againMs: Math.round(againMs) }) };
}

function unitObject({ table, fromBlock, toBlock, segmentId }: Unit) {
  return { table, fromBlock, toBlock, segmentId };
}

/** Converts the summary of a sync to an object for the last line of JSON. */
export function summaryObject({ failed, ...summary }: SyncSummary): object {
  return { event: "summary", ...summary, failed: failed.map(({ unit, error }) => ({ ...unitObject(unit), error })) };
}

/**
 * Creates the function that describes events which the figures of the progress do not show. The lag of a data node, which
 * each poll reports, is described when it begins and when it ends. Networks without blocks and differing clocks appear only
 * in the status and the metrics.
 */
function createEventDescriber(): (event: SyncEvent) => string | undefined {
  const lagging = new Set<string>();
  return (event) => {
    if (event.kind !== "lag") {
      return eventText(event);
    }
    const { node, lag } = event;
    const lags = lag.state === "lagging" || lag.state === "old";
    if (lags === lagging.has(node)) {
      return undefined;
    }
    if (lags) {
      lagging.add(node);
    } else {
      lagging.delete(node);
    }
    return printable(`the data node of ${node} ${describeLag(lag)}`);
  };
}

/** The events that say what tables or views lack, or store otherwise. */
const WARNINGS: ReadonlySet<SyncEvent["kind"]> = new Set(["failed", "unknown", "unviewed", "unlisted"]);

/** Returns the note about an event that people should see at once. */
export function eventText(event: SyncEvent): string | undefined {
  switch (event.kind) {
    case "failed": {
      const { table, fromBlock, toBlock } = event.unit;
      const what = `${table} of blocks ${fromBlock} to ${toBlock} failed after all attempts: ${printable(event.error.summary)}`;
      return event.againMs === undefined ? what : undefined;
    }
    case "unknown": {
      const { table, column, value } = event.unknown;
      const what = value === undefined ? "the column" : `the value ${JSON.stringify(value)} in`;
      return printable(`a newer node sent ${what} ${table}.${column}, which is stored as text`);
    }
    case "unreachable":
      return printable(`${event.node} is unreachable and skipped for now: ${event.error.summary}`);
    case "unviewed":
      return printable(`the views were not created or updated: ${event.error.summary}`);
    case "unlisted":
      return printable(`views may lack names and decimals, as no node lists its markets: ${event.error.summary}`);
    default:
      return undefined;
  }
}

/** Formats the state of a sync as a line of a log. */
function logLine({ at, phase, node, total, secondsLeft, waiting, failed }: SyncSnapshot): string {
  const time = `${at.slice(0, 19)}Z`;
  if (phase === "starting") {
    return `${time} reading the node's history`;
  }
  if (total.segments === 0 && node !== undefined) {
    return `${time} none of the node's segments, blocks ${node.fromBlock} to ${node.toBlock}, is within the range`;
  }
  if (total.segments === 0) {
    return `${time} ${waiting === undefined ? "the node has no segments yet" : `waiting: ${printable(waiting.message)}`}`;
  }
  // Rounded down, so that only a complete history has 100.0 %.
  const share = (Math.floor((total.done / total.segments) * 1000) / 10).toFixed(1);
  const parts = [
    `${grouped(total.done)} of ${grouped(total.segments)} segments${total.gapBlocks > 0n ? "" : ` (${share} %)`}`,
    ...(total.gapBlocks > 0n ? [`${grouped(total.gapBlocks)} missing blocks of tables on no node`] : []),
    `${grouped(total.there.rows)} rows`,
    speed(total.rates.bytes),
    ...(total.missing > 0 && secondsLeft !== undefined ? [`${span(secondsLeft)} left`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(waiting === undefined ? [] : [`waiting: ${printable(waiting.message)}`]),
  ];
  return `${time} ${parts.join(", ")}`;
}
