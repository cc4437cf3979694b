import { follow } from "../signal/follow.js";

/** The requests of a call that streams both ways. */
export interface Asking<Q> {
  /** The requests; their end is that of the call, as nodes take an earlier one for a caller that has left. */
  readonly requests: AsyncIterable<Q>;
  /** Send the request once more. */
  again(): void;
}

/**
 * Make the requests of a call: one at once, and further ones when they are wanted.
 *
 * @param request the request
 * @param signal ends the requests
 * @returns the requests
 */
export function createAsking<Q>(request: Q, signal: AbortSignal): Asking<Q> {
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
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      leave();
    }
  }

  return {
    requests: requests(),
    again() {
      due += 1;
      wake();
    },
  };
}
