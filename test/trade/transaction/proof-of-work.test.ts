import { availableParallelism } from "node:os";
import { describe, expect, test } from "@jest/globals";
import { CanceledError, RequestError, solveProofOfWork as solve, verifyProofOfWork as verify } from "tradewire";
import { requireAffordable } from "../../../src/trade/transaction/proof-of-work.js";
import { firstNonce, task } from "../../support/proof-of-work.js";

const LARGEST_NONCE = 2n ** 64n - 1n;

describe("known answers of the network's own software", () => {
  test.each([
    {
      blockHash: "2FB2146FC01F21D358323174BAA230E7DE61C0F150B7FBC415C896B0C23E50FF",
      tid: "2E7A16D9EF690F0D2BEED115FBA13BA2AAA16C8F971910AD88C72B9DB010C7D4",
      difficulty: 2,
      nonce: 4n,
      hash: /^[0-3][0-9a-f]{63}$/,
    },
    {
      blockHash: "ffb67ea4111d466d363a5c8f355bf81e2e3504563af273f5de81a005a6247e14",
      tid: "c40de04280ce8c40ee41b5005c23a1358b4fbf31f6dcb675e8246b174458274e",
      difficulty: 8,
      nonce: 402n,
      hash: /^0053ea7687bd7652803af4300a7e17868267c32e4fb7f09375c46c367fd7646b$/,
    },
    {
      ...task,
      difficulty: 16,
      nonce: 23845n,
      hash: /^00000fd8f55699845ac3192af013928916050eab088437943708b83b27490862$/,
    },
  ])("difficulty $difficulty, nonce $nonce", async ({ hash, nonce, ...vector }) => {
    expect(await solve(vector)).toEqual({ nonce, hash: expect.stringMatching(hash) });
    expect(verify({ ...vector, nonce })).toBe(true);
    expect(verify({ ...vector, nonce: nonce - 1n })).toBe(false);
  });

  test("a hash in other letters is another hash", async () => {
    expect(verify({ ...task, difficulty: 16, nonce: 23845n })).toBe(true);
    expect(verify({ ...task, blockHash: task.blockHash.toUpperCase(), difficulty: 16, nonce: 23845n })).toBe(false);
    expect(verify({ ...task, tid: task.tid.toUpperCase(), difficulty: 16, nonce: 23845n })).toBe(false);
  });
});

describe("solve", () => {
  test("with the longest texts there may be", async () => {
    const tid = "t".repeat(32_768 - "Vega_SPAM_PoW".length - task.blockHash.length);
    const { nonce } = await solve({ ...task, tid, difficulty: 4 });
    expect(nonce).toBe(firstNonce(task.blockHash, tid, 4));
    await expect(solve({ ...task, tid: `${tid}t`, difficulty: 4 })).rejects.toThrow(
      "blockHash and tid must have at most 32755 bytes together (got 32756)",
    );
  });

  test.each([2n ** 32n - 20n, 2n ** 32n, 2n ** 53n - 21n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 64n - 1000n])(
    "from nonce %d on",
    async (startNonce) => {
      const { nonce } = await solve({ ...task, difficulty: 6, startNonce });
      expect(nonce).toBe(firstNonce(task.blockHash, task.tid, 6, startNonce));
      expect(nonce).toBeGreaterThanOrEqual(startNonce);
    },
  );

  test("takes the first nonce where nothing is asked of the hash", async () => {
    expect((await solve({ ...task, difficulty: 0 })).nonce).toBe(0n);
    expect((await solve({ ...task, difficulty: 0, startNonce: LARGEST_NONCE })).nonce).toBe(LARGEST_NONCE);
  });

  test.each([3n, 20_000n, 50_001n])("says so when none of the last %d nonces will do", async (count) => {
    await expect(solve({ ...task, difficulty: 60, startNonce: 2n ** 64n - count })).rejects.toThrow(
      `no nonce from ${2n ** 64n - count} to 2^64 - 1 has difficulty 60\n` +
        "Start from a smaller nonce, or use another tid.",
    );
  });
});

