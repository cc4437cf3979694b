import { expect, it } from "@jest/globals";
import pg from "pg";
import { createSyncState, postgresSink, type SyncEvent, verifySync } from "tradewire/sync";
import { eventually } from "../support/eventually.js";
import { startPostgres } from "../support/postgres.js";
import { startSyncing } from "../support/syncing.js";
import { loadMetrics } from "./inside.js";

const TABLES = ["trades", "blocks"] as const;
const POLL_MS = 600;

/** The first block of each unit of the table `blocks`. */
async function unitsOf(url: string): Promise<number[]> {
  const client = new pg.Client(url);
  try {
    await client.connect();
    const { rows } = await client.query<{ n: number }>(
      "SELECT from_block::int AS n FROM tradewire_ledger WHERE table_name = 'blocks' ORDER BY 1",
    );
    return rows.map(({ n }) => n);
  } catch {
    return [];
  } finally {
    await client.end();
  }
}

it("closes the hole of a database that was restored while it is followed, and the metrics say what is missing", async () => {
  await using server = await startPostgres();
  await using syncing = await startSyncing();
  const url = await server.createDatabase();
  const state = createSyncState({ tables: TABLES });
  const writeMetrics = await loadMetrics();
  const missing: number[] = [];
  const reports: Promise<string>[] = [];
  const onEvent = (event: SyncEvent) => {
    state.take(event);
    if (event.kind === "planned") {
      missing.push(state.snapshot().total.missing);
      reports.push(writeMetrics(state.snapshot()));
    }
  };
  const ending = new AbortController();
  const { events, done } = syncing.sync({
    sink: postgresSink(url),
    follow: true,
    pollMs: POLL_MS,
    signal: ending.signal,
    hooks: { onEvent },
  });
  const ended = expect(done).rejects.toMatchObject({ name: "CanceledError" });
  const isIdle = () => events.at(-1)?.kind === "idle";
  await eventually(async () => isIdle() && (await unitsOf(url)).length === 4);
  await server.backUp();
  await syncing.makeSegment();
  await syncing.makeSegment();
  await eventually(async () => isIdle() && (await unitsOf(url)).length === 6);

  await server.restore();
  const before = missing.length;
  await syncing.makeSegment();
  await eventually(async () => (await unitsOf(url)).includes(61));
  await eventually(isIdle);
  expect(await unitsOf(url)).toEqual([1, 11, 21, 31, 41, 51, 61]);
  // What is missing was known at once, by all that tells of it: two or three segments of two tables.
  const [first = 0] = missing.slice(before);
  expect(first).toBeGreaterThanOrEqual(2 * TABLES.length);
  expect(await reports[before]).toMatch(/\ntradewire_sync_units_missing\{table="blocks"\} [23]\n/u);
  expect(await reports[before]).toMatch(/\ntradewire_sync_lag_blocks [23]0\n/u);
  expect(state.snapshot()).toMatchObject({ phase: "idle", total: { missing: 0 }, lag: { blocks: 0n } });
  ending.abort();
  await ended;
});

it("is told by verify where units lack between others", async () => {
  await using server = await startPostgres();
  await using syncing = await startSyncing();
  const url = await server.createDatabase();
  await syncing.sync({ sink: postgresSink(url) }).done;
  const client = new pg.Client(url);
  await client.connect();
  await client.query("DELETE FROM tradewire_ledger WHERE table_name = 'blocks' AND from_block IN (11, 21)");
  await client.query("DELETE FROM blocks WHERE _from_block IN (11, 21)");
  await client.end();
  const found = await verifySync(postgresSink(url), { tables: TABLES });
  expect(found).toMatchObject({ units: 6, unsound: 0 });
  expect(found.gaps).toEqual([{ table: "blocks", fromBlock: 11n, toBlock: 30n }]);
});
