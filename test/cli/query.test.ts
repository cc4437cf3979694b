// Slow, and worth it: statements are answered from a node, from what syncs have loaded, and from archives.
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { type RunOptions, run, startCommand } from "../support/command.js";
import { start } from "../support/command-process.js";
import { openMarket } from "../support/devnode.js";
import { eventually } from "../support/eventually.js";
import { startHistoryProxy } from "../support/history-proxy.js";
import { useVirtualRuntime } from "../support/virtual-runtime.js";

let node: Devnode;
let folder: string;
const history = { segments: 3, blocksPerSegment: 10, blockMs: 0, activity: 1, chainId: "query-1" };
beforeAll(async () => {
  node = await startDevnode(history);
  folder = await mkdtemp(join(tmpdir(), "tradewire-query-"));
  for (const to of ["duckdb:history.duckdb", "parquet:history"]) {
    await tradewire(["sync", "--grpc-url", node.grpcUrl, "--to", to, "--table", "trades,markets"]);
  }
  for (const table of ["trades", "markets"]) {
    const range = ["--from-block", "1", "--to-block", "30"];
    await tradewire(["export", "--grpc-url", node.grpcUrl, "--table", table, ...range, "--to", "archives/"]);
  }
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

/** Runs the command in the folder, with a cache in it. */
const tradewire = (args: readonly string[], options: RunOptions = {}, cache = "cache") =>
  run(args, { cwd: folder, ...options, environment: { XDG_CACHE_HOME: join(folder, cache), ...options.environment } });
const ofNode = () => ["query", "--grpc-url", node.grpcUrl];
/** A statement that reads no table is answered without the node. */
const ofNothing = ["query", "--grpc-url", "http://127.0.0.1:1"];
const caches = async (cache: string) =>
  (await readdir(join(folder, cache, "tradewire", "queries"))).filter((name) => name.endsWith(".duckdb"));

const CANDLES = `SELECT start, open_text, high_text, low_text, close_text, volume_text, trades FROM candles_1h WHERE market_id = '${openMarket}'`;

describe("a candle", () => {
  /** Writes a number of units as a view does. */
  const decimal = (units: string | bigint, decimals: number) => {
    const digits = String(units).padStart(decimals + 1, "0");
    return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
  };
  const sources: readonly (readonly [name: string, args: readonly string[]])[] = [
    ["a DuckDB file", ["--from", "duckdb:history.duckdb"]],
    ["a folder of Parquet files", ["--from", "parquet:history"]],
    ["archives", ["--from-archives", "archives"]],
  ];

  it.each([["the node", undefined], ...sources] as const)("of %s is that of the node", async (_, args) => {
    await using client = createClient({ grpc: { url: node.grpcUrl } });
    const { method } = TradingDataService;
    const { market } = await client.service(TradingDataService).getMarket({ marketId: openMarket });
    const [prices, sizes] = [Number(market?.decimalPlaces), Number(market?.positionDecimalPlaces)];
    const bounds = { fromTimestamp: 1n, toTimestamp: 4_000_000_000_000_000_000n };
    const request = { candleId: `trades_candle_1_hour_${openMarket}`, ...bounds };
    const wanted: object[] = [];
    for await (const { node: candle } of client.records(method.listCandleData, request)) {
      const [open, high, low, close] = [candle.open, candle.high, candle.low, candle.close].map((price) =>
        decimal(price, prices),
      );
      wanted.push({
        start: new Date(Number(candle.start / 1_000_000n)).toISOString().replace(".000Z", "Z"),
        open_text: open,
        high_text: high,
        low_text: low,
        close_text: close,
        volume_text: decimal(candle.volume, sizes),
        trades: expect.stringMatching(/^\d+$/),
      });
    }
    expect(wanted.length).toBeGreaterThan(0);
    const asked = args === undefined ? ofNode() : ["query", ...args];
    const { code, out, err } = await tradewire([...asked, `${CANDLES} ORDER BY start`]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(
      out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(wanted);
  });
});

describe("the cache of a node's history", () => {
  const count = async (url: string, cache: string, ...args: string[]) =>
    await tradewire(
      ["query", "--grpc-url", url, ...args, "-o", "csv", "SELECT count(*) AS rows FROM trades"],
      {},
      cache,
    );

  it("has what was exported, so that it is not exported again", async () => {
    const own = await startDevnode({ ...history, chainId: "query-2" });
    await using proxy = await startHistoryProxy(own.grpcUrl);
    expect(await count(proxy.url, "reused")).toMatchObject({ code: 0, out: "rows\n60\n" });
    expect(proxy.asked).toEqual([1n]);
    expect(await count(proxy.url, "reused")).toMatchObject({ code: 0, out: "rows\n60\n" });
    expect(proxy.asked).toEqual([1n]);
    const snapshot = own.snapshot();
    for (let block = 0; block < 10; block += 1) {
      await own.makeBlock();
    }
    expect(await count(proxy.url, "reused")).toMatchObject({ code: 0, out: "rows\n70\n" });
    expect(proxy.asked).toEqual([1n, 31n]);
    // A node that is at an earlier block again does not have what was exported since.
    own.revert(snapshot);
    expect(await count(proxy.url, "reused")).toMatchObject({ code: 0, out: "rows\n60\n" });
    // Another part of the history is apart, so that the answer does not depend on earlier statements.
    expect(await count(proxy.url, "reused", "--from-block", "11", "--to-block", "20")).toMatchObject({
      out: "rows\n20\n",
    });
    const queries = join(folder, "reused", "tradewire", "queries");
    expect((await stat(queries)).mode & 0o777).toBe(0o700);
    await own.close();
  });

  it("is loaded anew if the segments of the node have changed", async () => {
    for (const [blocksPerSegment, rows] of [
      [10, 60],
      [15, 90],
      [10, 60],
    ]) {
      const own = await startDevnode({ ...history, blocksPerSegment, chainId: "query-3" });
      const counted = await count(own.grpcUrl, "changed");
      await own.close();
      expect(counted).toMatchObject({ code: 0, out: `rows\n${rows}\n` });
    }
    expect(await caches("changed")).toHaveLength(1);
  });

  it("has a maximum size: others that were not used for longest are deleted, and a larger one is refused", async () => {
    const { grpcUrl: url } = node;
    expect((await count(url, "bounded")).code).toBe(0);
    const [own = ""] = await caches("bounded");
    const other = join(folder, "bounded", "tradewire", "queries", "other.duckdb");
    await writeFile(other, Buffer.alloc(20_000_000));
    await utimes(other, 1, 1);
    expect((await count(url, "bounded", "--cache-size", "20MB")).code).toBe(0);
    expect(await caches("bounded")).toEqual([own]);
    expect(await count(url, "tiny", "--cache-size", "1MB")).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringMatching(
        /need more than 1000000 bytes, the maximum size of the cache\nAllow more with --cache-size/,
      ),
    });
  });

  it("serves statements at the same time one after the other", async () => {
    const both = await Promise.all([count(node.grpcUrl, "both"), count(node.grpcUrl, "both")]);
    expect(both.map(({ code, out }) => [code, out])).toEqual([
      [0, "rows\n60\n"],
      [0, "rows\n60\n"],
    ]);
  });

  it("answers from the blocks that were asked for, also if segments have others", async () => {
    const ask = async (sql: string, ...more: string[]) => {
      const blocks = ["--from-block", "5", "--to-block", "24", ...more];
      const { code, out, err } = await tradewire([...ofNode(), ...blocks, "-o", "csv", sql], {}, "part");
      return code === 0 ? out.trimEnd().split("\n").slice(1).join() : err;
    };
    const exported = ["--table", "orders", "--blocks", "5:24", "-o", "jsonl"];
    const { out } = await tradewire(["export", "--grpc-url", node.grpcUrl, ...exported]);
    expect(await ask("SELECT count(*) FROM orders")).toBe(String(out.trimEnd().split("\n").length));
    expect(await ask("SELECT count(*), min(_from_block), max(_from_block) FROM trades")).toBe("40,5,5");
    expect(await ask("SELECT sum(trades) FROM candles_1d")).toBe("40");
    expect(await ask("SELECT min(height), max(height) FROM blocks")).toBe("5,24");
    expect(await ask("SELECT from_block, to_block FROM trades JOIN loaded_blocks ON true LIMIT 1")).toBe("5,24");
    expect(await ask("SELECT DISTINCT complete_from, complete_to FROM positions_now")).toBe("5,24");
    expect(Number(await ask("SELECT count(*) FROM positions_at(24)"))).toBeGreaterThan(0);
    expect(await ask("SELECT count(*) FROM positions_at(25)")).toContain("block 25 is not loaded into positions");
    const estimated = await tradewire([...ofNode(), "--from-block", "5", "--estimate", "-o", "json", "FROM positions"]);
    expect(JSON.parse(estimated.out).tables.map(({ table }: { table: string }) => table)).toEqual([
      "positions",
      "blocks",
    ]);
  });

  it("is not used for blocks that the node does not have", async () => {
    expect(await count(node.grpcUrl, "beyond", "--from-block", "1000")).toMatchObject({
      code: 2,
      err: expect.stringContaining("no block between --from-block and --to-block\nIts history has blocks 1 to 30"),
    });
  });
});

describe("rows", () => {
  const VALUES = `SELECT 9223372036854775807::BIGINT AS big, 170141183460469231731687303715884105727::HUGEINT AS huge, 1.10::DECIMAL(38, 20) AS exact,
    0.1::DOUBLE AS number, 'nan'::DOUBLE AS none, TIMESTAMPTZ '2024-01-01 01:02:03.5+02' AS at, unhex('f7eb') AS id, [1, 2] AS list, true AS yes, NULL AS nothing, 'a' AS yes`;
  const object = {
    big: "9223372036854775807",
    huge: "170141183460469231731687303715884105727",
    exact: "1.10000000000000000000",
    number: 0.1,
    none: "NaN",
    at: "2023-12-31T23:02:03.5Z",
    id: "f7eb",
    list: [1, 2],
    yes: true,
    nothing: null,
    "yes:1": "a",
  };
  const text = Object.values(object).map((value) => (typeof value === "object" && value !== null ? "[1,2]" : value));

  it("are JSON, with large numbers as text, also from standard input", async () => {
    const { out, code } = await tradewire([...ofNothing, "-o", "json"], { input: `${VALUES};\n-- The end.\n` });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual([object]);
    const lines = await tradewire([...ofNothing, VALUES]);
    expect(JSON.parse(lines.out)).toEqual(object);
  });

  it("are CSV and a table, with the same digits", async () => {
    const csv = await tradewire([...ofNothing, "-o", "csv", VALUES]);
    const values = text.map((value) => (value === "[1,2]" ? '"[1,2]"' : (value ?? "")));
    expect(csv.out).toBe(`${Object.keys(object).join(",")}\n${values.join(",")}\n`);
    const table = await tradewire([...ofNothing, "-o", "table", VALUES]);
    const [header = "", row = ""] = table.out.split("\n");
    expect(header.trim().split(/ +/)).toEqual(Object.keys(object));
    expect(row.trim().split(/ +/)).toEqual(text.map((value) => (value === null ? "NULL" : String(value))));
  });

  it("do not control the terminal", async () => {
    const { out } = await tradewire([...ofNothing, "-o", "table", "SELECT chr(27) || '[2J' AS a"]);
    expect(out).toBe("a\n\\u{1b}[2J\n");
  });

  it("are as many as asked for, and no more are computed", async () => {
    const { out, code } = await tradewire([...ofNothing, "-o", "csv", "--limit", "3", "FROM range(1000000000000)"]);
    expect({ out, code }).toEqual({ out: "range\n0\n1\n2\n", code: 0 });
  });

  it("are saved as a Parquet file, in their order", async () => {
    const args = ["query", "--from", "duckdb:history.duckdb", "-o", "parquet", "--to", "saved.parquet"];
    const sql = "SELECT id, price FROM trades_v ORDER BY price DESC, id; -- A comment.";
    const saved = await tradewire([...args, sql]);
    expect(JSON.parse(saved.out)).toMatchObject({ path: expect.stringMatching(/saved\.parquet$/) });
    expect(await tradewire([...args, sql])).toMatchObject({ code: 1, err: expect.stringContaining("--force") });
    expect((await tradewire([...args, "--force", sql])).code).toBe(0);
    const { out } = await tradewire(["query", "--from", "duckdb:history.duckdb", "-o", "csv", sql]);
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    const rows = (await connection.runAndReadAll(`FROM '${join(folder, "saved.parquet")}'`)).getRows();
    expect(["id,price", ...rows.map((row) => row.join(","))].join("\n")).toBe(out.trimEnd());
    expect(rows).toHaveLength(60);
    connection.closeSync();
    instance.closeSync();
  });
});

describe("a statement", () => {
  const places = [
    ["--from", "duckdb:history.duckdb"],
    ["--from", "parquet:history"],
    ["--from-archives", "archives"],
    [],
  ];
  const evil = [
    "INSERT INTO trades SELECT * FROM trades",
    "DELETE FROM trades",
    "CREATE TABLE evil AS SELECT 1",
    "ATTACH 'evil.duckdb'",
    "COPY (SELECT 1) TO 'evil.csv'",
    "COPY (SELECT 1) TO 'history/data/table=trades/evil.parquet'",
    "FROM read_csv('/etc/passwd')",
    "FROM read_text('/etc/passwd')",
    "FROM glob('/etc/*')",
    "FROM 'https://127.0.0.1:1/evil.parquet'",
    "INSTALL httpfs",
    "SET enable_external_access = true",
    "PRAGMA memory_limit = '8GB'",
    "EXPLAIN ANALYZE INSERT INTO trades SELECT * FROM trades",
    "EXPLAIN (ANALYZE) DELETE FROM trades",
    "EXPLAIN ANALYZE SELECT 1; DROP TABLE trades",
    "/* (SELECT) */ EXPLAIN ANALYZE COPY (SELECT 1) TO 'evil.csv'",
    "EXPLAIN ANALYZE FROM read_text('/etc/passwd')",
    "SELECT 1; DROP TABLE trades",
    "SELECT * FROM query('COPY (SELECT 1) TO ''evil.csv''')",
  ];

  it.each(places)("changes and reads nothing else: %s %s", async (...place) => {
    const before = await readFile(join(folder, "history.duckdb"));
    const files = await readdir(folder, { recursive: true });
    const from = place.length === 0 ? ofNode() : ["query", ...place];
    for (const sql of evil) {
      const { code, out, err } = await tradewire([...from, sql], {}, "evil");
      expect({ sql, code, out, err }).toEqual({ sql, code: 2, out: "", err: expect.stringMatching(/^tradewire: /) });
      expect(err).not.toContain("root:");
    }
    const now = (await readdir(folder, { recursive: true })).filter((name) => !name.startsWith("evil/"));
    expect(now.filter((name) => !files.includes(name) && name !== "evil")).toEqual([]);
    expect(await readFile(join(folder, "history.duckdb"))).toEqual(before);
  });

  it.each([
    ["selec 1", 'Parser Error: syntax error at or near "selec" (line 1, at "selec 1")\n'],
    [
      "SELECT *\nFROM candle_1h",
      'Table with name candle_1h does not exist! (line 2, at "candle_1h")\nDid you mean candles_1h? `SHOW TABLES`',
    ],
    ["FROM price_levels", '(line 1, at "price_levels")\n`SHOW TABLES` lists what there is.\n'],
    ["SELECT pric FROM trades_v", 'Referenced column "pric" not found in FROM clause!'],
    ["SELECT * FROM orders_at(1, 2, 3)", "orders_at"],
    ["SELECT CAST('x' AS INTEGER)", "Conversion Error: Could not convert string 'x' to INT32"],
    ["SELECT 1; SELECT 2", "more than one statement was given\n"],
    ["  -- nothing\n", "the statement is empty\n"],
    ["SELECT 1\0 WHERE false", "the statement contains a NUL character, at which it would end\n"],
  ])("that is wrong names the place: %s", async (sql, message) => {
    const { code, out, err } = await tradewire([...ofNothing, sql]);
    expect({ code, out, err }).toEqual({ code: 2, out: "", err: expect.stringContaining(message) });
  });

  it.each(places)("may ask for a plan, names or columns: %s %s", async (...place) => {
    const ask = async (sql: string) => {
      const from = place.length === 0 ? ofNode() : ["query", ...place];
      const { code, out, err } = await tradewire([...from, "-o", "csv", sql]);
      expect({ sql, code, err }).toEqual({ sql, code: 0, err: "" });
      return out;
    };
    expect(await ask("EXPLAIN SELECT count(*) FROM trades_v")).toMatch(/^explain_key,explain_value\nphysical_plan,┌─/);
    // 60 rows were read, so the tables are loaded for the plan, too.
    expect(await ask("-- why\nEXPLAIN ANALYZE SELECT sum(size) FROM trades;")).toMatch(/\nanalyzed_plan,│ +60 rows/);
    expect(await ask("EXPLAIN (FORMAT json) SELECT 1")).toContain("physical_plan,[\n");
    expect(await ask("SHOW TABLES")).toContain("\ntrades_v\n");
    expect(await ask("DESCRIBE trades_v")).toContain("\nprice,DOUBLE,");
    expect(await ask("SUMMARIZE SELECT size FROM trades")).toMatch(/\nsize,.*,60,/);
  });

  it.each(places)("reads all tables of its joins: %s %s", async (...place) => {
    const from = place.length === 0 ? ofNode() : ["query", ...place];
    for (const join of ["JOIN trades AS b USING (id, synthetic_time)", "SEMI JOIN trades AS b USING (id)"]) {
      const { out } = await tradewire([...from, "-o", "csv", `SELECT count(*) AS rows FROM trades AS a ${join}`]);
      expect({ join, out }).toEqual({ join, out: "rows\n60\n" });
    }
  });

  it.each(["-- One.\nSELECT 1 AS one", "--One: x=1\n-- SELECT 2\nSELECT 1 AS one", "--limit 2\nSELECT 1 AS one"])(
    "that begins with a comment is no option: %j",
    async (sql) => {
      for (const args of [
        [sql, "-o", "csv"],
        ["-o", "csv", sql],
        ["-o", "csv", "--", sql],
      ]) {
        expect(await tradewire([...ofNothing, ...args])).toEqual({ code: 0, out: "one\n1\n", err: "" });
      }
    },
  );

  it("that fails after its first rows is an error, and its CSV is not complete", async () => {
    const sql = "SELECT CASE WHEN range < 500000 THEN range ELSE error('too far') END AS a FROM range(1000000)";
    const { code, out, err } = await tradewire([...ofNothing, "-o", "csv", sql]);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("too far") });
    expect(out.startsWith("a\n0\n1\n")).toBe(true);
    expect(out.endsWith('"')).toBe(true);
  });

  it("ends after --timeout", async () => {
    const sql = "SELECT count(*) FROM range(1000000000000) AS a, range(1000000) AS b";
    const { code, err } = await tradewire([...ofNothing, "--timeout", "2s", sql]);
    expect({ code, err }).toEqual({
      code: 1,
      err: "tradewire: the command did not end within 2000 ms\nUse a longer --timeout, or read less: fewer blocks, rows or columns.\n",
    });
  });

  it("ends with Ctrl-C", async () => {
    const sql = "FROM range(1000000000000)";
    const running = startCommand([...ofNothing, sql]);
    await running.firstLine;
    running.interrupt("SIGINT");
    expect((await running.ended).code).toBe(130);
  });

  it("has no more memory than --memory", async () => {
    const sql = "SELECT count(DISTINCT a.range || '-' || b.range) FROM range(1000) AS a, range(1000) AS b";
    const { code, err } = await tradewire([...ofNothing, "--memory", "1MB", sql]);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/Out of Memory.*\n.*--memory/) });
  });

  it("about a table that was not loaded says how to load it", async () => {
    const missing = await tradewire(["query", "--from", "parquet:history", "FROM orders_v"]);
    expect(missing).toMatchObject({
      code: 2,
      err: expect.stringContaining("sync --to parquet:history --table orders"),
    });
    const archived = await tradewire(["query", "--from-archives", "archives", "FROM orders_v"]);
    expect(archived).toMatchObject({ code: 2, err: expect.stringContaining("no rows of the table orders") });
  });

  it("sees the views of a file without any", async () => {
    const to = ["--to", "duckdb:plain.duckdb", "--views", "none", "--table", "trades,markets"];
    await tradewire(["sync", "--grpc-url", node.grpcUrl, ...to]);
    const { out } = await tradewire([
      "query",
      "--from",
      "duckdb:plain.duckdb",
      "-o",
      "csv",
      "SELECT count(*) FROM trades_v",
    ]);
    expect(out).toBe("count_star()\n60\n");
    const shown = await tradewire(["query", "--from", "duckdb:plain.duckdb", "-o", "csv", "SHOW TABLES"]);
    expect(shown.out).toContain("\ncandles_1h\n");
  });
});

