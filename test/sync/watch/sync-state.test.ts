import { Code } from "@connectrpc/connect";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { ConnectionError } from "tradewire";
import { createSyncState, SinkError, type SyncEvent, type SyncState } from "tradewire/sync";
import { loadOf, planned, unitOf } from "../../support/sync-events.js";
import { loadMetrics } from "./inside.js";

let ms: number;
let state: SyncState;
const take = (...events: SyncEvent[]) => {
  for (const event of events) {
    state.take(event);
  }
};
const unreachable = () =>
  new ConnectionError("the node cannot be reached", { code: Code.Unavailable, advice: "Check the URL." });

beforeEach(() => {
  ms = 5000;
  state = createSyncState({ tables: ["trades", "orders"], now: () => ms });
});

describe("progress", () => {
  test("is that of the last plan, and what was loaded since", () => {
    take(planned(10, { trades: 4, orders: 0 }), ...loadOf("trades", 4), ...loadOf("orders", 0, "node-b"));
    const { chainId, history, total, tables, nodes } = state.snapshot();
    expect({ chainId, history }).toEqual({
      chainId: "watched-chain",
      history: { fromBlock: 1n, toBlock: 10_000n, segments: 10 },
    });
    expect(tables[0]).toMatchObject({
      ...{ table: "trades", segments: 10, done: 5, missing: 5, toBlock: 5000n },
      there: { units: 5, rows: 50n, bytes: 500n },
      loaded: { units: 1, rows: 10n, bytes: 100n },
    });
    expect(total).toMatchObject({ segments: 20, done: 6, missing: 14, there: { units: 6, rows: 60n } });
    expect(nodes).toEqual([
      { name: "node-a", units: 1, rows: 10n, bytes: 100n, underWay: 0 },
      { name: "node-b", units: 1, rows: 10n, bytes: 100n, underWay: 0 },
    ]);
  });

  test("counts the segments of a unit that has several, and those that others have loaded", () => {
    take(planned(10, { trades: 0, orders: 0 }));
    take({ kind: "skipped", unit: { ...unitOf("trades", 0), toBlock: 3000n }, outcome: "there" });
    take({ kind: "skipped", unit: unitOf("orders", 0), outcome: "busy" });
    const { tables } = state.snapshot();
    expect(tables.map(({ done, toBlock }) => [done, toBlock])).toEqual([
      [3, 3000n],
      [0, undefined],
    ]);
  });

  test("counts segments within the range alone", () => {
    state = createSyncState({ tables: ["trades"], range: { fromBlock: 2500, toBlock: 9_999n }, now: () => ms });
    take({ ...planned(10, { trades: 0 }), tables: [{ ...survey(), missing: 6n, gapBlocks: 0n }] } as SyncEvent);
    expect(state.snapshot()).toMatchObject({
      history: { fromBlock: 3001n, toBlock: 9000n, segments: 6 },
      total: { segments: 6, done: 0 },
    });
  });

  test("counts the blocks that no node has, also in the metrics", async () => {
    const tables = [{ ...survey(), missing: 0n, gapBlocks: 200n }];
    take({ ...planned(10, { trades: 10 }), tables } as SyncEvent);
    expect(state.snapshot()).toMatchObject({ total: { missing: 0, gapBlocks: 200n } });
    const write = await loadMetrics();
    expect(await write(state.snapshot())).toContain('tradewire_sync_gap_blocks{table="trades"} 200\n');
  });

  test("tells units under way, with the bytes that have arrived", () => {
    take(planned(10, { trades: 0, orders: 0 }), ...loadOf("trades", 0).slice(0, 2));
    ms += 3000;
    expect(state.snapshot().underWay).toEqual([
      { table: "trades", fromBlock: 1n, toBlock: 1000n, node: "node-a", bytes: 60, seconds: 3 },
    ]);
  });
});

