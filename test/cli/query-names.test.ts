// Slow, and worth it: a node is synced into a DuckDB file and a folder of Parquet files, and both are asked the same.
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { ask } from "../sync/sinks/support/units.js";

const TABLES = ["trades", "orders", "balances", "positions", "ledger", "blocks"];

let node: Devnode;
let folder: string;
beforeAll(async () => {
  node = await startDevnode({ segments: 3, blocksPerSegment: 10, blockMs: 0, activity: 1 });
  folder = await mkdtemp(join(tmpdir(), "tradewire-names-"));
  for (const to of ["duckdb:history.duckdb", "parquet:history"]) {
    expect(await sync(to)).toMatchObject({ code: 0 });
  }
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const tradewire = (...args: string[]) => run(args, { cwd: folder });
const sync = (to: string) => tradewire("sync", "--grpc-url", node.grpcUrl, "--to", to, "--table", TABLES.join(","));
const query = (from: string, sql: string) => tradewire("query", "--from", from, "-o", "csv", sql);

it.each([
  ["SELECT party, asset, account_type, market, balance_text FROM balances_now", /^[0-9a-f]{64},\w+,ACCOUNT_TYPE_/mu],
  ["SELECT from_party, from_account_type, to_party, to_account_type, asset, quantity_text FROM ledger_v", /ACCOUNT_/u],
  ["SELECT start, market, open_text, volume_text FROM candles_1h", /^2[^,]+,M0,\d+\.\d+,/mu],
  ["SELECT id, market, side, price_text, size_text, status FROM orders_v", /^[0-9a-f]{64},M\d+,SIDE_/mu],
  ["SELECT party_id, market, open_volume_text FROM positions_at(30)", /^[0-9a-f]{64},M\d+,/mu],
  ["FROM book_at('M0', 30)", /^M0,/mu],
  ["SELECT id, code, name, decimals, quantum FROM assets", /^[0-9a-f]{64},USDC,USD Coin,6,/mu],
  ["SELECT market_id, code, price_decimals, tick_size, asset_id FROM market_versions", /^[0-9a-f]{64},M0,/mu],
])("a folder has the names that a DuckDB file has: %s", async (select, row) => {
  const sql = `SELECT * FROM (${select.replace(/^FROM/u, "SELECT * FROM")}) ORDER BY ALL`;
  const [duckdb, parquet] = [await query("duckdb:history.duckdb", sql), await query("parquet:history", sql)];
  expect(duckdb).toMatchObject({ code: 0, out: expect.stringMatching(row), err: "" });
  expect(parquet).toEqual(duckdb);
});

it("readers without tradewire can join what nodes list", async () => {
  const docs = await readFile("docs/sync-files.md", "utf8");
  const [, documented = ""] = /duckdb -c "(SELECT m\.code[^"]*)"/u.exec(docs) ?? [];
  const rows = await ask(`${documented.replaceAll("'history/", `'${folder}/history/`)} ORDER BY ALL`);
  const select = "SELECT market, count(*), sum(size) FROM trades_v GROUP BY ALL ORDER BY ALL";
  const { out } = await query("duckdb:history.duckdb", select);
  // Sums of DOUBLE depend on the order.
  const rounded = ([code, trades, volume]: readonly unknown[]) => [code, trades, Number(volume).toPrecision(12)];
  const wanted = out.trimEnd().split("\n").slice(1);
  expect(rows.map(rounded)).toEqual(wanted.map((line) => rounded(line.split(","))));
});

it("all rows of an identifier are found in files that are written, which have no Bloom filters", async () => {
  const file = join(folder, "history/data/table=orders/from=0000000021/0000000021-0000000030.parquet");
  const [[id, rows] = []] = await ask(
    `SELECT lower(hex(market_id)), count(*) FROM '${file}' GROUP BY ALL ORDER BY 2 DESC`,
  );
  const where = `WHERE market_id = unhex('${String(id)}')`;
  expect(await ask(`SELECT count(*) FROM '${file}' ${where}`)).toEqual([[rows]]);
  const saved = join(folder, "saved.parquet");
  const args = ["--from", "parquet:history", "-o", "parquet", "--to", saved, "FROM orders WHERE _from_block = 21"];
  expect(await tradewire("query", ...args)).toMatchObject({ code: 0 });
  expect(await ask(`SELECT count(*) FROM '${saved}' ${where}`)).toEqual([[rows]]);
});

it("joined files and deep comparisons are not confused by what nodes list, and a folder of before has it after a sync", async () => {
  const balances = "SELECT count(*) AS rows, count(party) AS parties FROM balances_now";
  const listed = join(folder, "history", "_tradewire", "listed");
  expect(await tradewire("sync", "compact", "--to", "parquet:history")).toMatchObject({ code: 0 });
  const deep = ["verify", "--to", "parquet:history", "--deep", "--grpc-url", node.grpcUrl];
  expect(await tradewire("sync", ...deep)).toMatchObject({ code: 0 });
  const files = await readdir(listed);
  expect(files.sort()).toEqual(["accounts", "assets", "markets"].map((name) => `tradewire_${name}.jsonl`));
  expect(await query("parquet:history", balances)).toMatchObject({ code: 0, out: "rows,parties\n443,443\n" });
  const file = join(listed, "tradewire_assets.jsonl");
  await writeFile(file, (await readFile(file)).subarray(0, -9));
  expect(await query("parquet:history", "FROM assets")).toMatchObject({
    code: 1,
    err: expect.stringMatching(/tradewire_assets\.jsonl.*\nThe file is damaged\. Delete it: the next sync stores/),
  });
  await rm(listed, { recursive: true });
  expect(await query("parquet:history", balances)).toMatchObject({ code: 0, out: "rows,parties\n443,0\n" });
  expect(await query("parquet:history", "FROM market_versions")).toMatchObject({
    code: 2,
    err: expect.stringContaining("no rows of the table markets"),
  });
  expect(await sync("parquet:history")).toMatchObject({ out: expect.stringContaining('"units":0,') });
  expect(await query("parquet:history", balances)).toMatchObject({ code: 0, out: "rows,parties\n443,443\n" });
});