it("a user's own view of a name of tradewire is named with the file, which a warning says", async () => {
  const to = ["--to", "duckdb:own.duckdb", "--views", "none", "--table", "trades,markets"];
  await tradewire(["sync", "--grpc-url", node.grpcUrl, ...to]);
  const instance = await DuckDBInstance.create(join(folder, "own.duckdb"));
  const connection = await instance.connect();
  await connection.run("CREATE VIEW trades_v AS SELECT 7 AS mine");
  connection.closeSync();
  instance.closeSync();
  const ask = (sql: string) => tradewire(["query", "--from", "duckdb:own.duckdb", "-o", "csv", sql]);
  expect(await ask("SELECT count(*) AS rows FROM trades_v")).toEqual({
    code: 0,
    out: "rows\n60\n",
    err: "tradewire: the file has its own history.trades_v; without the prefix, these names are those of tradewire\n",
  });
  expect(await ask("FROM history.trades_v")).toEqual({ code: 0, out: "mine\n7\n", err: "" });
});

it("archives of the same blocks, and of several chains, are refused", async () => {
  const [own = ""] = (await readdir(join(folder, "archives"))).filter((name) => name.includes("trades"));
  const twice = await mkdtemp(join(folder, "twice-"));
  const archive = await readFile(join(folder, "archives", own));
  await writeFile(join(twice, own), archive);
  await writeFile(join(twice, `copy-of-${own}`), archive);
  const sql = "SELECT count(*) FROM trades";
  expect(await tradewire(["query", "--from-archives", twice, sql])).toMatchObject({
    code: 2,
    err: expect.stringContaining("has blocks 1 to 30 of trades, and another archive has some of these, too"),
  });
  await writeFile(join(twice, own), archive.subarray(0, -30));
  expect(await tradewire(["query", "--from-archives", twice, sql])).toMatchObject({ code: 1, out: "" });
});

