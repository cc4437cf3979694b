import type { Socket, TcpNetConnectOpts } from "node:net";
import type { ConnectionOptions as TlsOptions } from "node:tls";

/** Stops a timer. Once the timer has ended, or was stopped, it does nothing. */
export type StopTimer = () => void;

/** How a timer runs. */
export interface TimerOptions {
  /** Whether the process stays alive for it; true by default. */
  readonly ref?: boolean;
}

/** Where a connection leads, and how it is made: Node's options for TCP, and for TLS where it is used. */
export interface ConnectionOptions extends TcpNetConnectOpts {
  /** Node's options for TLS; without them the connection is in clear text. */
  readonly tls?: TlsOptions | undefined;
}

/** What the library takes from outside its own code and data: time, timers, randomness and connections. */
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
  /** Begins to open a connection. The socket says when it is open, or why it cannot be, as Node's do. */
  connect(options: ConnectionOptions): Socket;
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
  // Imports would load the modules for everyone, and Web Crypto takes three times as long to load.
  fillRandom: (bytes) => void process.getBuiltinModule("node:crypto").randomFillSync(bytes),
  connect: ({ tls, ...server }) =>
    tls === undefined
      ? process.getBuiltinModule("node:net").connect(server)
      : process.getBuiltinModule("node:tls").connect({ ...server, ...tls }),
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
