import { describe, expect, it, jest } from "@jest/globals";
import { CanceledError } from "../../src/errors/index.js";
import { searchNonces } from "../../src/transaction/nonce-search.js";
import { searchNoncesInThreads } from "../../src/transaction/nonce-search-threads.js";
import { firstNonce, task } from "../support/proof-of-work.js";

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
    const added = jest.spyOn(signal, "addEventListener");
    const removed = jest.spyOn(signal, "removeEventListener");
    await searchNoncesInThreads({ prefix, first: 0n, difficulty: 4 }, 1, signal);
    expect(added).toHaveBeenCalledTimes(1);
    expect(removed.mock.calls.map((args) => args.slice(0, 2))).toEqual(
      added.mock.calls.map((args) => args.slice(0, 2)),
    );
  });
});