it.each([
  [
    ["--from", "history.duckdb"],
    '--from "history.duckdb" does not specify the kind of target\nDid you mean --from duckdb:history.duckdb?',
  ],
  [["--from", "duckdb:history.duckdb", "--from-block", "1"], "--from-block does not apply to --from"],
  [["--from-archives", "archives", "--from", "duckdb:x"], "--from does not apply to --from-archives"],
  [["--schema", "x"], "--schema does not apply to a node"],
  [["--output", "parquet"], "--output parquet needs --to"],
  [["--to", "x.parquet"], "--to and --force need --output parquet"],
  [["--memory", "12"], '--memory must be a size, such as 512MiB or 4GiB (got "12")'],
  [["--from", "postgres://a:secret@127.0.0.1/x"], "the URL of --from contains a password"],
])("options that do not fit are refused: %j", async (args, message) => {
  const { code, err } = await tradewire([...ofNothing, ...args, "SELECT 1"]);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
  expect(err).not.toContain("secret");
});

it("a file that is not there is an error", async () => {
  const { code, err } = await tradewire(["query", "--from", "duckdb:missing.duckdb", "SELECT 1"]);
  expect({ code, err }).toEqual({ code: 1, err: "tradewire: missing.duckdb: file not found\nCheck the path.\n" });
});

