import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { CanceledError } from "tradewire";
import { planHistory, type SyncEvent, syncStatus } from "tradewire/sync";
import { jsonLinesSink, readRows } from "../support/json-lines-sink.js";
import { type Syncing, startSyncing } from "../support/syncing.js";

let syncing: Syncing;

beforeEach(async () => {
  syncing = await startSyncing();
});

afterEach(async () => {
  await syncing[Symbol.asyncDispose]();
});

it("brings all of the history once, and only what is new later", async () => {
  const { done, events } = syncing.sync();
  const summary = await done;
  expect(summary).toMatchObject({ chainId: syncing.node.chainId, units: 8, failed: [] });
  expect(summary.tables).toMatchObject([
    { table: "trades", units: 4, missing: 0n, fromBlock: 1n, toBlock: 40n },
    { table: "blocks", units: 4, rows: 40n, missing: 0n },
  ]);
  expect(summary.rows).toBe(summary.tables.reduce((sum, { rows }) => sum + rows, 0n));
  const loaded = events.flatMap((event) => (event.kind === "loaded" ? [event.entry.fromBlock] : []));
  expect(loaded.map((from, index) => index < 2 || from >= (loaded[index - 2] ?? 0n))).not.toContain(false);
  await syncing.makeSegment();
  expect(await syncing.sync({ segmentsPerExport: 3 }).done).toMatchObject({ units: 2, failed: [] });
  expect(await syncing.sync().done).toMatchObject({ units: 0, rows: 0n, bytes: 0n });
  await syncing.expectAll("trades", 5);
  await syncing.expectAll("blocks", 5);
});

it("brings several segments with an export, but never across a schema change, and nothing beyond the range", async () => {
  const range = { fromBlock: 5, toBlock: 40 };
  const sink = jsonLinesSink(syncing.folder);
  const plan = await planHistory(syncing.clientOf(), { sink, tables: ["blocks"], range, segmentsPerExport: 5 });
  expect(plan).toMatchObject({
    segments: 4,
    tables: [{ table: "blocks", units: 0, missing: 3n, calls: 2 }],
    foreign: 0,
  });
  expect(await readRows(syncing.folder, "blocks")).toEqual([]);
  const { units } = await syncing.sync({ tables: ["blocks"], range, segmentsPerExport: 5 }).done;
  expect(units).toBe(2);
  expect((await readRows(syncing.folder, "blocks")).map(({ _from_block }) => _from_block).sort()).toEqual([
    ...Array<string>(10).fill("11"),
    ...Array<string>(20).fill("21"),
  ]);
  const status = await syncStatus(jsonLinesSink(syncing.folder), { clients: syncing.clientOf(), tables: ["blocks"] });
  expect(status).toMatchObject({ blocks: { fromBlock: 1n, toBlock: 40n }, missing: [{ segment: { toBlock: 10n } }] });
});

it("shares the work of two syncs into one sink", async () => {
  const [one, two] = await Promise.all([syncing.sync().done, syncing.sync().done]);
  expect(one.units + two.units).toBe(8);
  expect([one.tables, two.tables].map((tables) => tables.map(({ missing }) => missing))).toEqual([
    [0n, 0n],
    [0n, 0n],
  ]);
  await syncing.expectAll("trades");
  await syncing.expectAll("blocks");
});

it("follows the history, and ends with its signal", async () => {
  const ending = new AbortController();
  let idles = 0;
  const onEvent = (event: SyncEvent) => {
    if (event.kind === "idle") {
      idles += 1;
      void (idles === 3 ? ending.abort() : syncing.makeSegment());
    }
  };
  const { done } = syncing.sync({ follow: true, pollMs: 200, signal: ending.signal, hooks: { onEvent } });
  await expect(done).rejects.toThrow(CanceledError);
  await syncing.expectAll("blocks", 6);
  await syncing.expectAll("trades", 6);
});
