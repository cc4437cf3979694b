import { reactionTo } from "../../base/errors/reaction.js";
import { type RetryWaits, retryDelayMs, wait } from "../../base/signal/wait.js";

/**
 * Calls a node until it responds, with the retries of a stream that reconnects.
 *
 * @throws the error of a call that another attempt cannot fix, and {@link CanceledError} if the signal is aborted
 */
export async function untilAnswered<T>(call: () => Promise<T>, retry: RetryWaits, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (!reactionTo(error).resume) {
        throw error;
      }
      await wait(retryDelayMs(attempt, retry), signal);
    }
  }
}