describe("a file that another process has open for writing", () => {
  /** Starts a process that has the file open until it is killed. */
  async function startWriter() {
    const program = `import { DuckDBInstance } from "@duckdb/node-api";
      const instance = await DuckDBInstance.create(process.argv[1]);
      console.log("open");
      setInterval(() => instance, 1000);`;
    const file = join(folder, "history.duckdb");
    const writer = start(process.execPath, ["--input-type=module", "--eval", program, file]);
    expect(await writer.firstLine).toBe("open");
    return {
      async [Symbol.asyncDispose]() {
        writer.child.kill("SIGKILL");
        await writer.ended;
      },
    };
  }
  const asked = ["query", "--from", "duckdb:history.duckdb", "-o", "csv", "SELECT count(*) AS rows FROM trades"];

  it("is waited for", async () => {
    const writer = await startWriter();
    const running = startCommand(asked, { cwd: folder });
    await eventually(() => running.said().includes("Waiting until the file can be read."));
    await writer[Symbol.asyncDispose]();
    expect(await running.ended).toMatchObject({ code: 0, out: "rows\n60\n" });
    expect(running.said().match(/Waiting/g)).toHaveLength(1);
  });

  it("is waited for a minute, or until --timeout", async () => {
    await using _writer = await startWriter();
    const timed = await tradewire([...asked, "--timeout", "1s"]);
    expect(timed).toMatchObject({ code: 1, out: "", err: expect.stringContaining("did not end within 1000 ms\n") });
    using runtime = useVirtualRuntime();
    const running = startCommand(asked, { cwd: folder });
    await eventually(() => running.said().includes("Waiting"));
    runtime.skip(60_000);
    await runtime.pass(1000);
    expect(await running.ended).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(/Could not set lock on file.*\nWait until that process has closed the file\./),
    });
  });
});

it("the prompt runs statements, completes names, survives errors, and remembers lines", async () => {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const cwd = folder;
  const environment = { XDG_CACHE_HOME: join(folder, "cache"), TERM: "xterm" };
  const terminal = { columns: 100, rows: 30 };
  const prompt = startCommand(["query", "--from", "duckdb:history.duckdb"], { cwd, environment, input, terminal });
  const type = async (text: string, answer: string) => {
    input.write(text);
    await eventually(() => `${prompt.printed()}${prompt.said()}`.includes(answer));
  };
  await type("SELECT count(*) AS many\nFROM trades;\n", "60\n");
  await type("selec;\n", 'syntax error at or near "selec"');
  await type("SELECT 40 + 2 AS answer FROM candles_1\t", "candles_1");
  await type("\u0003", "\n");
  await type("SELECT 40 + 2 AS answer;\n", "42\n");
  input.write(".exit\n");
  const { code } = await prompt.ended;
  expect(code).toBe(0);
  const path = join(folder, "cache", "tradewire", "queries", "history");
  expect(await readFile(path, "utf8")).toContain("SELECT 40 + 2 AS answer;\nselec;\n");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});
