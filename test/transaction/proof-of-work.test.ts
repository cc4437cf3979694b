import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { sha3_256 } from "@noble/hashes/sha3.js";
import { solve as solveLikeVega, verify as verifyLikeVega } from "@vegaprotocol/crypto/pow";
import fc from "fast-check";
import { CanceledError, RequestError } from "../../src/errors/index.js";
import { solve, verify } from "../../src/transaction/proof-of-work.js";

const LARGEST_NONCE = 2n ** 64n - 1n;

const task = {
  blockHash: "dc4b61de2138856406acdabcc502be708bff7c945857ea032011a8b4b0cf54f4",
  tid: "3954a15b2e1ec457ae100c56e2aa43786b4612644926403d59fd8cdcb29d825f",
};

const hexText = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString("hex"));
const anyCase = fc.tuple(hexText, fc.boolean()).map(([text, upper]) => (upper ? text.toUpperCase() : text));
const anyNonce = fc.bigInt({ min: 0n, max: LARGEST_NONCE });

/** The hash by another implementation, as 256 binary digits. */
function hashBits(blockHash: string, tid: string, nonce: bigint): string {
  const message = Buffer.concat([
    Buffer.from("Vega_SPAM_PoW"),
    Buffer.from(blockHash),
    Buffer.from(tid),
    Buffer.alloc(8),
  ]);
  message.writeBigUInt64BE(nonce, message.length - 8);
  return Array.from(sha3_256(message), (byte) => byte.toString(2).padStart(8, "0")).join("");
}

/** The first nonce by trying one after the other. */
function firstNonce(blockHash: string, tid: string, difficulty: number, startNonce = 0n): bigint {
  let nonce = startNonce;
  while (!hashBits(blockHash, tid, nonce).startsWith("0".repeat(difficulty))) nonce++;
  return nonce;
}

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

describe("verify", () => {
  test("agrees with the network's own client library", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyCase,
        anyCase,
        fc.integer({ min: 0, max: 4 }),
        anyNonce,
        async (blockHash, tid, difficulty, nonce) => {
          expect(verify({ blockHash, tid, difficulty, nonce })).toBe(
            await verifyLikeVega(difficulty, blockHash, tid, nonce),
          );
        },
      ),
    );
  });

  test("counts the zero bits of SHA3-256, whatever the texts", () => {
    const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(text, text, anyNonce, (blockHash, tid, nonce) => {
        const zeros = hashBits(blockHash, tid, nonce).indexOf("1");
        expect(verify({ blockHash, tid, difficulty: zeros, nonce })).toBe(true);
        expect(verify({ blockHash, tid, difficulty: zeros + 1, nonce })).toBe(false);
      }),
    );
  });
});

