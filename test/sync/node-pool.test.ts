import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { ConnectionError, type HistorySegment, NodeError, ProtocolError } from "tradewire";
import {
  DivergenceError,
  planHistory,
  SinkError,
  type SyncClient,
  type SyncEvent,
  syncStatus,
  verifySync,
} from "tradewire/sync";
import { jsonLinesSink } from "../support/json-lines-sink.js";
import { kinds, type Syncing, startSyncing } from "../support/syncing.js";

let syncing: Syncing;

beforeEach(async () => {
  syncing = await startSyncing();
});

afterEach(async () => {
  await syncing[Symbol.asyncDispose]();
});

const unreachable = new ConnectionError("refused", { code: Code.Unavailable, connected: false, advice: "Wait." });

/** A client of the node, which may list something else. */
function nodeOf(name: string, list: (segments: HistorySegment[]) => HistorySegment[]): SyncClient {
  const client = syncing.clientOf();
  return {
    name,
    exportNetworkHistory: client.exportNetworkHistory.bind(client),
    listSegments: async (options) => list(await client.listSegments(options)),
  };
}

const unchanged = (segments: HistorySegment[]) => segments;
const refused = () => {
  throw unreachable;
};
const withOtherEnd = (segments: HistorySegment[]) =>
  segments.map((segment, index) => (index < 3 ? segment : { ...segment, historySegmentId: "other" }));

/** The last blocks of the units that each node was asked for. */
function askedOf(events: readonly SyncEvent[]): Record<string, number[]> {
  const asked: Record<string, number[]> = {};
  for (const event of events) {
    if (event.kind === "began") {
      asked[event.node] = [...(asked[event.node] ?? []), Number(event.unit.toBlock)].sort((a, b) => a - b);
    }
  }
  return asked;
}

it("begins without a node that is away, and asks it for units once it has come back and was compared", async () => {
  let looks = 0;
  const late = nodeOf("late", (segments) => {
    looks += 1;
    return looks === 1 ? refused() : segments;
  });
  const { done, events } = syncing.sync({ parallel: 1, pollMs: 1 }, [nodeOf("here", unchanged), late]);
  expect(await done).toMatchObject({ units: 8, failed: [] });
  expect(events.filter((event) => event.kind === "unreachable")).toEqual([
    { kind: "unreachable", node: "late", error: unreachable },
  ]);
  expect(kinds(events).indexOf("unreachable")).toBeLessThan(kinds(events).indexOf("planned"));
  expect(looks).toBe(2);
  expect(Object.keys(askedOf(events)).sort()).toEqual(["here", "late"]);
  await syncing.expectAll("blocks");
});

it("asks no node for units that was away and comes back with another history, and names both", async () => {
  let looks = 0;
  const other = nodeOf("other", (segments) => {
    looks += 1;
    return looks < 5 ? refused() : withOtherEnd(segments);
  });
  const { done, events } = syncing.sync({ parallel: 1, pollMs: 1 }, [nodeOf("here", unchanged), other]);
  await expect(done).rejects.toThrow(ProtocolError);
  await expect(done).rejects.toThrow(
    /^here lists the segment 31 to 40 .*, but other lists the segment 31 to 40 \("other"\)/,
  );
  expect(askedOf(events)["other"]).toBeUndefined();
  expect(askedOf(events)["here"]).not.toBeUndefined();
});

it("asks no node for units that went away while it is followed, until it was compared again", async () => {
  const ending = new AbortController();
  let [looks, isAway] = [0, false];
  const leaving = nodeOf("leaving", (segments) => {
    looks += 1;
    isAway = looks > 1;
    return isAway ? refused() : segments;
  });
  let segments = 4;
  const askedWhileAway: string[] = [];
  const onEvent = (event: SyncEvent) => {
    if (event.kind === "began" && isAway) {
      askedWhileAway.push(event.node);
    }
    if (event.kind === "idle") {
      segments += 1;
      void (segments > 6 ? ending.abort() : syncing.makeSegment());
    }
  };
  const options = { follow: true, pollMs: 300, signal: ending.signal, hooks: { onEvent } };
  const { done } = syncing.sync(options, [nodeOf("here", unchanged), leaving]);
  await expect(done).rejects.toThrow("canceled");
  expect(new Set(askedWhileAway)).toEqual(new Set(["here"]));
  await syncing.expectAll("blocks", 6);
});

it("asks each node for what it has", async () => {
  const nodes = [
    nodeOf("none", () => []),
    nodeOf("behind", (segments) => segments.slice(0, 2)),
    nodeOf("young", (segments) => segments.slice(1)),
  ];
  const { done, events } = syncing.sync({ parallel: 2, segmentsPerExport: 9, tables: ["blocks"] }, nodes);
  expect(await done).toMatchObject({ failed: [], tables: [{ fromBlock: 1n, toBlock: 40n, missing: 0n }] });
  const asked = askedOf(events);
  expect(asked["none"]).toBeUndefined();
  expect(asked["behind"]?.every((block) => block <= 20)).toBe(true);
  expect(asked["behind"]?.length).toBeGreaterThan(0);
  expect(asked["young"]?.length).toBeGreaterThan(0);
  await syncing.expectAll("blocks");
});

it("gets from another node what one answers wrongly each time, or says that it lacks", async () => {
  const good = nodeOf("good", unchanged);
  for (const code of [Code.NotFound, Code.DataLoss]) {
    const refusal =
      code === Code.NotFound
        ? new NodeError({ code, message: "no such segment", details: [] })
        : new SinkError('the column height has "x"', { code, advice: "Tell who runs the node." });
    const liar: SyncClient = {
      ...nodeOf("liar", unchanged),
      exportNetworkHistory() {
        throw refusal;
      },
    };
    const { done, events } = syncing.sync({ parallel: 1 }, [liar, good]);
    expect(await done).toMatchObject({ failed: [], tables: [{ missing: 0n }, { missing: 0n }] });
    expect(events).toContainEqual(expect.objectContaining({ kind: "failed", error: refusal, attempt: 1 }));
    await syncing.makeSegment();
  }
});

