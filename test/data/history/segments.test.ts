import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type BlockRange, checkRange, contiguousSpans, gapsBetween, schemaSpans, snapRange } from "tradewire";
import { nearestText } from "../../../src/data/history/segments.js";

function segments(...firsts: number[]) {
  return firsts.map((first) => ({ fromHeight: BigInt(first), toHeight: BigInt(first) + 999n }));
}

function range(fromBlock: number, toBlock: number): BlockRange {
  return { fromBlock: BigInt(fromBlock), toBlock: BigInt(toBlock) };
}

const whole = segments(1, 1001, 2001, 3001, 4001);
const history = fc.subarray([1, 1001, 2001, 3001, 4001], { minLength: 1 }).map((firsts) => segments(...firsts));
const block = fc.integer({ min: -2000, max: 8000 });

describe("checkRange", () => {
  it.each([
    [1, 1000, 1],
    [1001, 2000, 1],
    [1, 3000, 3],
    [1, 5000, 5],
  ])("accepts %d to %d", (from, to, count) => {
    expect(checkRange(whole, range(from, to))).toEqual({
      valid: true,
      segments: whole.filter(({ fromHeight }) => fromHeight >= from).slice(0, count),
    });
  });

  it.each([
    [500, 1000, "fromBlock 500 is not the first block of a history segment", range(1, 1000)],
    [1, 1500, "toBlock 1500 is not the last block of a history segment", range(1, 1000)],
    [1, 1501, "toBlock 1501 is not the last block of a history segment", range(1, 2000)],
    [0, 2000, "fromBlock 0 is not the first block of a history segment", range(1, 2000)],
    [1, 9000, "toBlock 9000 is not the last block of a history segment", range(1, 5000)],
    [-1, 1000, "fromBlock -1 is negative", range(1, 1000)],
    [1, -5, "toBlock -5 is negative", range(1, 1000)],
    [2001, 1000, "fromBlock 2001 is after toBlock 1000", range(2001, 3000)],
  ])("refuses %d to %d", (from, to, problem, nearest) => {
    expect(checkRange(whole, range(from, to))).toEqual({ valid: false, problem, nearest });
  });

  it("refuses a range over a gap", () => {
    expect(checkRange(segments(1, 1001, 3001), range(1, 4000))).toEqual({
      valid: false,
      problem: "the history has a gap after block 2000",
      nearest: range(1, 2000),
    });
  });

  it("refuses every range where there is no history", () => {
    expect(checkRange([], range(1, 1000))).toEqual({
      valid: false,
      problem: "fromBlock 1 is not the first block of a history segment",
      nearest: undefined,
    });
  });

  it("names a nearest range that is itself valid", () => {
    fc.assert(
      fc.property(history, block, block, (held, from, to) => {
        const check = checkRange(held, range(from, to));
        if (!check.valid) {
          expect(check.nearest).toBeDefined();
          expect(checkRange(held, check.nearest ?? range(0, 0)).valid).toBe(true);
        }
      }),
    );
  });
});

describe("snapRange", () => {
  it.each([
    [1, 1000, 1, 1000],
    [500, 500, 1, 1000],
    [1000, 1001, 1, 2000],
    [999, 4001, 1, 5000],
    [1001, 2999, 1001, 3000],
  ])("widens %d to %d to %d to %d", (from, to, first, last) => {
    const check = snapRange(whole, range(from, to));
    expect(contiguousSpans(check.valid ? check.segments : [])).toMatchObject([range(first, last)]);
  });

  it.each([
    [segments(1, 1001), range(1, 2500), "toBlock 2500 is in no history segment of the node", range(1, 2000)],
    [segments(2001), range(1, 3000), "fromBlock 1 is in no history segment of the node", range(2001, 3000)],
    [segments(1, 2001), range(10, 2500), "the history has a gap after block 1000", range(1, 1000)],
    [segments(1), range(20, 10), "fromBlock 20 is after toBlock 10", range(1, 1000)],
    [[], range(1, 1), "fromBlock 1 is in no history segment of the node", undefined],
  ])("does not make a range of what cannot be one", (held, asked, problem, nearest) => {
    expect(snapRange(held, asked)).toEqual({ valid: false, problem, nearest });
  });

  it("gives the smallest valid range that holds the one asked for, and leaves a valid one as it is", () => {
    fc.assert(
      fc.property(history, block, block, (held, from, to) => {
        const asked = range(from, to);
        const snapped = snapRange(held, asked);
        if (checkRange(held, asked).valid) {
          expect(snapped).toEqual(checkRange(held, asked));
        }
        if (snapped.valid) {
          const [span] = contiguousSpans(snapped.segments);
          expect(checkRange(held, span ?? asked)).toEqual(snapped);
          expect(asked.fromBlock - (span?.fromBlock ?? -1n)).toBeLessThan(1000n);
          expect((span?.toBlock ?? -1n) - asked.toBlock).toBeLessThan(1000n);
        }
      }),
    );
  });
});

describe("spans", () => {
  const mixed = segments(1, 1001, 3001, 4001, 6001).map((segment, index) => ({
    ...segment,
    databaseVersion: index < 3 ? 1n : 2n,
  }));

  it("are contiguous, with the gaps between them", () => {
    const spans = contiguousSpans(mixed);
    expect(spans.map(({ fromBlock, toBlock, segments }) => [fromBlock, toBlock, segments.length])).toEqual([
      [1n, 2000n, 2],
      [3001n, 5000n, 2],
      [6001n, 7000n, 1],
    ]);
    expect(gapsBetween(spans)).toEqual([range(2001, 3000), range(5001, 6000)]);
    expect(contiguousSpans([])).toEqual([]);
    expect(gapsBetween([])).toEqual([]);
  });

  it("have one schema version each", () => {
    expect(schemaSpans(mixed)).toMatchObject([
      { ...range(1, 2000), databaseVersion: 1n },
      { ...range(3001, 4000), databaseVersion: 1n },
      { ...range(4001, 5000), databaseVersion: 2n },
      { ...range(6001, 7000), databaseVersion: 2n },
    ]);
  });

  it("do not make a gap of segments that overlap", () => {
    const overlapping = [...segments(1), ...segments(501)];
    expect(contiguousSpans(overlapping)).toHaveLength(2);
    expect(gapsBetween(contiguousSpans(overlapping))).toEqual([]);
  });
});

describe("nearestText", () => {
  it("says what can be exported", () => {
    expect(nearestText(range(1, 2000))).toBe("the nearest valid range is 1 to 2000");
    expect(nearestText(undefined)).toBe("the node has no history yet");
  });
});