describe("solve", () => {
  test("finds what the network's own client library finds", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyCase,
        anyCase,
        fc.integer({ min: 1, max: 13 }),
        anyNonce,
        async (blockHash, tid, difficulty, startNonce) => {
          fc.pre(startNonce < LARGEST_NONCE - 2n ** 20n);
          const { nonce } = await solve({ blockHash, tid, difficulty, startNonce });
          expect(nonce).toBe((await solveLikeVega(difficulty, blockHash, tid, startNonce)).nonce);
        },
      ),
    );
  });

  test("wherever the nonce comes to lie in a block of the hash, and across the border of two", async () => {
    for (let length = 1; length <= 2 * 136; length++) {
      const tid = "t".repeat(length);
      const { nonce, hash } = await solve({ blockHash: "b", tid, difficulty: 6 });
      expect({ length, nonce }).toEqual({ length, nonce: firstNonce("b", tid, 6) });
      expect(BigInt(`0x${hash}`)).toBe(BigInt(`0b${hashBits("b", tid, nonce)}`));
    }
  });

  test("with texts of any length, in any script", async () => {
    const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 1000 });
    await fc.assert(
      fc.asyncProperty(text, text, anyNonce, async (blockHash, tid, startNonce) => {
        fc.pre(startNonce < LARGEST_NONCE - 2n ** 20n);
        const { nonce } = await solve({ blockHash, tid, difficulty: 5, startNonce });
        expect(nonce).toBe(firstNonce(blockHash, tid, 5, startNonce));
      }),
      { numRuns: 30 },
    );
  });

  test("with the longest texts there may be", async () => {
    const tid = "t".repeat(32_768 - "Vega_SPAM_PoW".length - task.blockHash.length);
    const { nonce } = await solve({ ...task, tid, difficulty: 4 });
    expect(nonce).toBe(firstNonce(task.blockHash, tid, 4));
    await expect(solve({ ...task, tid: `${tid}t`, difficulty: 4 })).rejects.toThrow(
      "blockHash and tid have 32756 bytes\nThey can have 32755 together; usual are 64 hex digits each.",
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

  test("finds the same nonce with any number of threads, also when several searches run at once", async () => {
    const tids = Array.from({ length: 6 }, (_, i) => `${task.tid.slice(1)}${i}`);
    const expected = await Promise.all(tids.map((tid) => solveLikeVega(16, task.blockHash, tid)));
    for (const threads of [undefined, 1, 2, 3, 5]) {
      const found = await Promise.all(tids.map((tid) => solve({ ...task, tid, difficulty: 16, threads })));
      expect(found.map(({ nonce }) => nonce)).toEqual(expected.map(({ nonce }) => nonce));
    }
  });

  test.each([3n, 20_000n, 50_001n])("says so when none of the last %d nonces will do", async (count) => {
    await expect(solve({ ...task, difficulty: 60, startNonce: 2n ** 64n - count })).rejects.toThrow(
      `no nonce from ${2n ** 64n - count} to 2^64 - 1 is a proof of work of difficulty 60\n` +
        "Start from a smaller nonce, or take another tid.",
    );
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

describe("a process", () => {
  const run = async (script: string) => {
    const url = new URL("../../dist/src/transaction/proof-of-work.js", import.meta.url);
    const source = `import { solve } from ${JSON.stringify(url)};\nconst task = ${JSON.stringify(task)};\n${script}`;
    return (await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", source])).stdout;
  };

  test("waits for a solution, and ends by itself after it", async () => {
    expect(await run("console.log((await solve({ ...task, difficulty: 16, threads: 3 })).nonce);")).toBe("23845n\n");
  });

  test("ends by itself after a search was aborted", async () => {
    const script =
      "await solve({ ...task, difficulty: 256, signal: AbortSignal.timeout(50) }).catch((error) => console.log(error.name));";
    expect(await run(script)).toBe("CanceledError\n");
  });
});

describe("arguments that cannot be right", () => {
  const refused: [object, string][] = [
    [{ difficulty: -1 }, "the difficulty of the proof of work is -1\n"],
    [{ difficulty: 257 }, "the difficulty of the proof of work is 257\n"],
    [{ difficulty: 1.5 }, "the difficulty of the proof of work is 1.5\n"],
    [{ difficulty: Number.NaN }, "the difficulty of the proof of work is NaN\n"],
    [{ blockHash: "" }, "blockHash is empty\n"],
    [{ tid: "" }, "tid is empty\n"],
    [{ tid: undefined }, "tid is no text: undefined\n"],
    [
      { hashFunction: "sha3_12_rounds" },
      'the hash function of the proof of work is "sha3_12_rounds", which is not known\nWhat is possible: sha3_24_rounds.',
    ],
  ];

  test.each(refused)("both refuse %j", async (wrong, message) => {
    const given = { ...task, difficulty: 1, nonce: 0n, ...wrong };
    expect(() => verify(given)).toThrow(RequestError);
    expect(() => verify(given)).toThrow(message);
    await expect(solve(given)).rejects.toThrow(RequestError);
    await expect(solve(given)).rejects.toThrow(message);
  });

  test.each([-1n, 2n ** 64n])("neither takes %d for a nonce", async (nonce) => {
    expect(() => verify({ ...task, difficulty: 1, nonce })).toThrow(`nonce is ${nonce}, which is no nonce\n`);
    await expect(solve({ ...task, difficulty: 1, startNonce: nonce })).rejects.toThrow(
      `startNonce is ${nonce}, which is no nonce\n`,
    );
  });

  test.each([0, -1, 1.5, 257])("solve takes no %d threads", async (threads) => {
    await expect(solve({ ...task, difficulty: 1, threads })).rejects.toThrow(
      `threads is ${threads}, which is no number of threads\n`,
    );
  });
});
