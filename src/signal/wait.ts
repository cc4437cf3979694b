import { CanceledError } from "../errors/index.js";
import { MAX_TIMER_MS, randomFraction, startTimer } from "../runtime/index.js";
import { follow } from "./follow.js";

/** The first and the longest time between two attempts, in milliseconds. */
const [FIRST_MS, LONGEST_MS] = [500, 30_000];

/**
 * Choose how long to wait before something is tried again: a time that doubles with each failure, of which a random part
 * up to a half is left out, so that those who failed together do not come back together.
 *
 * @param failures how often it has failed in a row, from 1 on
 * @returns milliseconds
 */
export function backoffMs(failures: number): number {
  return Math.round(Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS) * (0.5 + randomFraction() / 2));
}

/** The waits before calls are made again, in milliseconds: the first one, which doubles, and the longest. */
export interface RetryWaits {
  readonly baseMs: number;
  readonly maxMs: number;
}

/**
 * Choose how long to wait before a call is made again: a random part of a time that doubles with each try.
 *
 * @param attempt the number of tries so far, from 1 on
 * @param waits the first time and the longest
 * @returns milliseconds
 */
export function retryMs(attempt: number, { baseMs, maxMs }: RetryWaits): number {
  return randomFraction() * Math.min(baseMs * 2 ** (attempt - 1), maxMs);
}

/**
 * Waits, but no longer than until a signal is aborted.
 *
 * @param ms milliseconds; what timers cannot wait is cut to the longest time that they can
 * @param signal ends the wait at once
 * @param onStart gets a function that ends the wait as if the time were over
 * @throws {@link CanceledError} where the signal is aborted
 */
export async function wait(
  ms: number,
  signal?: AbortSignal | undefined,
  onStart?: (end: () => void) => void,
): Promise<void> {
  requireGoing(signal);
  await new Promise<void>((resolve) => {
    const stopTimer = startTimer(end, Math.min(ms, MAX_TIMER_MS));
    const leave = follow(signal, end);
    function end(): void {
      stopTimer();
      leave();
      resolve();
    }
    onStart?.(end);
  });
  requireGoing(signal);
}

/**
 * Stop where a signal is aborted.
 *
 * @param signal the signal
 * @throws {@link CanceledError} where it is
 */
export function requireGoing(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new CanceledError({ cause: signal.reason });
  }
}
