import { availableParallelism } from "node:os";
import { CanceledError, RequestError } from "../../base/errors/index.js";
import { assertObject, invalidValueError, parsePositiveInteger, requireInteger } from "../../base/input/assert.js";
import { snapshot } from "../../base/input/snapshot.js";
import { withJson } from "../../base/json-result.js";
import { encodeHex, sha3 } from "./crypto.js";
import { NONCE_END, PREFIX_CAPACITY, searchNonces, searchNoncesInThreads } from "./proof-of-work-search.js";

/** The known hash functions of proofs of work. `sha3_24_rounds` is plain SHA3-256. */
const HASH_FUNCTIONS = ["sha3_24_rounds"];

/** The text with which every hashed message starts. */
const TAG = "Vega_SPAM_PoW";

/** The task that a proof of work solves. */
export interface ProofOfWorkTask {
  /** The hash of the block that the transaction names by its height. It is hashed as text, so its case matters. */
  readonly blockHash: string;
  /** The identifier `tx.pow.tid`, usually 64 hex digits. It is hashed as text, so its case matters. */
  readonly tid: string;
  /** The number of zero bits that the hash must start with, 0 to 256. */
  readonly difficulty: number;
  /** The hash function that the network requires; `sha3_24_rounds` by default. */
  readonly hashFunction?: string | undefined;
}

/** How to search for a proof of work. */
export interface SolveOptions extends ProofOfWorkTask {
  /** Stops the search when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** The number of threads, 1 to 256; by default one for each processor that the process may use. */
  readonly threads?: number | undefined;
  /** Maximum accepted difficulty, in zero bits; 256 by default. */
  readonly maxDifficulty?: number | undefined;
  /** The first nonce to try, 0 to 2^64 - 1; 0 by default. */
  readonly startNonce?: bigint | undefined;
}

/** A proof of work. */
export interface ProofOfWork {
  /** The value for `tx.pow.nonce`. */
  readonly nonce: bigint;
  /** The hash, 64 hex digits in lower case. */
  readonly hash: string;
}

/** How many nonces are checked on the calling thread, in about 4 milliseconds: starting a thread would take longer. */
const EARLY_NONCES = 16_384;

/** About how many nonces a thread tries in a second, to estimate times. */
const NONCES_PER_SECOND = 4_000_000;

/** Maximum number of threads of one search. No machine gains from more, and a typing mistake must not bring it down. */
const MAX_THREADS = 256;

/**
 * Returns whether a nonce is a proof of work for a transaction.
 *
 * The hash of `"Vega_SPAM_PoW" + blockHash + tid + nonce`, the nonce as 8 bytes, big-endian, must start with at least
 * `difficulty` zero bits.
 *
 * @param task block hash, tid and difficulty in zero bits, and the `nonce` to check
 * @returns whether the nonce is a proof of work
 * @throws {@link RequestError} if an argument is invalid, or the hash function is unknown
 *
 * @example
 * verifyProofOfWork({ blockHash, tid, difficulty: 15, nonce: 23845n })
 */
export function verify(task: ProofOfWorkTask & { readonly nonce: bigint }): boolean {
  assertObject("the task", task);
  const prefix = messagePrefix(task);
  requireNonce("nonce", task.nonce);
  return zeroBits(hash(prefix, task.nonce)) >= task.difficulty;
}

/**
 * Finds a proof of work for a transaction: the first nonce from `startNonce` on that
 * {@link verify} accepts. The result does not depend on the number of threads.
 *
 * The search runs in threads, which are started when a difficulty needs them and kept for the next search, until they
 * have been idle for 5 seconds. Idle threads do not keep the process alive. Each bit of difficulty doubles the time.
 * Concurrent searches share the threads evenly.
 *
 * @param options block hash, tid, difficulty in zero bits, and how to search
 * @returns the nonce, and the hash as 64 hex digits
 * @throws {@link RequestError} if an argument is invalid, the hash function is unknown, the difficulty is above
 *   `maxDifficulty`, or no nonce up to 2^64 - 1 is a proof of work
 * @throws {@link CanceledError} if the signal was aborted before or during the search
 *
 * @example
 * const { nonce } = await solveProofOfWork({ blockHash, tid, difficulty: 15, signal: AbortSignal.timeout(10_000) });
 */
