import { BannedError, NodeError, type TradewireError } from "../errors/index.js";
import { reactionTo } from "../errors/reaction.js";
import { unixMs } from "../runtime/index.js";
import { backoffMs } from "../signal/wait.js";

/** What remembers failures in a row. */
export interface Mending {
  /** Something came of it. */
  progressed(): void;
  /**
   * Tell how long to wait until it is tried again.
   *
   * @param error what it failed with
   * @returns milliseconds
   * @throws `error` where trying again does not help, or did not help often enough
   */
  restMs(error: TradewireError): number;
}

/**
 * Make what remembers failures in a row. That the node cannot be reached, or says that it fails, may pass however often; a
 * broken answer comes again in the end. A node that refuses a segment may have dropped it since it listed it: it is asked
 * a second time, as the listing then tells that in better words.
 *
 * @param attempts how often in a row an answer may be broken
 * @returns the memory
 */
export function createMending(attempts: number): Mending {
  let [failures, broken, refused] = [0, 0, 0];
  return {
    progressed() {
      [failures, broken, refused] = [0, 0, 0];
    },
    restMs(error) {
      const { unit, repeat } = reactionTo(error);
      failures += 1;
      if (unit === "fail" && error instanceof NodeError) {
        refused += 1;
      } else if (unit === "retry" && !repeat) {
        broken += 1;
      } else if (!repeat) {
        throw error;
      }
      if (refused > 1 || broken >= attempts) {
        throw error;
      }
      return Math.max(backoffMs(failures), error instanceof BannedError ? error.until.getTime() - unixMs() : 0);
    },
  };
}
