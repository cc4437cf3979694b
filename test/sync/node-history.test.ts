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
    ["a height of 0", { 1: { fromHeight: 0n } }, 'the segment 0 to 10 ("id-1"), which is no range of blocks'],
    ["a reversed range", { 2: { toHeight: 10n } }, 'the segment 11 to 10 ("id-2"), which is no range of blocks'],
    [
      "a height that no chain has",
      { 2: { toHeight: 2n ** 53n } },
      'the segment 11 to 9007199254740992 ("id-2"), which is no range of blocks',
    ],
    [
      "a schema version that no database has",
      { 2: { databaseVersion: 2n ** 63n - 1n } },
      "with version 9223372036854775807 of the database schema",
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
      'the segment 11 to 20 ("id-2") as one that follows "id-0", but the one before it is the segment 1 to 10 ("id-1")',
    ],
    ["none before", { 2: { previousHistorySegmentId: "" } }, 'as one that follows "", but'],
    ["no identifier", { 1: { historySegmentId: "" } }, 'the segment 1 to 10 (""): an identifier has 1 to 128 visible'],
    ["a line break", { 1: { historySegmentId: "a\nb" } }, '("a\\nb"): an identifier has'],
    ["a space", { 1: { historySegmentId: "a b" } }, '("a b"): an identifier has'],
    ["more than ASCII", { 1: { historySegmentId: "é" } }, '("é"): an identifier has'],
    ["a long identifier", { 1: { historySegmentId: "x".repeat(129) } }, "an identifier has 1 to 128"],
    ["an unsafe one before", { 1: { previousHistorySegmentId: "\u001b[2J" } }, 'after "\\u001b[2J": an identifier has'],
    [
      "an identifier twice",
      { 2: { historySegmentId: "id-1" }, 3: { previousHistorySegmentId: "id-1" } },
      'the identifier of the segment 11 to 20 ("id-1") a second time',
    ],
    ["no chain", { 1: { chainId: "" } }, 'the segment 1 to 10 ("id-1") as one of the chain ""'],
    ["an unsafe chain", { 1: { chainId: "../x" } }, 'as one of the chain "../x"'],
    ["a long chain", { 1: { chainId: "x".repeat(51) } }, "as one of the chain"],
    [
      "two chains",
      { 2: { chainId: "chain-2" } },
      'the segment 11 to 20 ("id-2") as one of the chain "chain-2", but the segment 1 to 10 ("id-1") of "chain-1"',
    ],
    ["no schema version", { 3: { databaseVersion: 0n } }, '("id-3") with version 0 of the database schema'],
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