it("goes on following a node that has to catch up", async () => {
  const ending = new AbortController();
  let looks = 0;
  let idles = 0;
  const node = nodeOf("restored", (segments) => {
    looks += 1;
    return looks === 2 ? segments.slice(0, 2) : looks === 3 ? [] : segments;
  });
  const onEvent = (event: SyncEvent) => {
    if (event.kind === "idle") {
      idles += 1;
      void (idles === 1 ? syncing.makeSegment() : looks > 3 ? ending.abort() : undefined);
    }
  };
  const { done, events } = syncing.sync({ follow: true, pollMs: 50, signal: ending.signal, hooks: { onEvent } }, node);
  await expect(done).rejects.toThrow("canceled");
  const ends = events.flatMap((event) =>
    event.kind === "planned" ? [Number(event.history.segments.at(-1)?.toBlock)] : [],
  );
  expect(ends.every((end, index) => end >= (ends[index - 1] ?? 40))).toBe(true);
  expect(ends.at(-1)).toBe(50);
  await syncing.expectAll("trades", 5);
});

it("waits for units that no node has for the moment, and asks for them once one has", async () => {
  let [looks, isBack] = [0, false];
  const full = nodeOf("full", (segments) => {
    looks += 1;
    return looks === 1 || isBack ? segments : refused();
  });
  const behind = nodeOf("behind", (segments) => (looks < 2 ? refused() : segments.slice(0, 1)));
  const onEvent = (event: SyncEvent) => {
    isBack ||= event.kind === "waiting";
  };
  const { done, events } = syncing.sync({ parallel: 1, pollMs: 1, hooks: { onEvent } }, [full, behind]);
  expect(await done).toMatchObject({ units: 8, failed: [] });
  expect(kinds(events)).toContain("waiting");
  await syncing.expectAll("trades");
});

it("fetches what a node has that ends before a gap, if it continues what is there, and names the rest", async () => {
  const sink = () => jsonLinesSink(syncing.folder);
  const tables = ["trades", "blocks"] as const;
  const gapsOf = (fromBlock: bigint, toBlock: bigint) => tables.map((table) => ({ table, fromBlock, toBlock }));
  const old = nodeOf("old", (segments) => segments.slice(0, 2));
  const late = nodeOf("late", (segments) => segments.slice(3));
  const stranger = nodeOf("stranger", (segments) =>
    segments.slice(1, 2).map((segment) => ({ ...segment, previousHistorySegmentId: "other" })),
  );
  await syncing.sync({ range: { toBlock: 10 } }, [old]).done;
  const clients = [stranger, late];
  expect(await syncing.sync({}, clients).done).toMatchObject({ units: 2, gaps: gapsOf(11n, 30n) });
  expect(await syncStatus(sink(), { clients })).toMatchObject({ missing: [], gaps: gapsOf(11n, 30n) });

  const both = [old, late];
  const missing = tables.map((table) => ({ table, missing: 1n }));
  expect(await syncStatus(sink(), { clients: both })).toMatchObject({
    tables: missing.map((table) => ({ ...table, gapBlocks: 10n })),
    missing: tables.map((table) => ({ table, segment: { fromBlock: 11n, toBlock: 20n } })),
    gaps: gapsOf(21n, 30n),
  });
  expect(await planHistory(both, { sink: sink(), tables })).toMatchObject({ tables: missing, gaps: gapsOf(21n, 30n) });
  expect(await verifySync(sink(), { clients: both })).toMatchObject({ missing: 2n, gaps: gapsOf(21n, 30n) });
  const { done, events } = syncing.sync({}, both);
  expect(await done).toMatchObject({ units: 2, failed: [], gaps: gapsOf(21n, 30n) });
  expect(askedOf(events)).toEqual({ old: [20, 20] });
  expect(await verifySync(sink(), { clients: both })).toMatchObject({ units: 6, missing: 0n, gaps: gapsOf(21n, 30n) });
});

it("gives up after its patience where no node has what is missing", async () => {
  let looks = 0;
  const full = nodeOf("full", (segments) => {
    looks += 1;
    return looks > 1 ? segments.slice(0, 1) : segments;
  });
  const late = nodeOf("late", (segments) => (looks > 1 ? segments.slice(0, 1) : refused()));
  const { done } = syncing.sync({ parallel: 1, pollMs: 1, retryForMs: 300 }, [full, late]);
  await expect(done).rejects.toThrow(/^no reachable node lists blocks .* of (trades|blocks) up to segment /);
});

it("stops following a node whose history becomes another one", async () => {
  const before = syncing.node.snapshot();
  await syncing.makeSegment();
  let idles = 0;
  const onEvent = (event: SyncEvent) => {
    if (event.kind === "idle") {
      idles += 1;
      if (idles === 1) {
        syncing.node.revert(before);
      } else if (idles === 2) {
        syncing.node.setTime("2031-01-01T00:00:00Z");
        void syncing.makeSegment();
      }
    }
  };
  const { done } = syncing.sync({ follow: true, pollMs: 50, hooks: { onEvent } });
  await expect(done).rejects.toThrow(DivergenceError);
  await expect(done).rejects.toThrow(
    /^the history of the node changed: it had the segment 41 to 50 .*, and now has the segment 41 to 50 /,
  );
});
