import { addCaller, recordCaller } from "../../base/errors/caller-stack.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { linkedController } from "../../base/signal/abort.js";
import { sizeOf } from "../../wire/json/answer-size.js";

/** Yields batches until its signal is aborted. `isLate` returns whether the consumer was too slow recently. */
export type Source<T> = (signal: AbortSignal, isLate: () => boolean) => AsyncIterable<readonly T[]>;

/** A pending call of `next`. */
interface Waiter<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (reason: unknown) => void;
}

type ReadState =
  /** `next` was never called. */
  | { readonly kind: "new" }
  | { readonly kind: "reading" }
  /** The failure is thrown once, after the last value. */
  | { readonly kind: "failed"; readonly reason: unknown }
  | { readonly kind: "ended" };

type FinishedState = Extract<ReadState, { readonly kind: "failed" | "ended" }>;

/**
 * Maximum size on the wire of the values that wait for a slow consumer, in bytes; one answer may exceed it. Messages take
 * several times as much in memory.
 */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/**
 * Reads ahead of the consumer up to a limit. At the limit, reading from the source pauses until the consumer has caught
 * up, which slows the sender down. Waiting values are delivered before the failure of the source. When the consumer
 * leaves, or the signal is aborted, waiting values are dropped, and the source's signal is aborted.
 */
export function readAhead<T extends object>(
  source: Source<T>,
  { maxWaiting, signal }: { readonly maxWaiting: number; readonly signal: AbortSignal | undefined },
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => iterate(source, maxWaiting, signal) };
}

function iterate<T extends object>(
  source: Source<T>,
  maxWaiting: number,
  callers: AbortSignal | undefined,
): AsyncIterator<T, undefined> {
  const call = linkedController(callers);
  const queue = createQueue<T>(maxWaiting);
  const waiters: Waiter<T>[] = [];
  const lateness = createLatenessMeter();
  const caller = recordCaller();
  let state: ReadState = { kind: "new" };
  let resume = (): void => {};
  call.signal.addEventListener("abort", () => resume());

  function settle(): void {
    state = answerWaiters(waiters, queue, state);
  }

  function finish(last: FinishedState): void {
    state = last;
    call.abort(); // Also stops following the caller's signal.
    settle();
  }

  async function read(): Promise<void> {
    let last: FinishedState = { kind: "ended" };
    try {
      for await (const batch of source(call.signal, lateness.isLate)) {
        if (state.kind !== "reading") {
          return; // The consumer has left.
        }
        queue.add(batch);
        settle();
        if (queue.isFull() && !call.signal.aborted) {
          await lateness.measure(
            new Promise((resolve) => {
              resume = resolve;
            }),
          );
        }
      }
    } catch (reason) {
      last = { kind: "failed", reason: addCaller(reason, caller) };
    }
    if (state.kind === "reading") {
      finish(last);
    }
  }

  return {
    next() {
      if (callers?.aborted === true) {
        queue.clear();
      }
      if (state.kind === "new") {
        state = { kind: "reading" };
        void read();
      }
      return new Promise((resolve, reject) => {
        waiters.push({ resolve, reject });
        settle();
        if (!queue.isFull()) {
          resume();
        }
      });
    },
    async return() {
      queue.clear();
      finish({ kind: "ended" });
      return { done: true, value: undefined };
    },
  };
}

/** Answers the pending calls of `next` as far as possible. Returns the state afterwards, since a failure is thrown once. */
function answerWaiters<T extends object>(waiters: Waiter<T>[], queue: Queue<T>, before: ReadState): ReadState {
  let state = before;
  for (let waiter = waiters[0]; waiter !== undefined; waiter = waiters[0]) {
    const value = queue.take();
    if (value !== undefined) {
      waiter.resolve({ done: false, value });
    } else if (state.kind === "failed") {
      waiter.reject(state.reason);
      state = { kind: "ended" };
    } else if (state.kind === "ended") {
      waiter.resolve({ done: true, value: undefined });
    } else {
      return state;
    }
    waiters.shift();
  }
  return state;
}

/** A consumer that has paused its source for so long recently is slow, in milliseconds: a short burst fills a queue too. */
const LATE_MS = 100;

/** How long after the last pause the end of a stream is attributed to it, in milliseconds. */
const RECENT_MS = 10_000;

/** Measures how long a consumer pauses its source. */
export interface LatenessMeter {
  /** Measures a pause, which ends with the promise. */
  measure(pause: Promise<void>): Promise<void>;
  /** Returns whether the consumer was too slow recently. */
  isLate(): boolean;
}

export function createLatenessMeter(): LatenessMeter {
  let pausedMs = 0;
  let endedAt = Number.NEGATIVE_INFINITY;
  const isRecent = () => monotonicMs() - endedAt < RECENT_MS;
  return {
    async measure(pause) {
      const startedAt = monotonicMs();
      pausedMs = isRecent() ? pausedMs : 0;
      await pause;
      endedAt = monotonicMs();
      pausedMs += endedAt - startedAt;
    },
    isLate: () => isRecent() && pausedMs >= LATE_MS,
  };
}

interface Batch {
  /** The number of values that still wait. */
  remaining: number;
  readonly bytes: number;
}

/** The values that wait, in the order in which they arrived. */
interface Queue<T extends object> {
  /** Returns whether reading from the source is paused until the consumer has caught up. */
  isFull(): boolean;
  add(values: readonly T[]): void;
  /** Removes and returns the first value; `undefined` if none waits. */
  take(): T | undefined;
  clear(): void;
}

/** Creates a queue whose `take` costs the same however many values wait, unlike `shift` of an array. */
function createQueue<T extends object>(maxWaiting: number): Queue<T> {
  const batches: Batch[] = [];
  /** The values that arrived since the last reversal, and the older ones in reverse. */
  let arrived: T[] = [];
  let reversed: T[] = [];
  /** The size on the wire of all batches with a waiting value. */
  let bytes = 0;
  return {
    isFull: () => arrived.length + reversed.length >= maxWaiting || bytes >= MAX_WAITING_BYTES,
    add(values) {
      const size = sizeOf(values);
      if (values.length > 0) {
        batches.push({ remaining: values.length, bytes: size });
        bytes += size;
      }
      for (const value of values) {
        arrived.push(value);
      }
    },
    take() {
      if (reversed.length === 0) {
        [reversed, arrived] = [arrived.reverse(), reversed];
      }
      const value = reversed.pop();
      const [batch] = batches;
      if (value !== undefined && batch !== undefined) {
        batch.remaining -= 1;
        if (batch.remaining === 0) {
          bytes -= batch.bytes;
          batches.shift();
        }
      }
      return value;
    },
    clear() {
      batches.length = 0;
      [arrived, reversed, bytes] = [[], [], 0];
    },
  };
}
