import { follow } from "../signal/follow.js";

/** The requests of a call that streams both ways. */
export interface Asking<Q> {
  /** The requests; their end is that of the call, as nodes take an earlier one for a caller that has left. */
  readonly requests: AsyncIterable<Q>;
  /** Sends the request once more. */
  again(): void;
}

/**
 * Creates the requests of a call: one at once, and further ones when they are wanted, or by themselves.
 *
 * @param request the request
 * @param signal ends the requests
 * @param everyMs sends the request once more when none was sent for so long, in milliseconds; never by default
 * @returns the requests
 */
export function createAsking<Q>(request: Q, signal: AbortSignal, everyMs?: number): Asking<Q> {
  let due = 1;
  let wake = (): void => {};

  async function* requests(): AsyncGenerator<Q> {
    const leave = follow(signal, () => wake());
    try {
      while (!signal.aborted) {
        if (due > 0) {
          due -= 1;
          yield request;
        } else {
          const timer = everyMs === undefined ? undefined : setTimeout(again, everyMs).unref();
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          clearTimeout(timer);
        }
      }
    } finally {
      leave();
    }
  }

  function again(): void {
    due += 1;
    wake();
  }

  return { requests: requests(), again };
}
