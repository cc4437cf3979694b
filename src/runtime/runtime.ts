/** Stops a timer. Once the timer has ended, or was stopped, it does nothing. */
export type StopTimer = () => void;

/** How a timer runs. */
export interface TimerOptions {
  /** Whether the process stays alive for it; true by default. */
  readonly ref?: boolean;
}

/** What the library takes from outside its own code and data: time, timers and randomness. */
export interface Runtime {
  /** Returns milliseconds since any fixed moment; they never go back. */
  monotonicMs(): number;
  /** Returns the time of the system's clock, in milliseconds since 1970. It may be set, and go back. */
  unixMs(): number;
  /** Calls a function once after at least `ms` milliseconds, 0 to 2^31 - 1. */
  startTimer(callback: () => void, ms: number, options?: TimerOptions): StopTimer;
  /** Calls a function every `ms` milliseconds, 1 to 2^31 - 1, until it is stopped. */
  startInterval(callback: () => void, ms: number, options?: TimerOptions): StopTimer;
  /** Calls a function once the event loop has handled what is due now. */
  startImmediate(callback: () => void): StopTimer;
  /** Returns a random number from 0 to below 1, which may be predictable. */
  randomFraction(): number;
  /** Fills an array with random bytes. They have to be unpredictable: keys and identifiers are made of them. */
  fillRandom(bytes: Uint8Array): void;
}

/** The runtime of Node. Globals are looked up at each call, so that fake timers which replace them take effect. */
export const nodeRuntime: Runtime = {
  monotonicMs: () => performance.now(),
  unixMs: () => Date.now(),
  startTimer(callback, ms, options) {
    const timer = setTimeout(callback, ms);
    if (options?.ref === false) {
      timer.unref();
    }
    return () => clearTimeout(timer);
  },
  startInterval(callback, ms, options) {
    const timer = setInterval(callback, ms);
    if (options?.ref === false) {
      timer.unref();
    }
    return () => clearInterval(timer);
  },
  startImmediate(callback) {
    const immediate = setImmediate(callback);
    return () => clearImmediate(immediate);
  },
  randomFraction: () => Math.random(),
  // An import would load the module for everyone, and Web Crypto takes three times as long to load.
  fillRandom: (bytes) => void process.getBuiltinModule("node:crypto").randomFillSync(bytes),
};

/** The runtime that all functions of this room use. */
export let current: Runtime = nodeRuntime;

/**
 * Replaces the runtime of the whole process. Timers that were started before keep running in their own runtime.
 *
 * @param runtime takes the place of the current one
 * @returns puts back the one before when it is disposed of; replacements are disposed of in reverse order
 */
export function replaceRuntime(runtime: Runtime): Disposable {
  const before = current;
  current = runtime;
  return {
    [Symbol.dispose]() {
      current = before;
    },
  };
}
