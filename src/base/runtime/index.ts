import type { Socket, TcpNetConnectOpts } from "node:net";
import type { ConnectionOptions as TlsOptions } from "node:tls";

/** Returns the time of a monotonic clock, for durations and deadlines. */
export function monotonicMs(): number {
  return current.monotonicMs();
}

/** Returns the system clock's time, for comparison with other machines and for display. It may be set back. */
export function unixMs(): number {
  return current.unixMs();
}

/** A moment, measured by both clocks. */
export interface Moment {
  readonly monotonicMs: number;
  readonly unixMs: number;
}

export function moment(): Moment {
  return { monotonicMs: monotonicMs(), unixMs: unixMs() };
}

/**
 * Returns the time that has passed since a moment, including the time during which the machine was suspended and the monotonic
 * clock stopped. If the system clock was set forward in between, that time counts too.
 */
export function passedMs(since: Moment): number {
  return Math.max(monotonicMs() - since.monotonicMs, unixMs() - since.unixMs);
}

/** The maximum time of a timer, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** If a timer is later than this, in milliseconds, the event loop was blocked. */
const LATE_MS = 100;

/** The maximum blocked time that is not counted, in milliseconds, so that every wait ends. */
const MAX_BLOCKED_MS = 300_000;

/** Calls a function once after a time. */
export function startTimer(callback: () => void, ms: number, options?: TimerOptions): StopTimer {
  return current.startTimer(callback, ms, options);
}

export function startInterval(callback: () => void, ms: number, options?: TimerOptions): StopTimer {
  return current.startInterval(callback, ms, options);
}

/**
 * Calls a function once after a time during which the event loop was running. Up to five minutes in which it was blocked do
 * not count: Node runs timers first, so data that arrived meanwhile has not been read yet.
 */
export function startAwakeTimer(callback: () => void, ms: number, options?: TimerOptions): StopTimer {
  let stop: StopTimer;
  const endsAt = current.monotonicMs() + ms + MAX_BLOCKED_MS;
  function start(remainingMs: number): void {
    const due = current.monotonicMs() + remainingMs;
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
      remainingMs,
      options,
    );
  }
  start(ms);
  return () => stop();
}

export function startImmediate(callback: () => void): StopTimer {
  return current.startImmediate(callback);
}

/** Waits until the event loop has handled pending events, such as timers and data from sockets. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => void current.startImmediate(resolve));
}

/**
 * Returns a signal that is aborted after a time, with the `TimeoutError` of `AbortSignal.timeout`. It does not keep the
 * process alive.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  current.startTimer(abort, ms, { ref: false });
  return controller.signal;
}

/** Returns a random number, for delays and choices. It may be predictable. */
export function randomFraction(): number {
  return current.randomFraction();
}

/** Fills an array with unpredictable random bytes. */
export function fillRandom<T extends Uint8Array>(bytes: T): T {
  current.fillRandom(bytes);
  return bytes;
}

/** Returns unpredictable random bytes. */
export function randomBytes(size: number): Buffer {
  return fillRandom(Buffer.alloc(size));
}

/** Returns a random UUID (version 4 of RFC 9562). */
export function randomUUID(): string {
  const bytes = randomBytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/**
 * Starts to open a connection. All transports except `grpc-js` connect here. TLS verifies the server's certificate, even with
 * `NODE_TLS_REJECT_UNAUTHORIZED=0`, unless the options say otherwise.
 */
export function connect(options: ConnectionOptions): Socket {
  const { tls } = options;
  return current.connect(tls === undefined ? options : { ...options, tls: { rejectUnauthorized: true, ...tls } });
}

/** Stops a timer. Once the timer has ended, or was stopped, it does nothing. */
export type StopTimer = () => void;

/** How a timer runs. */
export interface TimerOptions {
  /** Whether the timer keeps the process alive; true by default. */
  readonly ref?: boolean;
}

/** The options of a connection: Node's options for TCP, and for TLS if it is used. */
export interface ConnectionOptions extends TcpNetConnectOpts {
  /** Node's options for TLS; without them, the connection is in clear text. */
  readonly tls?: TlsOptions | undefined;
}

/** The inputs of the library apart from its code and data: time, timers, randomness and connections. */
export interface Runtime {
  /** Returns milliseconds since an arbitrary moment; the value never decreases. */
  monotonicMs(): number;
  /** Returns the system clock's time, in milliseconds since 1970. It may be set back. */
  unixMs(): number;
  /** Calls a function once after at least `ms` milliseconds, 0 to 2^31 - 1. */
  startTimer(callback: () => void, ms: number, options?: TimerOptions): StopTimer;
  /** Calls a function every `ms` milliseconds, 1 to 2^31 - 1, until it is stopped. */
  startInterval(callback: () => void, ms: number, options?: TimerOptions): StopTimer;
  /** Calls a function after the event loop has handled pending events. */
  startImmediate(callback: () => void): StopTimer;
  /** Returns a random number from 0 to below 1, which may be predictable. */
  randomFraction(): number;
  /** Fills an array with random bytes. They must be unpredictable, because keys and identifiers are made of them. */
  fillRandom(bytes: Uint8Array): void;
  /** Starts to open a connection. The socket emits the events of Node's sockets. */
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
  // Static imports would always load the modules, and Web Crypto takes three times as long to load.
  fillRandom(bytes) {
    process.getBuiltinModule("node:crypto").randomFillSync(bytes);
  },
  connect: ({ tls, ...server }) =>
    tls === undefined
      ? process.getBuiltinModule("node:net").connect(server)
      : process.getBuiltinModule("node:tls").connect({ ...server, ...tls }),
};

/** The runtime that all functions of this module use. */
export let current: Runtime = nodeRuntime;

/** Replaces the runtime of the whole process. Timers that were started before keep running in their own runtime. */
export function replaceRuntime(runtime: Runtime): Disposable {
  const before = current;
  current = runtime;
  return {
    [Symbol.dispose]() {
      current = before;
    },
  };
}
