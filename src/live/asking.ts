import { startInterval } from "../runtime/index.js";
import { follow } from "../signal/follow.js";

/** The requests of a call that streams both ways. */
export interface Asking<Q> {
  /** The requests; their end is that of the call, as nodes take an earlier one for a caller that has left. */
  readonly requests: AsyncIterable<Q>;
  /** Sends the request once more. */
  again(): void;
}

/** Requests that are sent by time. */
export interface TimedRequests {
  /** How often one is sent, in milliseconds, whatever else is sent. */
  readonly everyMs: number;
  /** How many are sent at the beginning, beside the first. */
  readonly ahead: number;
}

/** How many requests may wait to be sent. Beyond that the node has more than it reads. */
const MAX_DUE = 100;

/**
 * Creates the requests of a call: one at once, and further ones when they are wanted, or by time.
 *
 * @param request the request
 * @param signal ends the requests
 * @param timed sends the request by time as well; never by default
 * @returns the requests
 */
export function createAsking<Q>(request: Q, signal: AbortSignal, timed?: TimedRequests): Asking<Q> {
  let due = 1 + (timed?.ahead ?? 0);
  let wake = (): void => {};

  async function* requests(): AsyncGenerator<Q> {
    const leave = follow(signal, () => wake());
    const stopTimer = timed && startInterval(again, timed.everyMs, { ref: false });
    try {
      while (!signal.aborted) {
        if (due > 0) {
          due -= 1;
          yield request;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      stopTimer?.();
      leave();
    }
  }

  function again(): void {
    due = Math.min(due + 1, MAX_DUE);
    wake();
  }

  return { requests: requests(), again };
}
