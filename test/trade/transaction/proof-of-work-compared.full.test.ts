import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { solve as solveLikeVega, verify as verifyLikeVega } from "@vegaprotocol/crypto/pow";
import fc from "fast-check";
import { solveProofOfWork as solve, verifyProofOfWork as verify } from "tradewire";
import { firstNonce, hashBits, task } from "../../support/proof-of-work.js";

const LARGEST_NONCE = 2n ** 64n - 1n;

const hexText = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString("hex"));
const anyCase = fc.tuple(hexText, fc.boolean()).map(([text, upper]) => (upper ? text.toUpperCase() : text));
const anyNonce = fc.bigInt({ min: 0n, max: LARGEST_NONCE });

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

  test("finds the same nonce with any number of threads, also when several searches run at once", async () => {
    const tids = Array.from({ length: 6 }, (_, i) => `${task.tid.slice(1)}${i}`);
    const expected = await Promise.all(tids.map((tid) => solveLikeVega(16, task.blockHash, tid)));
    for (const threads of [undefined, 1, 2, 3, 5]) {
      const found = await Promise.all(tids.map((tid) => solve({ ...task, tid, difficulty: 16, threads })));
      expect(found.map(({ nonce }) => nonce)).toEqual(expected.map(({ nonce }) => nonce));
    }
  });
});

describe("a process", () => {
  const run = async (script: string) => {
    const url = new URL("../../../compiled/src/trade/transaction/proof-of-work.js", import.meta.url);
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
