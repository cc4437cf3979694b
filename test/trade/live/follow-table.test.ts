import { getEventListeners } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
  CanceledError,
  type FollowEvent,
  type FollowOptions,
  type FollowRequest,
  ProtocolError,
  RequestError,
} from "tradewire";
import type { FollowClient } from "../../../src/trade/live/follow-table.js";
import { standsStill } from "../../support/eventually.js";
import { segments } from "../../support/made-history.js";
import { taken } from "../../support/taken.js";
import { runs } from "../../support/tier.js";
import { createFollowing } from "./inside.js";
import { counted, keptHistory } from "./kept-history.js";

const follow = (client: FollowClient, options?: FollowOptions, request?: Partial<FollowRequest>) =>
  createFollowing(client).follow({ table: "blocks", ...request }, options);

/** The heights up to an error, the last cursor, and the error. */
async function heightsOf(items: ReturnType<typeof follow>) {
  const { values, error } = await taken(items);
  const heights = values.flatMap(({ rows }) => rows.map((row) => Number(row["height"])));
  return { heights, cursor: values.at(-1)?.cursor, error };
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe("a follow", () => {
  it("hands out the rows of each segment, and says which came whole", async () => {
    const node = keptHistory(counted([3, 0, 2]));
    const { values } = await taken(follow(node, {}, { toBlock: 30 }));
    expect(values.map(({ rows, complete, segment }) => [segment.toBlock, rows.length, complete])).toEqual([
      [10n, 3, false],
      [10n, 0, true],
      [20n, 0, true],
      [30n, 2, false],
      [30n, 0, true],
    ]);
    const [first] = values;
    expect(first?.columns).toEqual(["vega_time", "height", "hash"]);
    expect(first?.rows[0]).toEqual({ vega_time: "2023-10-19 08:13:00.123456+00", height: "1", hash: "\\x0aff" });
    expect(first?.segment).toMatchObject({ chainId: "chain-1", table: "blocks", id: "id-1", schemaVersion: 116n });
    expect(first?.cursor).toMatch(/^[A-Za-z0-9_-]{1,200}$/);
  });

  it("types the rows where that is asked for, and gives each segment its own columns", async () => {
    const node = keptHistory(counted([1, 1]));
    node.more = { 2: ["fee"] };
    const told: string[] = [];
    const onUnknown = ({ column }: { readonly column: string }) => void told.push(column);
    const items = createFollowing(node).follow({ table: "blocks", toBlock: 20 }, { typed: true, onUnknown });
    const rows = (await taken(items)).values.flatMap((item) => item.rows);
    const typed = { vega_time: "2023-10-19T08:13:00.123456Z", hash: "0aff" };
    expect(rows).toEqual([
      { ...typed, height: 1n },
      { ...typed, height: 2n, fee: "x" },
    ]);
    expect(told).toEqual(["fee"]);
  });

  it("begins with the segment that holds the first block, and ends with that of the last", async () => {
    const node = keptHistory(counted([2, 2, 2, 2]));
    expect((await heightsOf(follow(node, {}, { fromBlock: 15, toBlock: 21 }))).heights).toEqual([3, 4, 5, 6]);
    const { cursor } = await heightsOf(follow(node, {}, { toBlock: 10 }));
    expect((await heightsOf(follow(node, { cursor }, { fromBlock: 1, toBlock: 20 }))).heights).toEqual([3, 4]);
    expect((await heightsOf(follow(node, { cursor }, { toBlock: 5 }))).heights).toEqual([]);
  });

  it("goes on with new segments, and fetches nothing twice", async () => {
    const node = keptHistory(counted([2, 2, 2, 2]));
    node.listed = [];
    const events: string[] = [];
    const onEvent = (event: FollowEvent) => {
      events.push(event.kind === "began" ? String(event.segment.toBlock) : event.kind);
      if (event.kind === "idle") {
        node.listed = segments(1, node.listed.length + 2);
      }
    };
    const { heights } = await heightsOf(follow(node, { pollMs: 1, onEvent }, { toBlock: 40 }));
    expect(heights).toEqual(range(1, 8));
    expect(events).toEqual(["idle", "10", "20", "idle", "30", "40"]);
    expect(node.exported).toEqual([1n, 11n, 21n, 31n]);
  });

  it("begins with a segment that is yet to come", async () => {
    const node = keptHistory(counted([1, 1, 1]));
    node.listed = segments(1, 1);
    const onEvent = ({ kind: what }: FollowEvent) => {
      node.listed = what === "idle" ? segments(1, 3) : node.listed;
    };
    const { heights } = await heightsOf(follow(node, { pollMs: 1, onEvent }, { fromBlock: 25, toBlock: 30 }));
    expect(heights).toEqual([3]);
  });

  it("fetches a segment again whose archive was cut, and hands out each row once", async () => {
    const node = keptHistory(counted([9000, 9000]));
    node.cuts = [0.8, 0.4];
    const waiting: FollowEvent[] = [];
    const onEvent = (event: FollowEvent) => void (event.kind === "waiting" && waiting.push(event));
    const { heights, error } = await heightsOf(follow(node, { onEvent }, { toBlock: 20 }));
    expect(error).toBeUndefined();
    expect(heights).toEqual(range(1, 18_000));
    expect(waiting).toMatchObject([{ error: { name: "ProtocolError" } }, { error: { name: "ProtocolError" } }]);
    expect(node.exported).toEqual([1n, 1n, 1n, 11n]);
  });

  it("throws where the rows are others than those that were handed out", async () => {
    const node = keptHistory(counted([9000]));
    node.cuts = [0.9];
    const first = await heightsOf(follow(node, { attempts: 1 }));
    expect(first.error).toBeInstanceOf(ProtocolError);
    expect(first.heights.length).toBeGreaterThan(1000);
    for (const [heights, now] of [
      [range(2, 9001), "others"],
      [range(1, 5), "5 in all"],
    ] as const) {
      node.heights = [heights];
      const { heights: further, error } = await heightsOf(follow(node, { attempts: 1, cursor: first.cursor }));
      expect(further).toEqual([]);
      expect(error).toBeInstanceOf(ProtocolError);
      expect(String(error)).toContain(`${first.heights.length} were delivered, and now there are ${now}\n`);
    }
  });

  it("says which blocks are gone where the node has dropped what comes next", async () => {
    const node = keptHistory(counted([1, 1, 1, 1]));
    const onEvent = ({ kind: what }: FollowEvent) => {
      node.listed = what === "idle" ? segments(4, 4) : node.listed;
    };
    node.listed = segments(1, 2);
    const { heights, error } = await heightsOf(follow(node, { pollMs: 1, onEvent }));
    expect(heights).toEqual([1, 2]);
    expect(String(error)).toContain("does not list the blocks 21 to 30, which come next");
  });

  it("waits for a node that has to catch up, and throws where it then has another history", async () => {
    const node = keptHistory(counted([1, 1, 1]));
    const { cursor } = await heightsOf(follow(node, {}, { toBlock: 20 }));
    node.listed = segments(1, 1);
    const events: string[] = [];
    const onEvent = ({ kind: what }: FollowEvent) => {
      events.push(what);
      node.listed = segments(1, 3, { 2: { historySegmentId: "x" }, 3: { previousHistorySegmentId: "x" } });
    };
    const { heights, error } = await heightsOf(follow(node, { cursor, pollMs: 1, onEvent }));
    expect([heights, events]).toEqual([[], ["behind"]]);
    expect(String(error)).toContain('the histories diverge: the segment 11 to 20 ("id-2") was followed, but');
  });
});

it("gives each row once, wherever it is cut and left, with a cursor behind any row", async () => {
  const size = fc.oneof({ weight: 3, arbitrary: fc.nat(20) }, fc.integer({ min: 5000, max: 9000 }));
  const stop = fc.oneof(fc.record({ cut: fc.integer({ min: 0, max: 99 }) }), fc.record({ rows: fc.nat(9000) }));
  await fc.assert(
    fc.asyncProperty(fc.array(size, { minLength: 1, maxLength: 4 }), fc.array(stop), async (sizes, stops) => {
      const node = keptHistory(counted(sizes));
      const all = node.heights.flat();
      let cursor: string | undefined;
      const heights: number[] = [];
      for (const { cut, rows: most } of [...stops.map((each) => ({ cut: undefined, rows: undefined, ...each })), {}]) {
        node.cuts = cut === undefined ? [] : [cut / 100];
        let left = most ?? Number.POSITIVE_INFINITY;
        try {
          for await (const item of follow(node, { cursor, attempts: 1 }, { toBlock: sizes.length * 10 })) {
            const rows = item.rows.slice(0, left);
            heights.push(...rows.map((row) => Number(row["height"])));
            left -= rows.length;
            cursor = item.cursorAfter(rows.length);
            if (left === 0) {
              break;
            }
          }
        } catch (error) {
          expect(cut).toBeDefined();
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }
      expect(heights).toEqual(all);
    }),
    { numRuns: runs(40) },
  );
});

describe("the end of a follow", () => {
  it("comes with the signal, also while it waits, and leaves nothing there", async () => {
    const node = keptHistory(counted([1]));
    const abort = new AbortController();
    const onEvent = ({ kind: what }: FollowEvent) => void (what === "idle" && turn().then(() => abort.abort()));
    const { heights, error } = await heightsOf(follow(node, { signal: abort.signal, onEvent }));
    expect(heights).toEqual([1]);
    expect(error).toBeInstanceOf(CanceledError);
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });

  it("comes with a break, which ends the call", async () => {
    const node = keptHistory(counted([20_000]));
    const abort = new AbortController();
    for await (const { rows } of follow(node, { signal: abort.signal })) {
      expect(rows.length).toBeGreaterThan(0);
      break;
    }
    expect(node.signals.map((signal) => signal?.aborted)).toEqual([true, true]);
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });

  it("comes with a return while it waits for new segments", async () => {
    const node = keptHistory([]);
    const items = follow(node)[Symbol.asyncIterator]();
    const next = items.next();
    await turn();
    expect(await items.return?.()).toEqual({ done: true, value: undefined });
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it("is not reached sooner than rows are taken: no more of an archive is read", async () => {
    const node = keptHistory(counted([100_000]));
    const items = follow(node)[Symbol.asyncIterator]();
    await items.next();
    await standsStill(node.taken);
    const early = node.taken();
    for (let item = await items.next(); item.value?.complete === false; ) {
      item = await items.next();
    }
    expect(early).toBeLessThan(node.taken() / 2);
    await items.return?.();
  });
});

describe("what cannot be right", () => {
  const node = keptHistory(counted([5]));

  it.each([
    [{ cursor: "x" }, {}, /"x" is not a cursor of `follow`/],
    [{ cursor: "a".repeat(10_000) }, {}, /is not a cursor of `follow`/],
    [{ cursor: Buffer.from('[1,"chain-1","blocks",1,10,"id",-1,"x"]').toString("base64url") }, {}, /is not a cursor/],
    [{ cursor: Buffer.from('[1,"chain-1","blocks",11,10,"id"]').toString("base64url") }, {}, /is not a cursor/],
    [{ pollMs: 0 }, {}, /pollMs must be a whole number from 1 to 2147483647 \(got 0\)/],
    [{ attempts: 1.5 }, {}, /attempts must be a whole number from 1 to 1000 \(got 1\.5\)/],
    [{}, { fromBlock: 0 }, /fromBlock must be a whole number from 1 \(got 0\)/],
    [{}, { fromBlock: 2, toBlock: 1 }, /fromBlock 2 is after toBlock 1/],
  ])("is refused at once: %j %j", (options, request, message) => {
    expect(() => follow(node, options, request)).toThrow(RequestError);
    expect(() => follow(node, options, request)).toThrow(message);
  });

  it("is a cursor of another table, and one behind more rows than there are", async () => {
    const [item] = (await taken(follow(node, {}, { toBlock: 10 }))).values;
    expect(() => createFollowing(node).follow({ table: "trades" }, { cursor: item?.cursor })).toThrow(
      /^the cursor belongs to the table blocks, not to trades$/m,
    );
    expect(() => item?.cursorAfter(6)).toThrow(/^count must be a whole number of rows from 0 to 5 \(got 6\)$/m);
  });
});
