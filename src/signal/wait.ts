import { CanceledError } from "../errors/index.js";
import { follow } from "./follow.js";

/** The first and the longest time between two attempts, in milliseconds. */
const [FIRST_MS, LONGEST_MS] = [500, 30_000];

/** The longest time that Node's timers can wait, in milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Choose how long to wait before something is tried again: a time that doubles with each failure, of which a random part
 * up to a half is left out, so that those who failed together do not come back together.
 *
 * @param failures how often it has failed in a row, from 1 on
 * @returns milliseconds
 */
export function backoffMs(failures: number): number {
  return Math.round(Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS) * (0.5 + Math.random() / 2));
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
  return Math.random() * Math.min(baseMs * 2 ** (attempt - 1), maxMs);
}

/**
 * Wait, no longer than until a signal is aborted.
 *
 * @param ms milliseconds
 * @param signal ends the wait at once
 * @param onStart is given what ends the wait as if the time were over
 * @throws {@link CanceledError} where the signal is aborted
 */
export async function pause(ms: number, signal: AbortSignal, onStart?: (end: () => void) => void): Promise<void> {
  requireGoing(signal);
  await new Promise<void>((resolve) => {
    const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
    const leave = follow(signal, end);
    function end(): void {
      clearTimeout(timer);
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