describe("rates", () => {
  test("are those of the last minute, and say how long it will take", () => {
    take(planned(100, { trades: 0, orders: 0 }));
    for (let segment = 0; segment < 40; segment += 1) {
      take(...loadOf("trades", segment));
      ms += 1000;
    }
    const { total, secondsLeft } = state.snapshot();
    expect(total.rates).toEqual({ bytes: 100, rows: 10, segments: 1 });
    expect(secondsLeft).toBe(160);
    ms += 61_000;
    expect(state.snapshot().total.rates).toEqual({ bytes: 0, rows: 0, segments: 0 });
  });

  test("are none, and the lag is not known, while the database is waited for", () => {
    take(planned(1, { trades: 0, orders: 0 }), ...loadOf("trades", 0), ...loadOf("orders", 0));
    expect(state.snapshot().total.rates.rows).toBeGreaterThan(0);
    expect(state.snapshot().lag).toMatchObject({ blocks: 0n });
    const error = new SinkError("the database cannot be reached", { code: Code.Unavailable, advice: "Wait." });
    take({ kind: "waiting", error, againMs: 1000 });
    const waiting = state.snapshot();
    expect(waiting.total.rates).toEqual({ bytes: 0, rows: 0, segments: 0 });
    expect(waiting).not.toHaveProperty("lag");
    expect(waiting).not.toHaveProperty("secondsLeft");
    take(planned(1, { trades: 1, orders: 1 }));
    expect(state.snapshot()).toMatchObject({ lag: { blocks: 0n }, secondsLeft: 0 });
  });

  test("say nothing of the time left before anything was loaded", () => {
    take(planned(2, { trades: 0, orders: 0 }));
    expect(state.snapshot()).not.toHaveProperty("secondsLeft");
    take(planned(2, { trades: 2, orders: 2 }));
    expect(state.snapshot().secondsLeft).toBe(0);
  });
});

test("the lag is that of the table furthest behind, since its oldest missing segment was first seen", () => {
  take(planned(3, { trades: 3, orders: 3 }));
  expect(state.snapshot().lag).toEqual({ blocks: 0n, seconds: 0 });
  ms += 10_000;
  take(planned(4, { trades: 3, orders: 3 }));
  ms += 10_000;
  take(planned(5, { trades: 3, orders: 3 }));
  take(...loadOf("trades", 3), ...loadOf("trades", 4));
  ms += 5000;
  expect(state.snapshot().lag).toEqual({ blocks: 2000n, seconds: 15 });
  take(...loadOf("orders", 3));
  expect(state.snapshot().lag).toEqual({ blocks: 1000n, seconds: 5 });
  take(...loadOf("orders", 4));
  expect(state.snapshot().lag).toEqual({ blocks: 0n, seconds: 0 });
});

