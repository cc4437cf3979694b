import { availableParallelism } from "node:os";
import type { Worker } from "node:worker_threads";
import { nonceSearch } from "../../../gen/wasm/nonce-search.js";
import { type StopTimer, startTimer } from "../../base/runtime/index.js";
import { raceAbort } from "../../base/signal/abort.js";

/** The part of WebAssembly's interface that is needed here. The types of Node do not declare it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: NonceSearchExports };
};

/** The exports of assembly/nonce-search.ts. */
interface NonceSearchExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly prefixAddress: { readonly value: number };
  search(prefixLength: number, first: bigint, count: number, difficulty: number): number;
}

/** A search for a nonce with which SHA3-256 of prefix and nonce starts with `difficulty` zero bits. */
export interface NonceSearch {
  /** The message up to the nonce, at most `PREFIX_CAPACITY` bytes. */
  readonly prefix: Uint8Array;
  /** The first nonce to try. */
  readonly first: bigint;
  /** The number of zero bits that the hash must start with. */
  readonly difficulty: number;
}

/** Maximum number of bytes of a prefix. */
export const PREFIX_CAPACITY = 32_768;

/** One more than the largest nonce. */
export const NONCE_END = 2n ** 64n;

/** Compiled when first needed. Threads are given this module, so that they share its machine code. */
let compiled: object | undefined;

/** Compiles the search, once. */
export function nonceSearchModule(): object {
  compiled ??= new WebAssembly.Module(Buffer.from(nonceSearch, "base64"));
  return compiled;
}

let instance: NonceSearchExports | undefined;

/** Searches on the calling thread and blocks it: a few million nonces take a second. */
export function searchNonces(search: NonceSearch, count: number): bigint | undefined {
  instance ??= new WebAssembly.Instance(nonceSearchModule()).exports;
  new Uint8Array(instance.memory.buffer).set(search.prefix, instance.prefixAddress.value);
  const left = NONCE_END - search.first;
  const index = instance.search(
    search.prefix.length,
    search.first,
    left < count ? Number(left) : count,
    search.difficulty,
  );
  return index < 0 ? undefined : search.first + BigInt(index);
}

/** How many nonces a thread tries at a time. This takes about a millisecond; then the thread switches to the next search. */
const BLOCK_SIZE = 4096n;

/** How long a thread without a search is retained, in milliseconds. Starting one takes about 30. */
const IDLE_MS = 5000;

/** Indexes of the numbers that the threads of a search share: the next block to take, and the block to stop before. */
const NEXT = 0;
const END = 1;

/**
 * The program of each thread. It is a text, so that it is found wherever this module ends up: in the sources, in dist
 * or in a bundle. `getBuiltinModule` works whether Node runs the text as CommonJS or as an ES module.
 *
 * Blocks are taken in ascending order, and a thread that finds a nonce lowers the end to its block. So when all threads
 * have answered, every nonce below the smallest one found was checked, however the threads were scheduled.
 */
const THREAD = `
const { parentPort, workerData } = process.getBuiltinModule("node:worker_threads");
const { module, BLOCK_SIZE, NONCE_END, NEXT, END } = workerData;
const { memory, prefixAddress, search } = new WebAssembly.Instance(module).exports;
const jobs = [];

parentPort.on("message", (job) => {
  if (jobs.push(job) === 1) setImmediate(searchBlock);
});

// Searches run by turns, a block each, so that a long one does not keep a short one waiting.
function searchBlock() {
  const job = jobs.shift();
  const { id, prefix, difficulty, blocks } = job;
  const block = Atomics.add(blocks, NEXT, 1n);
  if (block >= Atomics.load(blocks, END)) {
    parentPort.postMessage({ id });
  } else {
    const first = job.first + block * BLOCK_SIZE;
    const left = NONCE_END - first;
    new Uint8Array(memory.buffer).set(prefix, prefixAddress.value);
    const index = search(prefix.length, first, Number(left < BLOCK_SIZE ? left : BLOCK_SIZE), difficulty);
    if (index < 0) {
      jobs.push(job);
    } else {
      let end = Atomics.load(blocks, END);
      while (block < end) end = Atomics.compareExchange(blocks, END, end, block);
      parentPort.postMessage({ id, nonce: first + BigInt(index) });
    }
  }
  if (jobs.length > 0) setImmediate(searchBlock);
}
`;

