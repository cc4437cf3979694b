import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { taken } from "../support/taken.js";

let node: Devnode;
let folder: string;
beforeAll(async () => {
  node = await startDevnode({ segments: 20, blocksPerSegment: 10, blockMs: 0, schemaVersions: [116] });
  folder = await mkdtemp(join(tmpdir(), "tradewire-estimate-"));
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const on = (transport: string, command: string, ...more: string[]) => [
  ...[command, "--transport", transport, "--grpc-url", node.grpcUrl, "--rest-url", node.restUrl],
  ...more,
];

describe.each(["grpc", "rest"])("tradewire export --estimate over %s", (transport) => {
  it("knows a few segments exactly, and gives a range for the size of their common archive", async () => {
    const args = on(transport, "export", "--table", "trades", "--blocks", "1:60", "--estimate", "--json");
    const { code, out, err } = await run(args);
    expect([code, err]).toEqual([0, ""]);
    const { total, cost } = JSON.parse(out);
    await using client = createClient({ grpc: { url: node.grpcUrl } });
    const exported = client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 60 });
    let [rows, size] = [0, 0];
    for await (const file of exported.files()) {
      rows += (await taken(file.rows())).values.length;
      size += file.size ?? 0;
    }
    expect(total).toMatchObject({ calls: 1, rows: { low: rows, likely: rows, high: rows } });
    expect(total.csvBytes).toEqual({ low: size, likely: size, high: size });
    const archive = (await taken(exported.bytes())).values.reduce((sum, part) => sum + part.length, 0);
    expect(total.zipBytes.low).toBeLessThanOrEqual(archive);
    expect(total.zipBytes.high).toBeGreaterThanOrEqual(archive);
    expect(cost.exports).toBe(6);
  });

  it("samples a longer range, and says what that cost", async () => {
    const args = on(transport, "export", "--table", "orders", "--blocks", "5:", "--estimate", "-o", "table");
    const { code, out } = await run(args);
    expect(code).toBe(0);
    expect(out).toMatch(/table +exports +rows +CSV +ZIP +duration.*\norders +1 +\S+ \(\S+ to \S+\) /);
    expect(out).toMatch(/\nThe estimate cost 7 exports, [\d.]+ KiB in [\d.]+ s\. Nothing was changed\.\n$/);
  });
});

describe("an estimate", () => {
  it("of a range that cannot be exported is the error of the export", async () => {
    const { code, err } = await run(on("grpc", "export", "--table", "trades", "--blocks", "5:20", "--estimate"));
    expect([code, err]).toEqual([
      2,
      expect.stringContaining("--from-block 5 is not the first block of a history segment\n"),
    ]);
  });

  it("of a sync is of what is missing, and creates nothing", async () => {
    const file = join(folder, "history.duckdb");
    const sync = on("grpc", "sync", "--to", `duckdb:${file}`, "--table", "trades,blocks", "-o", "jsonl");
    const first = JSON.parse((await run([...sync, "--estimate"])).out);
    expect(first).toMatchObject({ event: "estimate", total: { calls: 40 }, cost: { exports: 14 } });
    expect(existsSync(file)).toBe(false);
    expect((await run([...sync, "--to-block", "100"])).code).toBe(0);
    const later = JSON.parse((await run([...sync, "--estimate"])).out);
    expect(later).toMatchObject({ total: { calls: 20 }, tables: [{ sampled: 7 }, { sampled: 7 }] });
    const rows = JSON.parse((await run(sync)).out.trim().split("\n").at(-1) ?? "").rows;
    expect(Number(rows)).toBeGreaterThanOrEqual(later.total.rows.low);
    expect(Number(rows)).toBeLessThanOrEqual(later.total.rows.high);
    const done = JSON.parse((await run([...sync, "--estimate"])).out);
    expect(done).toMatchObject({ tables: [], total: { calls: 0, rows: { high: 0 } }, cost: { exports: 0 } });
  });

  it("of a statement is of what its tables lack in the cache, and changes nothing there", async () => {
    const environment = { XDG_CACHE_HOME: join(folder, "cache") };
    const query = (...more: string[]) => run(on("grpc", "query", ...more), { environment });
    const candles = "SELECT count(*) AS many FROM candles_1h";
    const first = JSON.parse((await query("--estimate", "-o", "json", candles)).out);
    expect(first).toMatchObject({ total: { calls: 2 }, cost: { exports: 14 } });
    expect(first.tables.map(({ table }: { table: string }) => table).sort()).toEqual(["markets", "trades"]);
    expect(first.targetBytes.low).toBeLessThan(first.targetBytes.high);
    const { out } = await query("-o", "csv", "SELECT count(*) AS rows FROM trades");
    const rows = Number(out.split("\n")[1]);
    const trades = first.tables.find(({ table }: { table: string }) => table === "trades");
    expect(rows).toBeGreaterThanOrEqual(trades.rows.low);
    expect(rows).toBeLessThanOrEqual(trades.rows.high);
    const later = JSON.parse((await query("--estimate", "-o", "json", candles)).out);
    expect(later).toMatchObject({ tables: [{ table: "markets" }], total: { calls: 1 }, cost: { exports: 7 } });
    const done = await query("--estimate", "-o", "table", "SELECT count(*) FROM trades");
    expect(done.out).toMatch(/\nThe estimate cost 0 exports, 0 B in [\d.]+ s\. Nothing was changed\.\n$/);
    const unread = JSON.parse((await query("--estimate", "-o", "json", "SELECT 1")).out);
    expect(unread).toMatchObject({ tables: [], cost: { exports: 0 } });
  });

  it("is of a node only", async () => {
    expect(await run(["query", "--from", "duckdb:x.duckdb", "--estimate", "SELECT 1"])).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining("--estimate applies only to a node: nothing else is exported\n"),
    });
  });
});
