import { CanceledError } from "../errors/index.js";
import { follow } from "./follow.js";

/**
 * Wait for a promise, but not longer than until a signal is aborted.
 *
 * @param promise what is waited for; it goes on by itself when the wait ends
 * @param signal ends the wait
 * @returns the promise's value
 * @throws {@link CanceledError} where the signal is aborted first
 */
export async function untilAborted<T>(promise: T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) {
    return promise;
  }
  let leave = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(new CanceledError({ cause: signal.reason }));
    leave = follow(signal, stop);
    if (signal.aborted) {
      stop();
    }
  });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    leave();
  }
}
