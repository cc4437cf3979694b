import { CanceledError } from "../errors/index.js";
import { MAX_TIMER_MS, randomFraction, startTimer } from "../runtime/index.js";
import { onAbort } from "./abort.js";

/** The minimum and maximum backoff, in milliseconds. */
const [MIN_BACKOFF_MS, MAX_BACKOFF_MS] = [500, 30_000];

/**
 * Returns the backoff before the next attempt. It doubles with each failure, minus a random jitter of up to a half, so that
 * processes that failed together do not retry together.
 */
export function backoffMs(failures: number): number {
  return Math.round(Math.min(MIN_BACKOFF_MS * 2 ** (failures - 1), MAX_BACKOFF_MS) * (0.5 + randomFraction() / 2));
}

/** The delays before retries of a call, in milliseconds: the first one, which doubles, and the maximum. */
export interface RetryWaits {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** Returns the delay before a call is retried: a random part of a time that doubles with each attempt. */
export function retryDelayMs(attempt: number, { baseMs, maxMs }: RetryWaits): number {
  return randomFraction() * Math.min(baseMs * 2 ** (attempt - 1), maxMs);
}

/**
 * Waits for a time, or until a signal is aborted.
 *
 * @throws {@link CanceledError} if the signal is aborted
 */
export async function wait(
  ms: number,
  signal?: AbortSignal | undefined,
  onStart?: (end: () => void) => void,
): Promise<void> {
  throwIfAborted(signal);
  await new Promise<void>((resolve) => {
    const stopTimer = startTimer(end, Math.min(ms, MAX_TIMER_MS));
    const unsubscribe = onAbort(signal, end);
    function end(): void {
      stopTimer();
      unsubscribe();
      resolve();
    }
    onStart?.(end);
  });
  throwIfAborted(signal);
}

/**
 * Waits for a time, or until the function is called that is in a set meanwhile.
 *
 * @throws {@link CanceledError} if the signal is aborted
 */
export async function waitUntilWoken(waiting: Set<() => void>, ms: number, signal: AbortSignal): Promise<void> {
  let wake = (): void => {};
  try {
    await wait(ms, signal, (end) => {
      wake = end;
      waiting.add(end);
    });
  } finally {
    waiting.delete(wake);
  }
}

/**
 * Repeats an action until it succeeds. `delayMsAfter` returns the wait after a failure, or throws what ends the attempts.
 *
 * @throws what `delayMsAfter` throws, and {@link CanceledError} if the signal is aborted during a wait
 */
export async function retry<T>(
  action: (attempt: number) => Promise<T>,
  delayMsAfter: (reason: unknown, attempt: number) => number,
  signal: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await action(attempt);
    } catch (reason) {
      await wait(delayMsAfter(reason, attempt), signal);
    }
  }
}

/**
 * Waits until all tasks have ended. One that fails stops the others.
 *
 * @throws the error of the first one that failed
 */
export async function endTogether(tasks: readonly Promise<unknown>[], stop: (reason: unknown) => void): Promise<void> {
  let failure: { readonly reason: unknown } | undefined;
  await Promise.all(
    tasks.map((task) =>
      task.catch((reason: unknown) => {
        failure ??= { reason };
        stop(reason);
      }),
    ),
  );
  if (failure !== undefined) {
    throw failure.reason;
  }
}

/** Waits for a promise, but not longer than a time. */
export async function atMost<T>(promise: Promise<T>, ms: number | undefined): Promise<T | undefined> {
  if (ms === undefined) {
    return promise;
  }
  let stopTimer = () => {};
  const late = new Promise<undefined>((resolve) => {
    stopTimer = startTimer(() => resolve(undefined), ms);
  });
  return await Promise.race([promise, late]).finally(() => stopTimer());
}

/**
 * Throws if a signal is aborted.
 *
 * @throws {@link CanceledError} if the signal is aborted
 */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new CanceledError({ cause: signal.reason });
  }
}

/** A flag that one task raises and another waits for. */
export interface Flag {
  raise(): void;
  /** Waits until the flag is raised, and lowers it. */
  lowered(): Promise<void>;
}

/**
 * Creates a flag that is not raised. Raising it several times before it is lowered has the effect of one.
 *
 * @example
 * const changed = createFlag();
 * changed.raise();
 * await changed.lowered();
 */
export function createFlag(): Flag {
  let isRaised = false;
  let resolve = (): void => {};
  return {
    raise() {
      isRaised = true;
      resolve();
    },
    async lowered() {
      if (!isRaised) {
        await new Promise<void>((fulfil) => {
          resolve = fulfil;
        });
      }
      isRaised = false;
    },
  };
}
