import type { FollowEvent } from "../../live/follow.js";
import { monotonicMs } from "../../runtime/index.js";
import { type CommandContext, printable } from "../output.js";
import { grouped } from "../sync/figures.js";

/** Milliseconds between two updates of the line. */
const INTERVAL = 200;

/** Shows how a follow goes. */
export interface FollowReporter {
  readonly take: (event: FollowEvent) => void;
  /** Rows were printed. */
  printed(rows: number): void;
  /** Remove the line. */
  end(): void;
}

/**
 * Show how a follow goes on standard error: a line for each trouble that is another than the one before and, where that is
 * a terminal and the rows go elsewhere, a line that is redrawn in place.
 *
 * @param context the streams
 * @returns the reporter, to be ended
 */
export function createFollowReporter({ out, notes: err }: Pick<CommandContext, "out" | "notes">): FollowReporter {
  const isDrawn = err.isTTY === true && out.isTTY !== true;
  let [rows, blocks, state, drawnAt] = [0, "", "", Number.NEGATIVE_INFINITY];
  let told: string | undefined;

  function draw(isDue: boolean): void {
    if (isDrawn && (isDue || monotonicMs() - drawnAt >= INTERVAL)) {
      drawnAt = monotonicMs();
      err.write(`\r\x1b[K${blocks}${grouped(rows)} rows${state}`);
    }
  }
  function end(): void {
    if (drawnAt >= 0) {
      err.write("\r\x1b[K");
    }
  }
  function say(text: string): void {
    if (text !== told) {
      told = text;
      end();
      err.write(`tradewire: ${printable(text)}\n`);
    }
  }

  return {
    take(event) {
      state = "";
      switch (event.case) {
        case "began":
          told = undefined;
          blocks = `blocks ${event.segment.fromBlock} to ${event.segment.toBlock}, `;
          break;
        case "idle":
          told = undefined;
          state = ", waiting for new segments";
          break;
        case "behind":
          say("the node's history ends before the rows that were handed out; waiting until it has caught up");
          break;
        case "waiting":
          say(`${event.error.summary}; trying again until it passes`);
          break;
      }
      draw(state !== "");
    },
    printed(count) {
      rows += count;
      draw(false);
    },
    end,
  };
}
