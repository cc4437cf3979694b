import { Code } from "@connectrpc/connect";
import { describe, expect, it, test } from "@jest/globals";
import { ConnectionError, type HistorySegment, ProtocolError, RequestError } from "tradewire";
import { DivergenceError, type NodeHistory, type SyncClient, type Unit } from "tradewire/sync";
import type { MergedHistory } from "../../src/sync/node-history.js";
import { listingClient, segments } from "../support/made-history.js";
import { checkHistory, readHistory } from "./inside.js";

const { signal } = new AbortController();
const unreachable = new ConnectionError("refused", { code: Code.Unavailable, connected: false, advice: "Wait." });

type Listed = HistorySegment[] | Error;

async function look(listings: readonly Listed[], known?: NodeHistory) {
  const clients = listings.map((listed, index) => listingClient(["a", "b", "c"][index], listed));
  return { clients, history: await readHistory(clients, signal, known) };
}

const numbersOf = ({ segments: all }: NodeHistory) => all.map(({ toBlock }) => Number(toBlock) / 10);

/** The unit of a table from one segment to another. */
function unit(first: number, last = first): Unit {
  const { fromBlock, previousId } = checkHistory(segments(first, last)).segments[0] ?? {
    fromBlock: 0n,
    previousId: "",
  };
  const ends = { toBlock: BigInt(last * 10), segmentId: `id-${last}`, previousSegmentId: previousId };
  return { chainId: "chain-1", table: "trades", schemaVersion: 116n, fromBlock, ...ends };
}

/** For each client, which of the segments 1 to 9 it has. */
function holdings(clients: readonly SyncClient[], history: MergedHistory): number[][] {
  const numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  return clients.map((client) => numbers.filter((number) => history.has(client, unit(number))));
}

describe("agreeOn", () => {
  test.each<[string, Listed[], number[], number[][]]>([
    [
      "an overlap",
      [segments(1, 4), segments(3, 6)],
      [1, 2, 3, 4, 5, 6],
      [
        [1, 2, 3, 4],
        [3, 4, 5, 6],
      ],
    ],
    [
      "one in another",
      [segments(3, 4), segments(1, 6)],
      [1, 2, 3, 4, 5, 6],
      [
        [3, 4],
        [1, 2, 3, 4, 5, 6],
      ],
    ],
    [
      "neighbours",
      [segments(1, 2), segments(3, 4)],
      [1, 2, 3, 4],
      [
        [1, 2],
        [3, 4],
      ],
    ],
    [
      "a gap",
      [segments(1, 2), segments(5, 6)],
      [5, 6],
      [
        [1, 2],
        [5, 6],
      ],
    ],
    [
      "a gap that a third one fills",
      [segments(1, 2), segments(5, 6), segments(2, 5)],
      [1, 2, 3, 4, 5, 6],
      [
        [1, 2],
        [5, 6],
        [2, 3, 4, 5],
      ],
    ],
    ["none yet", [[], segments(1, 2)], [1, 2], [[], [1, 2]]],
    ["one away", [segments(1, 2), unreachable, segments(2, 3)], [1, 2, 3], [[1, 2], [], [2, 3]]],
  ])("puts together what nodes have: %s", async (_, listings, numbers, held) => {
    const { clients, history } = await look(listings);
    expect([history.chainId, numbersOf(history)]).toEqual(["chain-1", numbers]);
    expect(holdings(clients, history)).toEqual(held);
    expect(history.unreachable).toEqual(listings.includes(unreachable) ? [{ node: "b", error: unreachable }] : []);
  });

  it("tells who has a unit of several segments", async () => {
    const { clients, history } = await look([segments(1, 4), segments(3, 6)]);
    const [a, b] = clients;
    expect(a && b && [history.has(a, unit(1, 4)), history.has(b, unit(1, 4))]).toEqual([true, false]);
    expect([history.isAvailable(unit(2, 5)), history.isAvailable(unit(3, 5))]).toEqual([false, true]);
    expect(history.isAvailable({ ...unit(3), segmentId: "x" })).toBe(false);
    expect(history.isAvailable({ ...unit(3), toBlock: 29n })).toBe(false);
  });

  test.each<[string, HistorySegment[][], string]>([
    [
      "another identifier",
      [segments(1, 3), segments(2, 4, { 2: { historySegmentId: "x" }, 3: { previousHistorySegmentId: "x" } })],
      'b lists the segment 11 to 20 ("x") of schema version 116 after "id-1", but a lists the segment 11 to 20 ("id-2") of schema version 116 after "id-1"',
    ],
    [
      "another one before the first of both",
      [segments(1, 3), segments(2, 4, { 2: { previousHistorySegmentId: "x" } })],
      'b lists the segment 11 to 20 ("id-2") of schema version 116 after "x", but a lists the segment 11 to 20 ("id-2") of schema version 116 after "id-1"',
    ],
    [
      "another one before the first of one",
      [segments(1, 2), segments(3, 4, { 3: { previousHistorySegmentId: "x" } })],
      'b lists the segment 21 to 30 ("id-3") of schema version 116 after "x", but a lists the segment 11 to 20 ("id-2")',
    ],
    [
      "another schema version",
      [segments(1, 1), segments(1, 1), segments(1, 1, { 1: { databaseVersion: 115n } })],
      'a lists the segment 1 to 10 ("id-1") of schema version 116 after "", but c lists the segment 1 to 10 ("id-1") of schema version 115',
    ],
    [
      "other blocks",
      [segments(1, 2), segments(1, 1, { 1: { toHeight: 20n } })],
      'a lists the segment 1 to 10 ("id-1") of schema version 116 after "", but b lists the segment 1 to 20 ("id-1")',
    ],
    [
      "a segment across the first block of the other",
      [segments(2, 2), segments(1, 1, { 1: { toHeight: 15n } })],
      'a lists the segment 11 to 20 ("id-2") of schema version 116 after "id-1", but b lists the segment 1 to 15 ("id-1")',
    ],
    [
      "another chain",
      [segments(1, 1), segments(5, 5, { 5: { chainId: "chain-2" } })],
      "a is on chain chain-1, but b is on chain chain-2",
    ],
  ])("names both nodes where they differ: %s", async (_, listings, message) => {
    const looking = look(listings);
    await expect(looking).rejects.toThrow(ProtocolError);
    await expect(looking).rejects.toThrow(message);
    await expect(looking).rejects.toThrow("\nNothing was changed. All nodes of a sync must have the same history");
  });

  it("fails where all nodes are away, or one fails for good", async () => {
    await expect(look([unreachable, unreachable])).rejects.toBe(unreachable);
    const wrong = new RequestError("wrong", { advice: "Change it." });
    await expect(look([segments(1, 2), wrong])).rejects.toBe(wrong);
  });
});

