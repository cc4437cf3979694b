import { describe, expect, test } from "@jest/globals";
import type { TableName } from "tradewire";
import {
  coverageOf,
  createSyncState,
  type LedgerEntry,
  refreshCoverage,
  type Sink,
  type TableCoverage,
} from "tradewire/sync";
import { eventually } from "../../support/eventually.js";
import { entryOf, loadOf, planned, unitOf } from "../../support/sync-events.js";

describe("coverageOf", () => {
  test.each([
    { parts: 4, blocks: [1000, 0, 0, 1000] },
    { parts: 2, blocks: [1000, 1000] },
    { parts: 8, blocks: [500, 500, 0, 0, 0, 0, 500, 500] },
    { parts: 3, blocks: [1000, 0, 1000] },
    { parts: 1, blocks: [2000] },
  ])("counts the blocks in $parts parts", async ({ parts, blocks }) => {
    const sink = sinkOf([entryOf("trades", 0), entryOf("trades", 3)]);
    const found = await coverageOf(sink, ["trades", "orders"], { fromBlock: 1n, toBlock: 4000n }, parts);
    expect(found).toEqual([
      { table: "trades", blocks },
      { table: "orders", blocks: blocks.map(() => 0) },
    ]);
  });

  test("cuts parts of uneven lengths where a sink is to cut them, and leaves out what lies outside", async () => {
    const sink = sinkOf([entryOf("trades", 0), entryOf("trades", 1)]);
    const [trades] = await coverageOf(sink, ["trades"], { fromBlock: 996n, toBlock: 1005n }, 3);
    expect(trades?.blocks).toEqual([3, 3, 4]);
  });

  test("asks a sink that knows", async () => {
    const known: TableCoverage[] = [{ table: "trades", blocks: [7] }];
    const sink = { ...sinkOf([]), coverage: async () => known };
    expect(await coverageOf(sink, ["trades"], { fromBlock: 1n, toBlock: 9n }, 1)).toBe(known);
  });
});

describe("the picture", () => {
  test("has a column for each segment of a short history, and shows what is there, under way and failed", async () => {
    const state = createSyncState({ tables: ["trades", "orders"] });
    state.take(planned(5, { trades: 2, orders: 0 }));
    await state.cover(async ({ tables, range, parts }) =>
      coverageOf(sinkOf([entryOf("trades", 0), { ...entryOf("trades", 1), toBlock: 1004n }]), tables, range, parts),
    );
    for (const event of [...loadOf("orders", 4), ...loadOf("orders", 2).slice(0, 1)]) {
      state.take(event);
    }
    expect(state.snapshot().picture).toEqual({
      ...{ fromBlock: 1n, toBlock: 5000n, blocksPerColumn: 1000, columns: 5 },
      rows: [
        { table: "trades", there: [100, 1, 0, 0, 0], underWay: [], failed: [] },
        { table: "orders", there: [0, 0, 0, 0, 100], underWay: [2], failed: [] },
      ],
    });
  });

  test("stays exact as the history grows beyond its columns", () => {
    const state = createSyncState({ tables: ["trades"] });
    state.take(planned(600, { trades: 0 }));
    for (const event of [0, 1, 2, 599].flatMap((segment) => loadOf("trades", segment))) {
      state.take(event);
    }
    expect(state.snapshot().picture).toMatchObject({ columns: 600, blocksPerColumn: 1000 });
    state.take(planned(601, { trades: 4 }));
    const picture = state.snapshot().picture;
    expect(picture).toMatchObject({ columns: 301, blocksPerColumn: 2000, toBlock: 601_000n });
    const there = picture?.rows[0]?.there ?? [];
    expect([there.length, there[0], there[1], there[2], there[299], there[300]]).toEqual([301, 100, 50, 0, 50, 0]);
    for (const event of loadOf("trades", 600)) {
      state.take(event);
    }
    expect(state.snapshot().picture?.rows[0]?.there[300]).toBe(100); // The last column has one segment as yet.
  });

  test("keeps what was loaded while the sink was asked", async () => {
    const state = createSyncState({ tables: ["trades"] });
    expect(await state.cover(async () => [])).toBe(false); // There is no plan yet.
    state.take(planned(3, { trades: 1 }));
    const asked = await state.cover(async ({ range, parts }) => {
      expect({ range, parts }).toEqual({ range: { fromBlock: 1n, toBlock: 3000n }, parts: 3 });
      for (const event of loadOf("trades", 2)) {
        state.take(event);
      }
      expect(await state.cover(async () => [])).toBe(false); // One question at a time.
      return [{ table: "trades", blocks: [1000, 0, 0] }];
    });
    expect(asked).toBe(true);
    expect(state.snapshot().picture?.rows[0]?.there).toEqual([100, 0, 100]);
  });

  test("forgets what the sink has no more, and stays where the sink cannot be asked", async () => {
    const state = createSyncState({ tables: ["trades"] });
    state.take(planned(2, { trades: 0 }));
    loadOf("trades", 0).forEach(state.take);
    await expect(state.cover(() => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
    expect(state.snapshot().picture?.rows[0]?.there).toEqual([100, 0]);
    await state.cover(async () => [{ table: "trades", blocks: [0, 1000] }]);
    expect(state.snapshot().picture?.rows[0]?.there).toEqual([0, 100]);
  });

  test("is kept like the sink", async () => {
    const state = createSyncState({ tables: ["trades"] });
    const entries = [entryOf("trades", 0)];
    state.take(planned(2, { trades: 0 }));
    const leave = refreshCoverage(state, sinkOf(entries), { everyMs: 10 });
    try {
      await eventually(() => state.snapshot().picture?.rows[0]?.there.join() === "100,0");
      entries.push(entryOf("trades", 1));
      await eventually(() => state.snapshot().picture?.rows[0]?.there.join() === "100,100");
    } finally {
      leave();
    }
  });

  test("shows units that failed", () => {
    const state = createSyncState({ tables: ["trades"] });
    state.take(planned(4, { trades: 0 }));
    const error = Object.assign(new Error("x"), { code: 14, summary: "x", advice: "y" });
    state.take({ kind: "failed", unit: unitOf("trades", 3), error: error as never, attempt: 1 });
    expect(state.snapshot().picture?.rows[0]).toMatchObject({ failed: [3], underWay: [] });
  });
});

function sinkOf(ledger: readonly LedgerEntry[]): Sink {
  const unused = () => Promise.reject(new Error("not used"));
  return {
    name: "made up",
    ...{ open: unused, inspect: unused, load: unused, remove: unused, countRows: unused, compareRows: unused },
    async *entries(table: TableName) {
      yield* ledger.filter((entry) => entry.table === table);
    },
    async close() {},
    async [Symbol.asyncDispose]() {},
  };
}
