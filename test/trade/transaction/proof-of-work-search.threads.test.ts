import { getEventListeners } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { availableParallelism } from "node:os";
import threads from "node:worker_threads";
import { afterAll, afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { CanceledError } from "tradewire";
import { searchNoncesInThreads } from "../../../src/trade/transaction/proof-of-work-search.js";
import { firstNonce, task } from "../../support/proof-of-work.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../support/virtual-runtime.js";
import { searchNonces } from "./inside.js";

const { Worker } = threads;

/** A thread that tells what is done with it. */
class Thread extends Worker {
  searches = 0;
  holdsProcess = true;
  isOver = false;
  constructor(...args: ConstructorParameters<typeof Worker>) {
    super(...args);
    started.push(this);
  }
  override postMessage(job: { readonly id: number }): void {
    this.searches += 1;
    super.postMessage(job);
  }
  override ref(): void {
    this.holdsProcess = true;
    super.ref();
  }
  override unref(): void {
    this.holdsProcess = false;
    super.unref();
  }
  override terminate(): Promise<number> {
    this.isOver = true;
    return super.terminate();
  }
}

/** The threads that a test has started. */
let started: Thread[] = [];
const IDLE_MS = 5000;
let runtime: VirtualRuntime;
beforeEach(() => {
  started = [];
  runtime = useVirtualRuntime();
});
afterEach(async () => {
  await runtime.pass(IDLE_MS); // None is left for the next test.
  runtime[Symbol.dispose]();
  expect(started.filter(({ isOver }) => !isOver)).toEqual([]);
});

Object.assign(threads, { Worker: Thread });
syncBuiltinESMExports();
afterAll(() => {
  Object.assign(threads, { Worker });
  syncBuiltinESMExports();
});

const prefix = new TextEncoder().encode(`Vega_SPAM_PoW${task.blockHash}${task.tid}`);
const END = 2n ** 64n;

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (reason: unknown) => reason,
  );