export async function solve(options: SolveOptions): Promise<ProofOfWork> {
  options = snapshot(options);
  assertObject("options", options);
  const { difficulty, signal, threads = availableParallelism(), startNonce = 0n, maxDifficulty = 256 } = options;
  const prefix = messagePrefix(options);
  requireAffordable(difficulty, maxDifficulty);
  requireNonce("startNonce", startNonce);
  parsePositiveInteger("threads", threads, MAX_THREADS);
  if (signal?.aborted) throw new CanceledError({ cause: signal.reason });

  let nonce = searchNonces({ prefix, first: startNonce, difficulty }, EARLY_NONCES);
  const first = startNonce + BigInt(EARLY_NONCES);
  if (nonce === undefined && first < NONCE_END) {
    nonce = await searchNoncesInThreads({ prefix, first, difficulty }, threads, signal);
  }
  if (nonce === undefined) {
    throw new RequestError(`no nonce from ${startNonce} to 2^64 - 1 has difficulty ${difficulty}`, {
      advice: "Start from a smaller nonce, or use another tid.",
    });
  }
  return withJson({ nonce, hash: encodeHex(hash(prefix, nonce)) });
}

/**
 * Rejects a proof of work that exceeds the maximum difficulty. Each bit doubles the time, and the node chooses it.
 *
 * @throws {@link RequestError} with the expected time, if the maximum is exceeded
 */
export function requireAffordable(difficulty: number, maxDifficulty: number): void {
  requireInteger("maxDifficulty", maxDifficulty, 0, 256);
  if (difficulty > maxDifficulty) {
    const time = inWords(2 ** difficulty / NONCES_PER_SECOND / availableParallelism());
    throw new RequestError(
      `the proof of work has difficulty ${difficulty}, which exceeds maxDifficulty ${maxDifficulty} and would take ${time}`,
      { advice: "Check the node: the network requires less. Otherwise raise maxDifficulty. Nothing was sent." },
    );
  }
}

/** The units of a time, the longest first, in seconds. */
const UNITS = [
  ["years", 31_557_600],
  ["days", 86_400],
  ["hours", 3600],
  ["minutes", 60],
  ["seconds", 1],
] as const;

function inWords(seconds: number): string {
  const [unit, length] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ["seconds", 1];
  const count = Math.max(2, Math.ceil(seconds / length));
  return count > 1_000_000 ? "over a million years" : `about ${count} ${unit}`; // No other unit comes to so many.
}

/** The message up to its last 8 bytes, the nonce. */
function messagePrefix({ blockHash, tid, difficulty, hashFunction = "sha3_24_rounds" }: ProofOfWorkTask): Uint8Array {
  if (!HASH_FUNCTIONS.includes(hashFunction)) {
    throw new RequestError(`unknown hash function ${JSON.stringify(hashFunction)} of the proof of work`, {
      advice: `Valid hash functions: ${HASH_FUNCTIONS.join(", ")}.`,
    });
  }
  requireInteger("difficulty", difficulty, 0, 256, "of zero bits ");
  for (const [name, text] of Object.entries({ blockHash, tid })) {
    if (typeof text !== "string" || text === "") {
      throw invalidValueError(name, text, "a non-empty string, usually of 64 hex digits");
    }
  }
  const prefix = new TextEncoder().encode(TAG + blockHash + tid);
  if (prefix.length > PREFIX_CAPACITY) {
    throw new RequestError(
      `blockHash and tid must have at most ${PREFIX_CAPACITY - TAG.length} bytes together (got ${prefix.length - TAG.length})`,
      {
        advice: "Each usually has 64 hex digits.",
      },
    );
  }
  return prefix;
}

function requireNonce(name: string, nonce: bigint): void {
  if (typeof nonce !== "bigint" || nonce < 0n || nonce >= NONCE_END) {
    throw invalidValueError(name, nonce, "a bigint from 0 to 2^64 - 1");
  }
}

function hash(prefix: Uint8Array, nonce: bigint): Uint8Array {
  const message = new Uint8Array(prefix.length + 8);
  message.set(prefix);
  new DataView(message.buffer).setBigUint64(prefix.length, nonce);
  return sha3(message);
}

function zeroBits(bytes: Uint8Array): number {
  const index = bytes.findIndex((byte) => byte !== 0);
  return index < 0 ? 8 * bytes.length : 8 * index + Math.clz32(bytes[index] ?? 0) - 24;
}

/** The block that a transaction is tied to, and the proof of work that it requires. */
export interface BlockTask {
  /** The chain to sign for: 1 to 50 characters of `A-Z a-z 0-9 . _ -`. The signature is valid only for this chain. */
  readonly chainId: string;
  readonly height: bigint;
  /** Its hash, 64 hex digits; the proof of work hashes this exact text. */
  readonly hash: string;
  /** The number of zero bits that the proof of work must start with. */
  readonly difficulty: number;
  readonly hashFunction: string;
}
