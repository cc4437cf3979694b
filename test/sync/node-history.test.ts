import { Code } from "@connectrpc/connect";
import { describe, expect, it, test } from "@jest/globals";
import { CanceledError, type HistorySegment, ProtocolError, RequestError } from "tradewire";
import type { SyncClient } from "tradewire/sync";
import { readHistory } from "../../src/sync/node-history.js";
import { listingClient, segments } from "../support/made-history.js";
import { checkHistory } from "./inside.js";

const { signal } = new AbortController();

const historyOf = (...listings: (HistorySegment[] | Error)[]) =>
  readHistory(
    listings.map((listed, index) => listingClient(["a", "b", "c"][index], listed)),
    signal,
  );

describe("checkHistory", () => {
  it("gives the segments", () => {
    const { chainId, segments: checked } = checkHistory(segments(2, 3, { 3: { databaseVersion: 117n } }));
    expect(chainId).toBe("chain-1");
    expect(checked).toEqual([
      { fromBlock: 11n, toBlock: 20n, id: "id-2", previousId: "id-1", schemaVersion: 116n },
      { fromBlock: 21n, toBlock: 30n, id: "id-3", previousId: "id-2", schemaVersion: 117n },
    ]);
    expect(checkHistory([])).toEqual({ chainId: "", segments: [] });
    const longest = "~".repeat(128);
    expect(checkHistory(segments(1, 1, { 1: { historySegmentId: longest } })).segments[0]?.id).toBe(longest);
  });

  test.each<[string, Partial<Record<number, Partial<HistorySegment>>>, string]>([
    ["a height of 0", { 1: { fromHeight: 0n } }, 'the segment 0 to 10 ("id-1"), which is not a valid range of blocks'],
    [
      "a reversed range",
      { 2: { toHeight: 10n } },
      'the segment 11 to 10 ("id-2"), which is not a valid range of blocks',
    ],
    [
      "a height that no chain has",
      { 2: { toHeight: 2n ** 53n } },
      'the segment 11 to 9007199254740992 ("id-2"), which is not a valid range of blocks',
    ],
    [
      "a schema version that no database has",
      { 2: { databaseVersion: 2n ** 63n - 1n } },
      "with the invalid schema version 9223372036854775807",
    ],
    [
      "an overlap",
      { 2: { fromHeight: 10n } },
      'the segment 10 to 20 ("id-2") after the segment 1 to 10 ("id-1"), which it overlaps or precedes',
    ],
    [
      "a gap",
      { 2: { fromHeight: 12n } },
      'a history with a gap: the segment 12 to 20 ("id-2") follows the segment 1 to 10 ("id-1")',
    ],
    [
      "another one before",
      { 2: { previousHistorySegmentId: "id-0" } },
      'the segment 11 to 20 ("id-2") after "id-0", but the previous segment is the segment 1 to 10 ("id-1")',
    ],
    ["none before", { 2: { previousHistorySegmentId: "" } }, 'after "", but'],
    ["no identifier", { 1: { historySegmentId: "" } }, 'the segment 1 to 10 (""): an ID must have 1 to 128 visible'],
    ["a line break", { 1: { historySegmentId: "a\nb" } }, '("a\\nb"): an ID must have'],
    ["a space", { 1: { historySegmentId: "a b" } }, '("a b"): an ID must have'],
    ["more than ASCII", { 1: { historySegmentId: "é" } }, '("é"): an ID must have'],
    ["a long identifier", { 1: { historySegmentId: "x".repeat(129) } }, "an ID must have 1 to 128"],
    ["an unsafe one before", { 1: { previousHistorySegmentId: "\u001b[2J" } }, 'after "\\u001b[2J": an ID must have'],
    [
      "an identifier twice",
      { 2: { historySegmentId: "id-1" }, 3: { previousHistorySegmentId: "id-1" } },
      'the ID of the segment 11 to 20 ("id-1") twice',
    ],
    ["no chain", { 1: { chainId: "" } }, 'the segment 1 to 10 ("id-1") of chain ""'],
    ["an unsafe chain", { 1: { chainId: "../x" } }, 'of chain "../x"'],
    ["a long chain", { 1: { chainId: "x".repeat(51) } }, "of chain"],
    [
      "two chains",
      { 2: { chainId: "chain-2" } },
      'the segment 11 to 20 ("id-2") of chain "chain-2", but the segment 1 to 10 ("id-1") of "chain-1"',
    ],
    ["no schema version", { 3: { databaseVersion: 0n } }, '("id-3") with the invalid schema version 0'],
  ])("refuses %s", (_, more, message) => {
    const check = () => checkHistory(segments(1, 3, more), "node a");
    expect(check).toThrow(ProtocolError);
    expect(check).toThrow(message);
    expect(check).toThrow(/^node a lists .*\nNothing was changed\./);
  });

  it("refuses more segments than the limit without a look at them", () => {
    const error = (() => {
      try {
        return checkHistory(new Array<HistorySegment>(10_000_001));
      } catch (reason) {
        return reason;
      }
    })();
    expect(error).toMatchObject({
      code: Code.ResourceExhausted,
      summary: expect.stringContaining("10000001 segments"),
    });
  });
});

describe("readHistory", () => {
  it("gives the history of one node", async () => {
    expect(await historyOf(segments(1, 3))).toMatchObject(checkHistory(segments(1, 3)));
    expect(await historyOf([])).toMatchObject({ chainId: "", segments: [] });
    await expect(readHistory([], signal)).rejects.toThrow(RequestError);
  });

  it("names nodes without names by their number", async () => {
    const broken = segments(1, 1, { 1: { fromHeight: 0n } });
    const nodes = [listingClient(undefined, segments(1, 1)), listingClient(undefined, broken)];
    await expect(readHistory(nodes, signal)).rejects.toThrow("node 2 lists the segment 0 to 10");
    await expect(readHistory(nodes.slice(1), signal)).rejects.toThrow("the node lists the segment 0 to 10");
  });

  it("fails with the error of a call, and ends the others", async () => {
    const down = new RequestError("down", { advice: "Wait." });
    let ended = false;
    const waiting: SyncClient = {
      ...listingClient("b", []),
      listSegments: (options) =>
        new Promise((_, reject) => {
          options?.signal?.addEventListener("abort", () => {
            ended = true;
            reject(new CanceledError());
          });
        }),
    };
    await expect(readHistory([waiting, listingClient("a", down)], signal)).rejects.toBe(down);
    expect(ended).toBe(true);
    const ending = new AbortController();
    const reading = readHistory([waiting], ending.signal);
    ending.abort();
    await expect(reading).rejects.toThrow(CanceledError);
  });
});
