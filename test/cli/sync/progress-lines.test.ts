import { Code } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import { ConnectionError, type TableName } from "tradewire";
import { createSyncState, type SyncEvent } from "tradewire/sync";
import { progressLines } from "../../../src/cli/sync/progress-lines.js";
import { loadOf, planned, unitOf } from "../../support/sync-events.js";

const WIDE = { columns: 100, rows: 24 };
const THREE: readonly TableName[] = ["trades", "orders", "blocks"];

/** The lines behind events, of a sync of tables. Time stands still, so that nothing has a speed. */
function linesOf(events: readonly SyncEvent[], size = WIDE, tables: readonly TableName[] = ["trades", "orders"]) {
  const state = createSyncState({ tables, now: () => 0 });
  events.forEach(state.take);
  return progressLines(state.snapshot(), size);
}

const error = new ConnectionError("the node\u0007 is away", { code: Code.Unavailable, advice: "Wait." });

it("has a line for each table and one for all, with bars as long as each other", () => {
  expect(linesOf([planned(4, { trades: 1, orders: 4 })])).toEqual([
    `trades      [${"=".repeat(10)}>${" ".repeat(29)}]  1/4     10 rows   0.0 MiB/s`,
    `orders      [${"=".repeat(40)}]  4/4     40 rows                     done`,
    `all tables  [${"=".repeat(25)}>${" ".repeat(14)}]  5/8     50 rows   0.0 MiB/s`,
  ]);
});

it("says what it does where the tables do not show it", () => {
  expect(linesOf([])).toEqual(["Reading the node's history and the ledger."]);
  const all = planned(1, { trades: 1, orders: 1 });
  expect(linesOf([all, { kind: "idle", againMs: 1 }]).at(-1)).toBe("Up to date. Waiting for new segments.");
  const some = planned(2, { trades: 1, orders: 2 });
  expect(linesOf([some, { kind: "idle", againMs: 1 }]).at(-1)).toBe("Waiting for the next check.");
  expect(linesOf([some, { kind: "waiting", error, againMs: 1000 }]).at(-1)).toMatch(
    /^Waiting: the node {2}is away \(retry at \d\d:\d\d:\d\d\)$/u,
  );
});

it("names the last failure, and how many units failed", () => {
  const failing = (segment: number): SyncEvent => ({
    kind: "failed",
    unit: unitOf("trades", segment),
    error,
    attempt: 2,
  });
  const lines = linesOf([planned(3, { trades: 0, orders: 3 }), failing(0), failing(1)]);
  expect(lines.at(-1)).toBe("2 exports failed. Last: trades 1001-2000: the node  is away");
});

it("shows tables under way before those that wait, and these before done ones, where not all fit", () => {
  const plan = planned(2, { trades: 2, orders: 0, blocks: 0 });
  const events = [plan, ...loadOf("blocks", 0).slice(0, 1)];
  const names = (rows: number) => linesOf(events, { columns: 80, rows }, THREE).map((line) => line.split("  ")[0]);
  expect(names(5)).toEqual(["trades", "orders", "blocks", "all tables"]);
  expect(names(4)).toEqual(["blocks", "and 2 more tables", "all tables"]);
  expect(names(3)).toEqual(["3 more tables", "all tables"]);
  for (const columns of [20, 40, 60]) {
    expect(Math.max(...linesOf(events, { columns, rows: 24 }, THREE).map(({ length }) => length))).toBeLessThan(
      columns,
    );
  }
});
