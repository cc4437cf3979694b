import { Code } from "@connectrpc/connect";
import { CanceledError, ConnectionError } from "../errors/index.js";
import { invalidValueError } from "../input/assert.js";
import { MAX_TIMER_MS, monotonicMs } from "../runtime/index.js";
import { withEnding } from "../signal/ending.js";

/**
 * Do something within a time, and say so where the time is up.
 *
 * @param timeoutMs the time for all of it, in milliseconds
 * @param signal ends it earlier
 * @param act does it; it has to end when the signal that it gets is aborted
 * @returns what `act` returns
 * @throws {@link ConnectionError} with `DEADLINE_EXCEEDED` where the time is up and nothing was sent, {@link RequestError}
 *   where `timeoutMs` is no such time, and what `act` throws
 */
export async function withTimeout<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMER_MS) {
    throw invalidValueError("timeoutMs", timeoutMs, `a whole number of milliseconds from 1 to ${MAX_TIMER_MS}`);
  }
  return withEnding(timeoutMs, [signal], async (ending) => {
    try {
      return await act(ending.signal);
    } catch (reason) {
      throw ending.isTimeUp() && isEnd(reason) ? timeUp(timeoutMs, reason) : reason;
    }
  });
}

/**
 * Returns what is left of a time.
 *
 * @param timeoutMs the time for all of it, in whole milliseconds; one that is not possible is returned as it is
 * @param startedAt when it began, by `monotonicMs()`
 * @returns the time that is left, in whole milliseconds, at least 1
 */
export function remainingMs(timeoutMs: number, startedAt: number): number {
  const leftMs = timeoutMs - Math.floor(monotonicMs() - startedAt);
  return timeoutMs < 1 ? timeoutMs : Math.max(1, leftMs);
}

/** Returns whether an error says no more than that its signal was aborted. */
function isEnd(reason: unknown): boolean {
  return (
    reason instanceof CanceledError || (reason instanceof ConnectionError && reason.code === Code.DeadlineExceeded)
  );
}

function timeUp(timeoutMs: number, cause: unknown): ConnectionError {
  return new ConnectionError(`the deadline of ${timeoutMs} ms passed before the transaction was sent`, {
    code: Code.DeadlineExceeded,
    advice: (nameOf) => `Nothing was sent. Allow more time (${nameOf("timeoutMs")}), or check the node.`,
    connected: false,
    cause,
  });
}