describe("agreeOn, beside what was known", () => {
  const known = checkHistory(segments(3, 6));

  test.each<[string, Listed[], number[], number[][]]>([
    ["goes on", [segments(3, 8)], [3, 4, 5, 6, 7, 8], [[3, 4, 5, 6, 7, 8]]],
    ["has dropped the oldest", [segments(5, 8)], [5, 6, 7, 8], [[5, 6, 7, 8]]],
    [
      "has dropped the oldest, while another is away",
      [segments(5, 8), unreachable],
      [3, 4, 5, 6, 7, 8],
      [[5, 6, 7, 8], []],
    ],
    ["has dropped all that was known", [segments(7, 8)], [7, 8], [[7, 8]]],
    ["has even dropped what came next", [segments(8, 9)], [8, 9], [[8, 9]]],
    ["has got older ones", [segments(1, 6)], [1, 2, 3, 4, 5, 6], [[1, 2, 3, 4, 5, 6]]],
    ["has to catch up", [segments(2, 4)], [2, 3, 4, 5, 6], [[2, 3, 4]]],
    ["has to catch up, just before what was known", [segments(1, 2)], [1, 2, 3, 4, 5, 6], [[1, 2]]],
    ["has to catch up from far before: not compared", [segments(1, 1)], [3, 4, 5, 6], [[]]],
    ["has nothing for the moment", [[]], [3, 4, 5, 6], [[]]],
  ])("is no parting where the node %s", async (_, listings, numbers, held) => {
    const { clients, history } = await look(listings, known);
    expect([history.chainId, numbersOf(history)]).toEqual(["chain-1", numbers]);
    expect(holdings(clients, history)).toEqual(held);
  });

  test.each<[string, HistorySegment[], string]>([
    [
      "another segment",
      segments(3, 8, { 6: { historySegmentId: "x" }, 7: { previousHistorySegmentId: "x" } }),
      'it had the segment 51 to 60 ("id-6") of schema version 116 after "id-5", and now has the segment 51 to 60 ("x")',
    ],
    [
      "another segment, and fewer",
      segments(3, 4, { 4: { historySegmentId: "x" } }),
      'it had the segment 31 to 40 ("id-4") of schema version 116 after "id-3", and now has the segment 31 to 40 ("x")',
    ],
    ["other boundaries", segments(5, 6, { 6: { toHeight: 65n } }), 'and now has the segment 51 to 65 ("id-6")'],
    [
      "other boundaries, and fewer",
      segments(4, 5, { 5: { toHeight: 45n } }),
      'and now has the segment 41 to 45 ("id-5")',
    ],
    [
      "another segment",
      segments(7, 8, { 7: { previousHistorySegmentId: "x" } }),
      'it had the segment 51 to 60 ("id-6") of schema version 116 after "id-5", and now has the segment 61 to 70 ("id-7") of schema version 116 after "x"',
    ],
    ["another chain", segments(3, 3, { 3: { chainId: "chain-2" } }), 'its chain changed from "chain-1" to "chain-2"'],
  ])("is a parting where the node has %s", async (_, listed, message) => {
    const looking = look([listed], known);
    await expect(looking).rejects.toThrow(DivergenceError);
    await expect(looking).rejects.toThrow("the history of a changed: ");
    await expect(looking).rejects.toThrow(message);
  });
});
