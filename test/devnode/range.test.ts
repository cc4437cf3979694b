import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { checkRange } from "../../src/devnode/range.js";

function segments(...firsts: number[]) {
  return firsts.map((first) => ({ fromHeight: BigInt(first), toHeight: BigInt(first) + 999n }));
}

const whole = segments(1, 1001, 2001, 3001, 4001);

describe("checkRange", () => {
  it.each([
    [1n, 1000n, 1],
    [1001n, 2000n, 1],
    [1n, 3000n, 3],
    [1n, 5000n, 5],
  ])("accepts %d to %d", (fromBlock, toBlock, count) => {
    const check = checkRange(whole, { fromBlock, toBlock });
    expect(check).toEqual({
      valid: true,
      segments: whole.filter(({ fromHeight: h }) => h >= fromBlock).slice(0, count),
    });
  });

  it.each([
    [500n, 1000n, "fromBlock 500 is not the first block of a history segment; the nearest valid range is 1 to 1000"],
    [1n, 1500n, "toBlock 1500 is not the last block of a history segment; the nearest valid range is 1 to 1000"],
    [1n, 1501n, "toBlock 1501 is not the last block of a history segment; the nearest valid range is 1 to 2000"],
    [0n, 2000n, "fromBlock 0 is not the first block of a history segment; the nearest valid range is 1 to 2000"],
    [1n, 9000n, "toBlock 9000 is not the last block of a history segment; the nearest valid range is 1 to 5000"],
    [-1n, 1000n, "fromBlock -1 is negative; the nearest valid range is 1 to 1000"],
    [1n, -5n, "toBlock -5 is negative; the nearest valid range is 1 to 1000"],
    [2001n, 1000n, "fromBlock 2001 is after toBlock 1000; the nearest valid range is 2001 to 3000"],
  ])("refuses %d to %d", (fromBlock, toBlock, reason) => {
    expect(checkRange(whole, { fromBlock, toBlock })).toEqual({ valid: false, reason });
  });

  it("refuses a range over a gap", () => {
    expect(checkRange(segments(1, 1001, 3001), { fromBlock: 1n, toBlock: 4000n })).toEqual({
      valid: false,
      reason: "the history has a gap after block 2000; the nearest valid range is 1 to 2000",
    });
  });

  it("refuses every range where there is no history", () => {
    expect(checkRange([], { fromBlock: 1n, toBlock: 1000n })).toEqual({
      valid: false,
      reason: "fromBlock 1 is not the first block of a history segment; there is no history yet",
    });
  });

  it("names a nearest range that is itself valid", () => {
    const firsts = fc.subarray([1, 1001, 2001, 3001, 4001], { minLength: 1 });
    const block = fc.bigInt({ min: -2000n, max: 8000n });
    fc.assert(
      fc.property(firsts, block, block, (heights, fromBlock, toBlock) => {
        const history = segments(...heights);
        const check = checkRange(history, { fromBlock, toBlock });
        if (!check.valid) {
          const [, from = "", to = ""] = /is (\d+) to (\d+)$/.exec(check.reason) ?? [];
          expect(checkRange(history, { fromBlock: BigInt(from), toBlock: BigInt(to) }).valid).toBe(true);
        }
      }),
    );
  });
});