describe("a search in threads", () => {
  it.each([1, 2, 3, 5])("finds the first nonce with %d threads", async (count) => {
    expect(await searchNoncesInThreads({ prefix, first: 0n, difficulty: 16 }, count, undefined)).toBe(23845n);
    expect(await searchNoncesInThreads({ prefix, first: 23845n, difficulty: 16 }, count, undefined)).toBe(23845n);
    const first = 2n ** 53n + 1n;
    expect(await searchNoncesInThreads({ prefix, first, difficulty: 8 }, count, undefined)).toBe(
      firstNonce(task.blockHash, task.tid, 8, first),
    );
  });

  it("may run beside others, each of which finds its own", async () => {
    const found = await Promise.all(
      [16, 4, 8, 12, 16].map((difficulty) => searchNoncesInThreads({ prefix, first: 0n, difficulty }, 2, undefined)),
    );
    expect(found).toEqual(
      [16, 4, 8, 12, 16].map((bits) => searchNonces({ prefix, first: 0n, difficulty: bits }, 2 ** 20)),
    );
  });

  it.each([1n, 4095n, 4096n, 4097n, 20_000n])("finds none in the last %d nonces where there is none", async (left) => {
    const first = END - left;
    expect(await searchNoncesInThreads({ prefix, first, difficulty: 60 }, 2, undefined)).toBeUndefined();
  });

  it("tries the very last nonce", async () => {
    const last = END - 1n;
    expect(await searchNoncesInThreads({ prefix, first: last, difficulty: 0 }, 3, undefined)).toBe(last);
  });

  it("ends with its signal, and leaves the threads to others", async () => {
    const abort = new AbortController();
    const endless = searchNoncesInThreads({ prefix, first: 0n, difficulty: 256 }, 2, abort.signal);
    expect(await searchNoncesInThreads({ prefix, first: 0n, difficulty: 16 }, 2, undefined)).toBe(23845n);
    const cause = new Error("enough");
    abort.abort(cause);
    const reason = await reasonOf(endless);
    expect(reason).toBeInstanceOf(CanceledError);
    expect(reason).toMatchObject({ cause });
    expect(await searchNoncesInThreads({ prefix, first: 0n, difficulty: 16 }, 2, undefined)).toBe(23845n);
  });

  it("no longer listens to its signal when it is over", async () => {
    const { signal } = new AbortController();
    const search = searchNoncesInThreads({ prefix, first: 0n, difficulty: 4 }, 1, signal);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await search;
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("the threads of searches", () => {
  const processors = availableParallelism();
  /** So many that searches of as many threads share them. */
  const all = Math.max(2, processors);
  const endless = { prefix, first: 0n, difficulty: 256 };
  const short = { prefix, first: 0n, difficulty: 8 };
  const searchesOfEach = () => started.map(({ searches }) => searches);

  /** Searches that do not end by themselves. To end them takes until the threads have seen it. */
  function searchOn(count: number) {
    const abort = new AbortController();
    const over = reasonOf(searchNoncesInThreads(endless, count, abort.signal));
    return async () => {
      abort.abort();
      expect(await over).toBeInstanceOf(CanceledError);
    };
  }
  async function untilIdle(...some: readonly (Thread | undefined)[]): Promise<void> {
    while (some.some((thread) => thread?.holdsProcess)) {
      await new Promise(setImmediate);
    }
  }

  it("are as many as asked for", async () => {
    await searchNoncesInThreads(short, processors + 2, undefined);
    expect(searchesOfEach()).toEqual(Array.from({ length: processors + 2 }, () => 1));
  });

  it("are used again", async () => {
    await searchNoncesInThreads(short, 1, undefined);
    await searchNoncesInThreads(short, 1, undefined);
    expect(searchesOfEach()).toEqual([2]);
  });

  it("are no more than the processors for searches of one thread each, whatever ran before", async () => {
    await searchNoncesInThreads(short, processors + 2, undefined);
    const ends = Array.from({ length: processors + 1 }, () => searchOn(1));
    expect(searchesOfEach().toSorted()).toEqual([1, 1, ...Array.from({ length: processors - 1 }, () => 2), 3]);
    await Promise.all(ends.map((end) => end()));
    await untilIdle(...started);
  });

  it("are started where all are busy, up to one for each processor or as many as asked for", async () => {
    const ends = Array.from({ length: processors }, () => searchOn(1));
    expect(searchesOfEach()).toEqual(Array.from({ length: processors }, () => 1));
    ends.push(searchOn(1));
    expect(started).toHaveLength(processors);
    ends.push(searchOn(processors + 1));
    expect(started).toHaveLength(processors + 1);
    await Promise.all(ends.map((end) => end()));
    await untilIdle(...started);
  });

  it("are asked first where they have the least to do", async () => {
    const ends = Array.from({ length: processors }, () => searchOn(1));
    await ends.at(-1)?.();
    await untilIdle(started.at(-1));
    await searchNoncesInThreads(short, 1, undefined);
    expect(searchesOfEach()).toEqual([...Array.from({ length: processors - 1 }, () => 1), 2]);
    await Promise.all(ends.map((end) => end()));
    await untilIdle(...started);
  });

  it("keep the process alive only while they search", async () => {
    await searchNoncesInThreads(short, all, undefined);
    const holding = () => started.filter(({ holdsProcess }) => holdsProcess).length;
    expect(holding()).toBe(0);
    const ends = [searchOn(all), searchOn(all)];
    expect(holding()).toBe(all);
    await ends[0]?.();
    await searchNoncesInThreads(short, all, undefined);
    expect(holding()).toBe(all);
    await ends[1]?.();
    await untilIdle(...started);
  });

  it("end when they have been idle for 5 seconds", async () => {
    await searchNoncesInThreads(short, 1, undefined);
    await runtime.pass(IDLE_MS - 1);
    const end = searchOn(1);
    await runtime.pass(IDLE_MS);
    expect(started.map(({ isOver }) => isOver)).toEqual([false]);
    await end();
    await untilIdle(...started);
    await runtime.pass(IDLE_MS - 1);
    expect(started.map(({ isOver }) => isOver)).toEqual([false]);
    await runtime.pass(1);
    expect(started.map(({ isOver }) => isOver)).toEqual([true]);
    await searchNoncesInThreads(short, 1, undefined);
    expect(searchesOfEach()).toEqual([2, 1]);
  });

  it("may find several nonces, the least of which counts", async () => {
    const found = [9n, undefined, 3n, 7n];
    const asked = jest.spyOn(Thread.prototype, "postMessage").mockImplementation(function (this: Thread, { id }) {
      const nonce = found[started.indexOf(this)];
      queueMicrotask(() => this.emit("message", nonce === undefined ? { id } : { id, nonce }));
    });
    expect(await searchNoncesInThreads(short, found.length, undefined)).toBe(3n);
    asked.mockRestore();
  });

  it("end no others where they fail", async () => {
    await searchNoncesInThreads(short, 2, undefined);
    const end = searchOn(1);
    started[1]?.emit("error", new Error("out of memory"));
    await runtime.pass(IDLE_MS);
    expect(started.map(({ isOver }) => isOver)).toEqual([false, true]);
    await end();
    await untilIdle(...started.slice(0, 1));
    await searchNoncesInThreads(short, 1, undefined);
    expect(searchesOfEach()).toEqual([3, 1]);
  });

  it("fail their searches where they fail, and no later ones", async () => {
    const failing = [searchNoncesInThreads(endless, all, undefined), searchNoncesInThreads(endless, all, undefined)];
    const reason = new Error("out of memory");
    const reasons = failing.map(reasonOf);
    const [failed, ...others] = started;
    failed?.emit("error", reason);
    expect(await Promise.all(reasons)).toEqual([reason, reason]);
    await untilIdle(...others);
    expect(started.filter(({ isOver }) => isOver)).toEqual([failed]);
    expect(await searchNoncesInThreads(short, all, undefined)).toBe(firstNonce(task.blockHash, task.tid, 8));
    expect(searchesOfEach()).toEqual([2, ...others.map(() => 3), 1]);
  });
});