describe("errors", () => {
  test("are counted by kind, and the last twenty kept, newest first", () => {
    take(planned(40, { trades: 0, orders: 0 }));
    for (let segment = 0; segment < 30; segment += 1) {
      const other = new ConnectionError(`node ${segment} is away`, { code: Code.Unavailable, advice: "Wait." });
      take({ kind: "failed", unit: unitOf("trades", segment), error: other, attempt: 2, againMs: 1000 });
    }
    const error = new SinkError("deadlock\u202e detected", { code: Code.Aborted, advice: "Wait." });
    take({ kind: "failed", unit: unitOf("orders", 7), error, attempt: 5 });
    const { errors, errorCounts, failed } = state.snapshot();
    expect(errorCounts).toEqual({ "ConnectionError UNAVAILABLE": 30, "SinkError ABORTED": 1 });
    expect([errors.length, failed]).toEqual([20, 31]);
    expect(errors[0]).toEqual({
      at: expect.any(String),
      kind: "SinkError ABORTED",
      message: "deadlock  detected",
      advice: "Wait.",
      count: 1,
      unit: { table: "orders", fromBlock: 7001n, toBlock: 8000n },
      attempt: 5,
    });
    expect(Date.parse(errors[1]?.againAt ?? "") - Date.parse(errors[1]?.at ?? "")).toBe(1000);
  });

  test("that are equal are one, with their number and the unit of the last", () => {
    take(planned(40, { trades: 0, orders: 0 }));
    for (let segment = 0; segment < 3; segment += 1) {
      take({ kind: "failed", unit: unitOf("trades", segment), error: unreachable(), attempt: 2, againMs: 1000 });
    }
    const error = new SinkError("deadlock detected", { code: Code.Aborted, advice: "Wait." });
    take({ kind: "failed", unit: unitOf("orders", 7), error, attempt: 5 });
    take({ kind: "failed", unit: unitOf("trades", 3), error: unreachable(), attempt: 2, againMs: 1000 });
    const { errors, errorCounts } = state.snapshot();
    expect(errors.map(({ kind, count, unit }) => [kind, count, unit?.fromBlock])).toEqual([
      ["ConnectionError UNAVAILABLE", 4, 3001n],
      ["SinkError ABORTED", 1, 7001n],
    ]);
    expect(errorCounts).toEqual({ "ConnectionError UNAVAILABLE": 4, "SinkError ABORTED": 1 });
  });

  test("are no more failed units once these are tried again or are there", () => {
    take(planned(2, { trades: 0, orders: 0 }));
    const failing = (segment: number): SyncEvent => {
      return { kind: "failed", unit: unitOf("trades", segment), error: unreachable(), attempt: 1 };
    };
    take(failing(0), failing(1));
    expect(state.snapshot().failed).toBe(2);
    take({ kind: "began", unit: unitOf("trades", 0), node: "node-a" });
    expect(state.snapshot()).toMatchObject({ failed: 1, underWay: [{ fromBlock: 1n }] });
    take(planned(2, { trades: 2, orders: 0 }));
    expect(state.snapshot().failed).toBe(0);
  });

  test("hide the password of a node's URL", () => {
    take({ kind: "began", unit: unitOf("trades", 0), node: "https://user:secret@node.example:3007" });
    expect(state.snapshot().nodes).toMatchObject([{ name: "https://node.example:3007" }]);
  });
});

test("the phase goes from the first plan over work and waiting to rest", () => {
  const phases = [state.snapshot().phase];
  const events: SyncEvent[] = [
    { kind: "waiting", error: unreachable(), againMs: 2000 },
    planned(1, { trades: 0, orders: 1 }),
    ...loadOf("trades", 0),
    { kind: "idle", againMs: 60_000 },
  ];
  for (const event of events) {
    take(event);
    phases.push(state.snapshot().phase);
  }
  expect(phases).toEqual(["starting", "waiting", "syncing", "syncing", "syncing", "syncing", "idle"]);
  expect(state.snapshot()).not.toHaveProperty("waiting");
});

test("silence is counted where there is work, and from the time that was announced", () => {
  take(planned(1, { trades: 0, orders: 1 }));
  ms += 7000;
  expect(state.snapshot().silentSeconds).toBe(7);
  take({ kind: "waiting", error: unreachable(), againMs: 60_000 });
  ms += 60_000;
  expect(state.snapshot().silentSeconds).toBe(0);
  ms += 4000;
  expect(state.snapshot().silentSeconds).toBe(4);
  take(...loadOf("trades", 0));
  ms += 9000;
  expect(state.snapshot().silentSeconds).toBe(0);
  take({ kind: "idle", againMs: 1000 });
  ms += 3000;
  expect(state.snapshot().silentSeconds).toBe(2);
});

test("what a newer node sends is remembered once for each column", () => {
  const unknown = { file: "f", table: "trades", column: "fee" } as const;
  take({ kind: "unknown", unknown }, { kind: "unknown", unknown: { ...unknown, value: "X" } });
  expect(state.snapshot().unknown).toEqual([{ table: "trades", column: "fee", value: "X" }]);
});

test("memory has bounds, however much goes wrong", () => {
  take(planned(5000, { trades: 0, orders: 0 }));
  for (let segment = 0; segment < 3000; segment += 1) {
    take({ kind: "began", unit: unitOf("trades", segment), node: `node-${segment}` });
    take({ kind: "failed", unit: unitOf("orders", segment), error: unreachable(), attempt: 1 });
  }
  const { underWay, failed, nodes } = state.snapshot();
  expect([underWay.length, failed, nodes.length]).toEqual([1000, 1000, 101]);
});

function survey() {
  return { table: "trades" as const, units: 0, rows: 0n, bytes: 0n };
}
