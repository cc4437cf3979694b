import { createHook } from "node:async_hooks";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { createBrotliDecompress, createGzip } from "node:zlib";
import type * as RuntimeModule from "../../src/base/runtime/index.js";

/** The module as it is built, which the package does not export. */
const built: typeof RuntimeModule = await import(pathToFileURL(resolve("dist/src/base/runtime/index.js")).href);

/** The runtime that is used where none is replaced. */
export const { nodeRuntime } = built;

/** Replaces a part of Node's runtime until it is disposed of. */
export function useRuntime(part: Partial<RuntimeModule.Runtime>): Disposable {
  return built.replaceRuntime({ ...nodeRuntime, ...part });
}

/** A runtime whose time passes only when a test says so, and whose randomness comes from a seed. */
export interface VirtualRuntime extends Disposable {
  /** Returns the time of the monotonic clock, in milliseconds. */
  monotonicMs(): number;
  /** Returns the time of the system's clock, in milliseconds since 1970. */
  unixMs(): number;
  /** The times of all timers that were started so far, in milliseconds, without intervals. */
  readonly waits: readonly number[];
  /** Returns how many timers run. */
  timers(): number;
  /** Returns how many of them keep the process alive. */
  refs(): number;
  /** Lets time pass. What is due in it happens in order, and what follows from that happens before the next timer. */
  pass(ms: number): Promise<void>;
  /**
   * Lets time pass from timer to timer until a promise is settled.
   *
   * @throws its reason; an error where nothing happens any more, and no timer runs
   */
  until<T>(promise: Promise<T>): Promise<T>;
  /** Waits until time has passed, as a server or a consumer of the test does. */
  after(ms: number): Promise<void>;
  /** Sets both clocks ahead. What is due by then happens when time passes again, as where the event loop was blocked. */
  skip(ms: number): void;
  /** Sets the system's clock, which goes on from there. The monotonic one stays as it is. */
  setUnixMs(ms: number): void;
  /** Has the next random fractions be these, instead of those of the seed. */
  nextFractions(...fractions: readonly number[]): void;
  /** Has the next random bytes be these, one array a draw, instead of those of the seed. */
  nextBytes(...bytes: readonly Uint8Array[]): void;
}

/** How a virtual runtime begins. */
export interface VirtualOptions {
  /** Where randomness comes from; 1 by default. */
  readonly seed?: number;
  /** The system's time at first, in milliseconds since 1970; that of 2030 by default. */
  readonly unixMs?: number;
  /**
   * Whether servers, files or threads take part: time then passes only when nothing is read, written or worked on. It
   * takes some real milliseconds for each timer.
   */
  readonly io?: boolean;
}

interface Timer {
  readonly callback: () => void;
  due: number;
  /** The time between two calls; undefined for a timer that runs once. */
  readonly everyMs: number | undefined;
  readonly ref: boolean;
}

/**
 * Replaces the runtime of the process with a virtual one until it is disposed of. Start what uses it afterwards, and end
 * that before. Timers of Node and of other packages go on in real time.
 */
export function useVirtualRuntime({
  seed = 1,
  unixMs = Date.parse("2030-01-01T00:00:00Z"),
  io = false,
}: VirtualOptions = {}): VirtualRuntime {
  const timers = new Set<Timer>();
  const waits: number[] = [];
  const fractions: number[] = [];
  const drawn: Uint8Array[] = [];
  const random = randomWords(seed);
  const settled = io ? afterWork : afterTurns;
  let now = 1000; // Not 0, which a clock must not be taken for.
  let epoch = unixMs - now;

  function start(callback: () => void, ms: number, everyMs: number | undefined, ref = true): () => void {
    if (everyMs === undefined) {
      waits.push(ms);
    }
    const timer = { callback, due: now + timerMs(ms), everyMs, ref };
    timers.add(timer);
    return () => void timers.delete(timer);
  }

  /** The timer that is due first; of several, the one that was started first. */
  function next(): Timer | undefined {
    return [...timers].reduce<Timer | undefined>((a, b) => (a === undefined || b.due < a.due ? b : a), undefined);
  }

  function fire(timer: Timer): void {
    now = Math.max(now, timer.due);
    timers.delete(timer);
    if (timer.everyMs !== undefined) {
      timer.due = now + timerMs(timer.everyMs);
      timers.add(timer); // Behind those that are due at the same time.
    }
    timer.callback();
  }

  const runtime: Omit<RuntimeModule.Runtime, "startImmediate" | "connect"> = {
    monotonicMs: () => now,
    unixMs: () => Math.floor(epoch + now),
    startTimer: (callback, ms, options) => start(callback, ms, undefined, options?.ref),
    startInterval: (callback, ms, options) => start(callback, ms, ms, options?.ref),
    randomFraction: () => fractions.shift() ?? random() / 2 ** 32,
    fillRandom(bytes) {
      const given = drawn.shift();
      bytes.set(given ?? bytes.map(() => random() & 0xff));
    },
  };
  const replaced = useRuntime(runtime);

  return {
    waits,
    timers: () => timers.size,
    refs: () => [...timers].filter(({ ref }) => ref).length,
    async pass(ms) {
      const end = now + ms;
      await settled();
      for (let timer = next(); timer !== undefined && timer.due <= end; timer = next()) {
        fire(timer);
        await settled();
      }
      now = Math.max(now, end);
    },
    async until(promise) {
      let isSettled = false;
      const noticed = promise.finally(() => {
        isSettled = true;
      });
      noticed.catch(() => undefined);
      await settled();
      for (let waits = 0; !isSettled && waits < MAX_WAITS; waits += 1) {
        const timer = next();
        if (timer !== undefined) {
          fire(timer);
          waits = 0;
        }
        await settled();
      }
      if (!isSettled) {
        throw new Error("nothing happens any more, and no timer runs");
      }
      return await noticed;
    },
    after: (ms) => new Promise((resolve) => void start(resolve, ms, undefined)),
    skip(ms) {
      now += ms;
    },
    setUnixMs(ms) {
      epoch = ms - now;
    },
    nextFractions: (...given) => void fractions.push(...given),
    nextBytes: (...given) => void drawn.push(...given),
    monotonicMs: runtime.monotonicMs,
    unixMs: runtime.unixMs,
    [Symbol.dispose]: () => replaced[Symbol.dispose](),
  };
}

