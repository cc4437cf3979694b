import { current, type StopTimer, type TimerOptions } from "./runtime.js";

/** The longest time that timers can wait, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** A timer that is later than this, in milliseconds, was held up: the event loop was blocked. */
const LATE_MS = 100;

/** The longest time in which the event loop was blocked that does not count, in milliseconds: every wait ends. */
const MAX_BLOCKED_MS = 300_000;

/**
 * Calls a function once after a time.
 *
 * @param callback what is called
 * @param ms the time, in milliseconds, up to {@link MAX_TIMER_MS}
 * @param options whether the process stays alive for it
 * @returns stops the timer
 */
export function startTimer(callback: () => void, ms: number, options?: TimerOptions): StopTimer {
  return current.startTimer(callback, ms, options);
}

/**
 * Calls a function again and again.
 *
 * @param callback what is called
 * @param ms the time between two calls, in milliseconds, up to {@link MAX_TIMER_MS}
 * @param options whether the process stays alive for it
 * @returns stops the interval
 */
export function startInterval(callback: () => void, ms: number, options?: TimerOptions): StopTimer {
  return current.startInterval(callback, ms, options);
}

/**
 * Calls a function once after a time in which the event loop ran. Time in which it was blocked does not count, as what
 * came meanwhile is not read yet: Node runs timers first. Beyond five minutes it counts.
 *
 * @param callback what is called
 * @param ms the time, in milliseconds, up to {@link MAX_TIMER_MS}
 * @param options whether the process stays alive for it
 * @returns stops the timer
 */
export function startAwakeTimer(callback: () => void, ms: number, options?: TimerOptions): StopTimer {
  let stop: StopTimer;
  const endsAt = current.monotonicMs() + ms + MAX_BLOCKED_MS;
  function start(leftMs: number): void {
    const due = current.monotonicMs() + leftMs;
    stop = current.startTimer(
      () => {
        const now = current.monotonicMs();
        const lateMs = now - due;
        if (lateMs > LATE_MS && now < endsAt) {
          start(lateMs);
        } else {
          callback();
        }
      },
      leftMs,
      options,
    );
  }
  start(ms);
  return () => stop();
}

/**
 * Calls a function once the event loop has handled what is due now.
 *
 * @param callback what is called
 */
export function startImmediate(callback: () => void): StopTimer {
  return current.startImmediate(callback);
}

/**
 * Waits until the event loop has handled what is due now, such as timers and what was read from sockets.
 *
 * @returns a promise that is resolved then
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => void current.startImmediate(resolve));
}

/**
 * Makes a signal that is aborted after a time, with a `TimeoutError` as `AbortSignal.timeout` has it. The process does
 * not stay alive for it.
 *
 * @param ms the time, in milliseconds, up to {@link MAX_TIMER_MS}
 * @returns the signal
 */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  current.startTimer(abort, ms, { ref: false });
  return controller.signal;
}