type ThreadModule = typeof import("node:worker_threads");

/** A thread's answer to a search: the smallest nonce that it found, if it found any before the search ended. */
interface Answer {
  readonly id: number;
  readonly nonce?: bigint;
}

/** A thread, and the searches that it has not answered yet. */
interface Thread {
  readonly worker: Worker;
  readonly pending: Map<number, { resolve(answer: Answer): void; reject(error: unknown): void }>;
  /** Stops the timer that ends an idle thread. */
  stopIdle?: StopTimer;
}

/** The running threads. Idle ones wait a while for the next search, and do not keep the process alive. */
const threads: Thread[] = [];

let lastId = 0;

/**
 * Searches all nonces from `search.first` on, in threads that are started when first needed.
 *
 * @throws {@link CanceledError} if the signal is aborted during the search
 */
export async function searchNoncesInThreads(
  search: NonceSearch,
  count: number,
  signal: AbortSignal | undefined,
): Promise<bigint | undefined> {
  const threadModule = process.getBuiltinModule("node:worker_threads");
  const blocks = new BigUint64Array(new SharedArrayBuffer(16));
  blocks[END] = (NONCE_END - search.first) / BLOCK_SIZE + 1n; // The last one has fewer nonces, or none.
  const job = { ...search, id: ++lastId, blocks };

  try {
    const answers = leastBusyThreads(count, threadModule).map((thread) => ask(thread, job));
    const nonces = (await raceAbort(Promise.all(answers), signal)).flatMap(({ nonce }) => nonce ?? []);
    return nonces.reduce<bigint | undefined>(
      (least, nonce) => (least === undefined || nonce < least ? nonce : least),
      undefined,
    );
  } finally {
    Atomics.store(blocks, END, 0n);
  }
}

/**
 * Returns `count` threads, idle ones first, and starts missing ones. Searches share as many threads as there are
 * processors, or as many as the largest of the callers' limits.
 */
function leastBusyThreads(count: number, threadModule: ThreadModule): Thread[] {
  const shared = threads.slice(0, Math.max(count, availableParallelism()));
  const idle = shared.filter(({ pending }) => pending.size === 0).length;
  const missing = Math.min(count - idle, Math.max(count, availableParallelism()) - shared.length);
  for (let started = 0; started < missing; started += 1) {
    const thread = startThread(threadModule);
    threads.push(thread);
    shared.push(thread);
  }
  return shared.toSorted((a, b) => a.pending.size - b.pending.size).slice(0, count);
}

function startThread({ Worker }: ThreadModule): Thread {
  const worker = new Worker(THREAD, {
    eval: true,
    // Flags of the process, such as loaders and --input-type, are useless to the thread and may break it.
    execArgv: [],
    workerData: { module: nonceSearchModule(), BLOCK_SIZE, NONCE_END, NEXT, END },
  });
  const thread: Thread = { worker, pending: new Map() };
  worker.unref();
  worker.on("message", (answer: Answer) => {
    thread.pending.get(answer.id)?.resolve(answer);
    thread.pending.delete(answer.id);
    if (thread.pending.size === 0) {
      worker.unref();
      thread.stopIdle = startTimer(() => end(thread), IDLE_MS, { ref: false });
    }
  });
  worker.on("error", (error) => {
    end(thread);
    for (const { reject } of thread.pending.values()) reject(error);
  });
  return thread;
}

/** Takes a thread out of the list, so that no search gets it, and end it. */
function end(thread: Thread): void {
  const index = threads.indexOf(thread);
  if (index !== -1) {
    threads.splice(index, 1);
  }
  void thread.worker.terminate();
}

function ask(thread: Thread, job: NonceSearch & { readonly id: number }): Promise<Answer> {
  const { worker, pending } = thread;
  return new Promise((resolve, reject) => {
    thread.stopIdle?.();
    pending.set(job.id, { resolve, reject });
    worker.ref();
    worker.postMessage(job);
  });
}