describe("the work", () => {
  test("is refused above what is allowed, with the time that it would take, before it is begun", async () => {
    await expect(solve({ ...task, difficulty: 17, maxDifficulty: 16 })).rejects.toThrow(
      "the proof of work has difficulty 17, which exceeds maxDifficulty 16 and would take about 2 seconds\n" +
        "Check the node: the network requires less. Otherwise raise maxDifficulty. Nothing was sent.",
    );
    expect((await solve({ ...task, difficulty: 16, maxDifficulty: 16 })).nonce).toBe(23845n);
  });

  test.each([
    [26, 2, "about 9 seconds"],
    [29, 2, "about 68 seconds"],
    [30, 2, "about 3 minutes"],
    [36, 2, "about 3 hours"],
    [41, 2, "about 4 days"],
    [49, 2, "about 3 years"],
    [68, 2, "over a million years"],
    [256, 2, "over a million years"],
    [24, 1, "about 5 seconds"],
    [24, 8, "about 2 seconds"],
  ])("of difficulty %d takes %d processors %s", (difficulty, processors, words) => {
    const scaled = difficulty - Math.log2(processors / availableParallelism());
    expect(() => requireAffordable(scaled, 0)).toThrow(`and would take ${words}\n`);
  });

  test.each([-1, 257, 1.5, Number.NaN])("is allowed up to 0 to 256 bits, and not %d", (maxDifficulty) => {
    expect(() => requireAffordable(0, maxDifficulty)).toThrow(
      `maxDifficulty must be a whole number from 0 to 256 (got ${maxDifficulty})`,
    );
  });

  test.each([0, 256])("may be allowed up to %d bits", (bits) => {
    expect(() => requireAffordable(bits, bits)).not.toThrow();
  });
});

describe("an aborted signal", () => {
  test("is seen before anything is tried", async () => {
    const solution = solve({ ...task, difficulty: 0, signal: AbortSignal.abort("enough") });
    await expect(solution).rejects.toThrow(CanceledError);
    await expect(solution).rejects.toMatchObject({ cause: "enough" });
  });

  test("ends a search that would never end, and no other", async () => {
    const controller = new AbortController();
    const endless = solve({ ...task, difficulty: 256, signal: controller.signal });
    const other = solve({ ...task, difficulty: 18, signal: new AbortController().signal });
    expect(await other).toMatchObject({ hash: expect.stringMatching(/^0000[0-3]/) });
    controller.abort(new Error("changed my mind"));
    await expect(endless).rejects.toThrow(CanceledError);
    await expect(endless).rejects.toMatchObject({ cause: { message: "changed my mind" } });
    expect((await solve({ ...task, difficulty: 16 })).nonce).toBe(23845n);
  });
});

describe("arguments that cannot be right", () => {
  const refused: [object, string][] = [
    [{ difficulty: -1 }, "difficulty must be a whole number of zero bits from 0 to 256 (got -1)"],
    [{ difficulty: 257 }, "difficulty must be a whole number of zero bits from 0 to 256 (got 257)"],
    [{ difficulty: 1.5 }, "difficulty must be a whole number of zero bits from 0 to 256 (got 1.5)"],
    [{ difficulty: Number.NaN }, "difficulty must be a whole number of zero bits from 0 to 256 (got NaN)"],
    [{ blockHash: "" }, 'blockHash must be a non-empty string, usually of 64 hex digits (got "")'],
    [{ tid: "" }, 'tid must be a non-empty string, usually of 64 hex digits (got "")'],
    [{ tid: undefined }, "tid must be a non-empty string, usually of 64 hex digits (got undefined)"],
    [
      { hashFunction: "sha3_12_rounds" },
      'unknown hash function "sha3_12_rounds" of the proof of work\nValid hash functions: sha3_24_rounds.',
    ],
  ];

  test.each(refused)("both refuse %j", async (wrong, message) => {
    const given = { ...task, difficulty: 1, nonce: 0n, ...wrong };
    expect(() => verify(given)).toThrow(RequestError);
    expect(() => verify(given)).toThrow(message);
    await expect(solve(given)).rejects.toThrow(RequestError);
    await expect(solve(given)).rejects.toThrow(message);
  });

  test.each<[unknown]>([[-1n], [2n ** 64n], [5], ["5"]])("neither takes %p for a nonce", async (wrong) => {
    const nonce = wrong as bigint;
    expect(() => verify({ ...task, difficulty: 1, nonce })).toThrow("nonce must be a bigint from 0 to 2^64 - 1 (got ");
    await expect(solve({ ...task, difficulty: 1, startNonce: nonce })).rejects.toThrow(
      "startNonce must be a bigint from 0 to 2^64 - 1 (got ",
    );
  });

  test.each([0, -1, 1.5, 257])("solve takes no %d threads", async (threads) => {
    await expect(solve({ ...task, difficulty: 1, threads })).rejects.toThrow(
      `threads must be a whole number from 1 to 256 (got ${threads})`,
    );
  });

  test.each([1, 256])("solve takes %d threads", async (threads) => {
    expect((await solve({ ...task, difficulty: 0, threads })).nonce).toBe(0n);
  });
});
