import { startTimer } from "../runtime/index.js";
import { onAbort } from "./abort.js";

/** The conditions that end a task early. */
export interface Ending {
  /** Is aborted when the time is up, or when one of the signals is aborted. */
  readonly signal: AbortSignal;
  /** Returns whether the time was up before a given signal was aborted. */
  isTimeUp(): boolean;
}

/**
 * Runs a task that ends when a time limit passes, or when one of several signals is aborted.
 *
 * @example
 * await withEnding(10_000, [signal, abort.signal], ({ signal: ending }) => client.status({ signal: ending }));
 */
export async function withEnding<T>(
  timeoutMs: number,
  signals: readonly (AbortSignal | undefined)[],
  act: (ending: Ending) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timeout = new DOMException(`timeout after ${timeoutMs} ms`, "TimeoutError");
  const stopTimer = startTimer(() => controller.abort(timeout), timeoutMs);
  const unsubscribe = signals.map((signal) => onAbort(signal, () => controller.abort(signal?.reason)));
  const aborted = signals.find((signal) => signal?.aborted === true);
  if (aborted !== undefined) {
    controller.abort(aborted.reason);
  }
  try {
    return await act({ signal: controller.signal, isTimeUp: () => controller.signal.reason === timeout });
  } finally {
    stopTimer();
    for (const each of unsubscribe) {
      each();
    }
  }
}
