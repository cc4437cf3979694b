import { describe, expect, it } from "@jest/globals";
import { ProtocolError, RequestError } from "tradewire";
import { type FollowTarget, nextSegments } from "../../../src/trade/live/next-segments.js";
import { segments } from "../../support/made-history.js";
import type { FollowPosition } from "./inside.js";

const nothing: FollowTarget = { position: undefined, fromBlock: undefined, toBlock: undefined };
/** Behind the segment with this number, or inside it. */
const behind = (number: number, part?: FollowPosition["part"]): FollowTarget => ({
  ...nothing,
  position: {
    chainId: "chain-1",
    table: "trades",
    fromBlock: BigInt(number * 10 - 9),
    toBlock: BigInt(number * 10),
    segmentId: `id-${number}`,
    part,
  },
});
const part = { rows: 3, digest: "0123456789012345678901" };
const ids = (...given: Parameters<typeof nextSegments>) => nextSegments(...given).segments.map(({ id }) => id);
function errorOf(...given: Parameters<typeof nextSegments>): Error {
  try {
    nextSegments(...given);
  } catch (error) {
    if (error instanceof Error) {
      return error;
    }
  }
  throw new Error("it is taken");
}

describe("the segments that come next", () => {
  it("are those from the block on, or from the first that the node has", () => {
    expect(ids(segments(3, 5), nothing)).toEqual(["id-3", "id-4", "id-5"]);
    expect(ids(segments(3, 5), { ...nothing, fromBlock: 31n })).toEqual(["id-4", "id-5"]);
    expect(ids(segments(3, 5), { ...nothing, fromBlock: 40n })).toEqual(["id-4", "id-5"]);
    expect(ids(segments(3, 5), { ...nothing, fromBlock: 21n, toBlock: 31n })).toEqual(["id-3", "id-4"]);
    expect(nextSegments(segments(3, 5), { ...nothing, fromBlock: 51n })).toEqual({
      chainId: "chain-1",
      segments: [],
      isBehind: false,
    });
    expect(ids([], { ...nothing, fromBlock: 1n })).toEqual([]);
  });

  it("are those behind what was handed out, with the rest of a segment", () => {
    expect(ids(segments(1, 5), behind(3))).toEqual(["id-4", "id-5"]);
    expect(ids(segments(1, 5), behind(3, part))).toEqual(["id-3", "id-4", "id-5"]);
    expect(ids(segments(1, 3), behind(3))).toEqual([]);
    expect(ids(segments(4, 5), behind(3))).toEqual(["id-4", "id-5"]); // The node has dropped what came whole.
  });

  it("are a part of a long listing", () => {
    const some = ids(segments(1, 5000), behind(7));
    expect([some[0], some.length < 2000]).toEqual(["id-8", true]);
    expect(ids(segments(1, 5000), behind(4999))).toEqual(["id-5000"]);
  });

  it("are waited for where the node's history ends before the position", () => {
    expect(nextSegments(segments(1, 2), behind(3))).toMatchObject({ segments: [], isBehind: true });
    expect(nextSegments([], behind(3, part))).toMatchObject({ segments: [], isBehind: true });
    expect(nextSegments(segments(1, 3), behind(3))).toMatchObject({ segments: [], isBehind: false });
  });

  it("are refused where they begin behind the first block", () => {
    const error = errorOf(segments(3, 5), { ...nothing, fromBlock: 20n });
    expect(error).toBeInstanceOf(RequestError);
    expect(error.message).toMatch(/^fromBlock 20 is before the first block of the node's history, 21$/m);
  });

  const off = { fromHeight: 36n, toHeight: 45n };
  it.each([
    [
      "a dropped segment",
      segments(5, 7),
      behind(3),
      /does not list the blocks 31 to 40, .* segment 41 to 50 \("id-5"\)/,
    ],
    ["a dropped part", segments(4, 7), behind(3, part), /does not list the blocks 21 to 30, which come next/],
    ["a gap ahead", [...segments(1, 2), ...segments(5, 7)], behind(2), /gap: the segment 41 to 50 .* 11 to 20/],
    ["a gap at the start", [...segments(1, 2), ...segments(5, 7)], { ...nothing, fromBlock: 25n }, /blocks 25 to 40/],
    ["a gap", [...segments(1, 3), ...segments(5, 7)], behind(1), /a history with a gap: the segment 41 to 50/],
    [
      "another identifier",
      segments(1, 3, { 3: { historySegmentId: "x" } }),
      behind(3),
      /"id-3"\) was followed.*\("x"\)/,
    ],
    ["another one before", segments(4, 5, { 4: { previousHistorySegmentId: "x" } }), behind(3), /"id-4"\) after "x"/],
    ["other blocks", segments(4, 4, { 4: off }), behind(4), /segment 31 to 40 \("id-4"\) was.*segment 36 to 45/],
  ])("are refused where the history has %s", (_, listed, wanted, message) => {
    const error = errorOf(listed, wanted);
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error.message).toMatch(message);
  });

  it("are refused where they are of another chain", () => {
    const other = { chainId: "chain-2" };
    const error = errorOf(segments(1, 4, { 1: other, 2: other, 3: other, 4: other }), behind(3));
    expect(error.message).toMatch(/^the node is on chain "chain-2", but the cursor belongs to chain "chain-1"$/m);
  });
});
