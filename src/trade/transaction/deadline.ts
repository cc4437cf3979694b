import { Code } from "../../base/errors/code.js";
import { CanceledError, ConnectionError } from "../../base/errors/index.js";
import { requireMs } from "../../base/input/assert.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { withEnding } from "../../base/signal/abort.js";

/**
 * Runs a function within a time limit, and throws if the time limit passes.
 *
 * @throws {@link ConnectionError} with `DEADLINE_EXCEEDED` if the time limit passes and nothing was sent,
 *   {@link RequestError} if `timeoutMs` is invalid, and the errors of `act`
 */
export async function withTimeout<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  requireMs("timeoutMs", timeoutMs);
  return withEnding(timeoutMs, [signal], async (ending) => {
    try {
      return await act(ending.signal);
    } catch (reason) {
      throw ending.isTimeUp() && isEnd(reason) ? timeUp(timeoutMs, reason) : reason;
    }
  });
}

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
