import { followingController } from "../signal/follow.js";
import { createLateness } from "./lateness.js";
import { createQueue } from "./queue.js";

/** Gives what comes, in batches, until its signal is aborted. `isLate` tells whether the consumer was too slow lately. */
export type Source<T> = (signal: AbortSignal, isLate: () => boolean) => AsyncIterable<readonly T[]>;

/** One who waits for the next value. */
interface Waiter<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * How many bytes may wait for a slow consumer before no more is read, as they came. Messages take several times as much in
 * memory. One answer may exceed it.
 */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/**
 * Read ahead of the consumer, up to a limit. Where so many wait, the source is asked for no more until there is room:
 * that is the back-pressure which the sender feels. What waits is given before the failure of the source. When the
 * consumer leaves, or the signal is aborted, what waits is dropped, and the source's signal is aborted.
 *
 * @param source gives what is read
 * @param options the number of waiting values from which on the source is asked for no more, and the caller's signal
 * @returns the values; each iteration has a source of its own, which is begun when the first value is asked for
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
  const call = followingController(callers);
  const waiting = createQueue<T>();
  const waiters: Waiter<T>[] = [];
  const lateness = createLateness();
  let begun = false;
  let ended = false;
  let failure: { readonly reason: unknown } | undefined;
  let goOn = (): void => {};
  call.signal.addEventListener("abort", () => goOn());

  const isFull = () => waiting.size >= maxWaiting || waiting.bytes >= MAX_WAITING_BYTES;

  /** Give to those who wait what there is for them. */
  function settle(): void {
    for (let waiter = waiters[0]; waiter !== undefined; waiter = waiters[0]) {
      const value = waiting.take();
      if (value !== undefined) {
        waiter.resolve({ done: false, value });
      } else if (failure !== undefined) {
        waiter.reject(failure.reason);
        failure = undefined;
      } else if (ended) {
        waiter.resolve({ done: true, value: undefined });
      } else {
        return;
      }
      waiters.shift();
    }
  }

  function end(): void {
    ended = true;
    call.abort(); // It also lets go of the caller's signal.
    settle();
  }

  async function read(): Promise<void> {
    try {
      for await (const batch of source(call.signal, lateness.isLate)) {
        if (ended) {
          break; // The consumer has left.
        }
        waiting.add(batch);
        settle();
        if (isFull() && !call.signal.aborted) {
          await lateness.during(new Promise((resolve) => (goOn = resolve)));
        }
      }
    } catch (reason) {
      failure = ended ? undefined : { reason };
    }
    end();
  }

  return {
    next() {
      if (callers?.aborted === true) {
        waiting.clear();
      }
      if (!begun) {
        begun = true;
        void read();
      }
      return new Promise((resolve, reject) => {
        waiters.push({ resolve, reject });
        settle();
        if (!isFull()) {
          goOn();
        }
      });
    },
    async return() {
      waiting.clear();
      failure = undefined;
      begun = true;
      end();
      return { done: true, value: undefined };
    },
  };
}