/** How long a timer waits: whole milliseconds, at least one, as Node's do. */
function timerMs(ms: number): number {
  if (!(ms <= built.MAX_TIMER_MS)) {
    throw new RangeError(`no timer can wait ${ms} ms`);
  }
  return Math.max(Math.trunc(ms), 1);
}

/** A source of 32 random bits (Marsaglia's xorshift, spread by a multiplication). */
function randomWords(seed: number): () => number {
  let state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return Math.imul(state, 0x2545f491) >>> 0;
  };
}

/** How often work is waited for that Node does not list, such as inflating, while no timer runs. */
const MAX_WAITS = 1000;

/** What follows from something without input and output happens in this many turns of the event loop. */
const TURNS = 10;

async function afterTurns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** So many turns of the event loop without a callback show that nothing is on its way between two sockets. */
const QUIET_TURNS = 5;
/** The kernel may deliver later on a busy machine: after this time, in milliseconds, they have to be quiet again. */
const DELIVERY_MS = 2;
/** What Node lists while a file is read or written, a name is looked up, or a thread works. */
const WORK = /^(FSReq|FileHandle.*Req|GetAddrInfoReq|MessagePort)/;

/** The asynchronous ids of the zlib streams that a thread works on, which Node does not list. */
const compressing = new Set<number>();

/** Notices what a thread compresses or decompresses. */
function watchZlib(): void {
  createHook({ before: (id) => void compressing.delete(id) }).enable();
  for (const stream of [createGzip(), createBrotliDecompress()]) {
    const handle: object = Object.getPrototypeOf(Reflect.get(stream, "_handle"));
    const [write, close] = ["write", "close"].map((name): unknown => Reflect.get(handle, name));
    stream.destroy();
    if (typeof write !== "function" || typeof close !== "function") {
      throw new Error("the streams of zlib have other internals than expected");
    }
    Object.assign(handle, {
      write(this: { getAsyncId(): number }, ...input: unknown[]): unknown {
        compressing.add(this.getAsyncId());
        return Reflect.apply(write, this, input);
      },
      close(this: { getAsyncId(): number }): unknown {
        compressing.delete(this.getAsyncId());
        return Reflect.apply(close, this, []);
      },
    });
  }
}
watchZlib();

/** Waits until sockets, files and threads are at rest. */
function afterWork(): Promise<void> {
  let callbacks = 0;
  const hook = createHook({
    before() {
      callbacks += 1;
    },
  }).enable();
  return new Promise((resolve) => {
    let quietTurns = 0;
    let before = callbacks;
    /** Whether nothing but the caller was called since the last look. */
    const isQuiet = () => {
      const isWorking = compressing.size > 0;
      const isAtRest =
        callbacks - before <= 1 && !isWorking && !process.getActiveResourcesInfo().some((name) => WORK.test(name));
      before = callbacks;
      return isAtRest;
    };
    const turn = () => {
      quietTurns = isQuiet() ? quietTurns + 1 : 0;
      if (quietTurns <= QUIET_TURNS) {
        setImmediate(turn);
      } else {
        setTimeout(end, DELIVERY_MS);
      }
    };
    const end = () => {
      quietTurns = 0;
      if (isQuiet()) {
        hook.disable();
        resolve();
      } else {
        setImmediate(turn);
      }
    };
    setImmediate(turn);
  });
}
