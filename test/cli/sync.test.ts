// Slow, and worth it: the command loads whole histories, and is gone on with.
import { mkdtemp, readdir, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run, startCommand } from "../support/command.js";
import { eventually } from "../support/eventually.js";
import { cutShort, startHistoryProxy } from "../support/history-proxy.js";

let node: Devnode;
let other: Devnode;
let folder: string;
const history = { segments: 3, blocksPerSegment: 10, blockMs: 0, activity: 1 };
beforeAll(async () => {
  node = await startDevnode({ ...history, chainId: "sync-1" });
  other = await startDevnode({ ...history, chainId: "sync-2" });
  folder = await mkdtemp(join(tmpdir(), "tradewire-sync-"));
});
afterAll(async () => {
  await node.close();
  await other.close();
  await rm(folder, { recursive: true });
});

/** As text, unless the arguments say otherwise. */
const format = (args: readonly string[]) =>
  ["-o", "--json"].some((flag) => args.includes(flag)) ? [] : ["-o", "table"];
const sync = (...args: string[]) =>
  run(["sync", "--grpc-url", node.grpcUrl, ...args, ...format(args)], { cwd: folder });
const below = (name: string, ...args: string[]) =>
  run(["sync", name, "--grpc-url", node.grpcUrl, ...args, ...format(args)], { cwd: folder });
const two = ["--table", "trades", "--table", "blocks"];
const lines = (text: string): Record<string, unknown>[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

async function count(file: string, query: string): Promise<string[][]> {
  const instance = await DuckDBInstance.create(join(folder, file), { access_mode: "READ_ONLY" });
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll(query);
  const rows = reader.getRows().map((row) => row.map(String));
  connection.closeSync();
  instance.closeSync();
  return rows;
}

describe("tradewire sync", () => {
  it("creates views with decimals and names, also over tables that were synced without them", async () => {
    const named =
      "SELECT count(*) > 0, bool_and(market = m.code AND asset IS NOT NULL AND price > 0) FROM trades_v AS t JOIN market_versions AS m ON lower(hex(m.market_id)) = t.market_id";
    expect(await sync("--to", "duckdb:views.duckdb", ...two)).toMatchObject({ code: 0 });
    expect(await count("views.duckdb", named)).toEqual([["true", "true"]]);
    expect(await sync("--to", "duckdb:plain.duckdb", ...two, "--views", "none")).toMatchObject({ code: 0 });
    await expect(count("plain.duckdb", named)).rejects.toThrow("trades_v does not exist");
    expect(await below("views", "--to", "duckdb:plain.duckdb")).toMatchObject({
      code: 0,
      out: "The views of duckdb:plain.duckdb are up to date.\n",
    });
    expect(await count("plain.duckdb", named)).toEqual([["true", "true"]]);
    expect(await below("views", "--to", "parquet:x")).toMatchObject({
      code: 1,
      err: expect.stringContaining("does not exist"),
    });
    expect(await below("views", "--to", "duckdb:none.duckdb")).toMatchObject({
      code: 1,
      err: expect.stringContaining("duckdb:none.duckdb does not exist"),
    });
  });

  it("brings tables into a DuckDB file, and fetches nothing twice", async () => {
    const first = await sync("--to", "duckdb:first.duckdb", ...two);
    expect(first).toMatchObject({ code: 0 });
    expect(first.out).toMatch(
      /^Loaded 90 rows from 6 exports, .* of CSV, in \d+s\. The synced tables of duckdb:first\.duckdb have 90 rows\.\n$/,
    );
    expect(await count("first.duckdb", "SELECT count(*), count(DISTINCT (vega_time, seq_num)) FROM trades")).toEqual([
      ["60", "60"],
    ]);
    const again = await sync("--to", "duckdb:first.duckdb", ...two);
    expect(again.out).toContain("Loaded 0 rows from 0 exports");
    expect(await count("first.duckdb", "SELECT count(*), count(DISTINCT height) FROM blocks")).toEqual([["30", "30"]]);
  });

  it("writes lines to a log: at once, with the first plan, and at the end", async () => {
    const { err } = await sync("--to", "parquet:log", ...two);
    const log = err
      .trimEnd()
      .split("\n")
      .map((line) => line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ /, ""));
    expect(log[0]).toBe("reading the node's history");
    expect(log[1]).toBe("0 of 6 segments (0.0 %), 0 rows, 0.0 MiB/s");
    expect(log.at(-1)).toMatch(/^6 of 6 segments \(100\.0 %\), 90 rows, \d+\.\d MiB\/s$/);
    expect(log).toHaveLength(3);
    expect(await readdir(join(folder, "log", "data", "table=blocks"))).toHaveLength(3);
  });

  it("prints events as lines of JSON, the summary last, and no log", async () => {
    const { out, err, code } = await sync("--to", "duckdb:json.duckdb", ...two, "-o", "jsonl", "--to-block", "20");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const events = lines(out);
    expect(events[0]).toMatchObject({ event: "lag", node: node.grpcUrl, state: "stalled", behindCoreMs: 0 });
    expect(events[1]).toMatchObject({
      event: "planned",
      chainId: "sync-1",
      segments: 3,
      fromBlock: "1",
      toBlock: "30",
    });
    const loaded = events.filter(({ event }) => event === "loaded");
    expect(loaded.map(({ table, fromBlock, rows }) => [table, fromBlock, rows]).sort()).toEqual([
      ["blocks", "1", "10"],
      ["blocks", "11", "10"],
      ["trades", "1", "20"],
      ["trades", "11", "20"],
    ]);
    expect(events.at(-1)).toMatchObject({ event: "summary", units: 4, rows: "60", failed: [] });
  });

  it("takes several nodes, each by its URL", async () => {
    const urls = ["--grpc-url", node.grpcUrl, "--rest-url", node.restUrl, "--rest-url", `${node.restUrl}/`];
    const args = ["sync", ...urls, "--to", "duckdb:several.duckdb", "--table", "trades"];
    const { code, out } = await run(args, { cwd: folder });
    expect(code).toBe(0);
    expect(lines(out).at(-1)).toMatchObject({ event: "summary", units: 3 });
    const wrong = await run([...args, "--transport", "grpc"], { cwd: folder });
    expect(wrong).toMatchObject({ code: 2, out: "", err: expect.stringContaining("--transport grpc") });
  });

  it("fails where the range lies beyond the node's history, and claims nothing", async () => {
    const { code, out, err } = await sync("--to", "duckdb:beyond.duckdb", ...two, "--from-block", "999999999");
    expect(code).toBe(1);
    expect(out).toContain("Loaded 0 rows from 0 exports");
    expect(err).toContain("none of the node's segments, blocks 1 to 30, is within the range\n");
    expect(err).toContain(
      "tradewire: the node has no segment between --from-block and --to-block; its history has blocks 1 to 30. Nothing was loaded.\n",
    );
    expect(err).not.toContain("100.0 %");
  });

  it("stops at another chain, with both named", async () => {
    const args = ["--grpc-url", other.grpcUrl, "--to", "duckdb:first.duckdb"];
    const refused = await run(["sync", ...args], { cwd: folder });
    expect(refused.code).toBe(2);
    expect(refused.err).toMatch(/has chain "sync-1", .*"sync-2"/);
  });
});

describe("blocks that the node has dropped before they were loaded", () => {
  it.each(["duckdb:pruned.duckdb", "parquet:pruned"])(
    "are named everywhere, and loaded from another node: %s",
    async (to) => {
      await using proxy = await startHistoryProxy(node.grpcUrl);
      const from = (name: string, ...args: string[]) =>
        run(["sync", ...(name === "" ? [] : [name]), "--grpc-url", proxy.url, "--to", to, ...args, ...format(args)], {
          cwd: folder,
        });
      proxy.list = (segments) => segments.filter(({ toHeight }) => toHeight <= 10n);
      expect(await from("", ...two)).toMatchObject({ code: 0 });
      const named = "  trades of blocks 11 to 20\n  blocks of blocks 11 to 20\n";
      const gaps = ["trades", "blocks"].map((table) => ({ table, fromBlock: "11", toBlock: "20" }));

      proxy.list = (segments) => segments.filter(({ fromHeight }) => fromHeight >= 21n);
      const before = await from("status");
      expect(before).toMatchObject({ code: 1, out: expect.stringContaining(named) });
      expect(before.out).toContain("2 segments of tables are missing;");
      const planned = await from("", ...two, "--dry-run");
      expect(planned).toMatchObject({ code: 1, out: expect.stringContaining(named) });
      const loaded = await from("", ...two);
      expect(loaded).toMatchObject({ code: 1, err: expect.stringContaining(named) });
      expect(loaded.err).not.toContain("100.0 %");
      const events = await from("", ...two, "-o", "jsonl");
      expect(events).toMatchObject({ code: 1, err: expect.stringContaining(named) });
      expect(lines(events.out).at(-1)).toMatchObject({ event: "summary", units: 0, gaps });

      const status = await from("status");
      expect(status).toMatchObject({ code: 1, out: expect.stringContaining(named) });
      expect(status.out).not.toContain("Nothing is missing");
      const counts = [
        { table: "trades", missing: "0", gapBlocks: "10" },
        { table: "blocks", missing: "0", gapBlocks: "10" },
      ];
      const inJson = await from("status", "--json");
      expect(inJson.code).toBe(1);
      const found = JSON.parse(inJson.out);
      expect(found).toMatchObject({ tables: counts, missing: [], gaps });
      expect(found.tables).toHaveLength(2);
      for (const deep of [[], ["--deep"]]) {
        expect(await from("verify", ...deep)).toMatchObject({ code: 1, out: expect.stringContaining(named) });
        const verified = await from("verify", "--json", ...deep);
        expect(verified.code).toBe(1);
        expect(JSON.parse(verified.out)).toMatchObject({
          gaps,
          unsound: 0,
          ...(deep.length > 0 && { missing: "0" }),
        });
      }

      expect(await from("status", "--from-block", "21")).toMatchObject({ code: 0 });
      const both = await from("", "--grpc-url", node.grpcUrl, ...two);
      expect(both).toMatchObject({ code: 0, out: expect.stringContaining("from 2 exports") });
      expect(await from("status")).toMatchObject({ code: 0, out: expect.stringContaining("Nothing is missing.") });
      expect(await from("verify", "--deep")).toMatchObject({ code: 0 });
    },
  );

  it("are named for a table that was asked for and never loaded", async () => {
    await using proxy = await startHistoryProxy(node.grpcUrl);
    const to = ["--grpc-url", proxy.url, "--to", "duckdb:asked.duckdb"];
    proxy.list = (segments) => segments.filter(({ toHeight }) => toHeight <= 20n);
    proxy.answer = (messages) => cutShort(messages, new ConnectError("the disk is broken", Code.DataLoss));
    expect((await run(["sync", ...to, "--table", "blocks"], { cwd: folder })).code).toBe(1);
    proxy.list = (segments) => segments.filter(({ fromHeight }) => fromHeight >= 21n);
    proxy.answer = (messages) => messages;
    const after = await run(["sync", ...to, "--table", "blocks"], { cwd: folder });
    expect(after).toMatchObject({ code: 1, err: expect.stringContaining("  blocks of blocks 1 to 20\n") });
    expect(await run(["sync", "status", ...to], { cwd: folder })).toMatchObject({ code: 1 });
  });
});

it("a node without any history fails, and says so", async () => {
  await using proxy = await startHistoryProxy(node.grpcUrl);
  proxy.list = () => [];
  const args = ["sync", "--grpc-url", proxy.url, "--to", "duckdb:empty.duckdb"];
  const err = "tradewire: the node has no history yet. Nothing was loaded.\n";
  const text = await run([...args, "-o", "table"], { cwd: folder });
  expect(text).toMatchObject({ code: 1, err: expect.stringContaining(err) });
  const inJson = await run(args, { cwd: folder });
  expect(inJson).toMatchObject({ code: 1, err });
  expect(lines(inJson.out).at(-1)).toMatchObject({ event: "summary", chainId: "", units: 0 });
});

describe("tradewire sync --dry-run", () => {
  it("shows what would be fetched, and makes nothing", async () => {
    const { code, out } = await sync("--to", "duckdb:dry.duckdb", ...two, "--dry-run", "--segments-per-export", "3");
    expect(code).toBe(0);
    expect(out.split("\n").map((line) => line.trim().split(/ {2,}/))).toEqual(
      expect.arrayContaining([
        ["trades", "0", "0", "3", "1"],
        ["all tables", "0", "0", "6", "2"],
      ]),
    );
    expect(await readdir(folder)).not.toContain("dry.duckdb");
  });

  it.each([
    ["duckdb:dry.duckdb", /^CREATE TABLE trades \([^;]*_from_block BIGINT NOT NULL\n\)$/],
    ["postgres://nobody@127.0.0.1:1/none", /never/],
  ])("prints the SQL of the tables for a program: %s", async (to, statement) => {
    const { out, code, err } = await sync("--to", to, "--table", "trades", "--dry-run", "-o", "jsonl");
    if (to.startsWith("duckdb")) {
      const [plan] = lines(out);
      expect(code).toBe(0);
      expect(plan).toMatchObject({ event: "plan", tables: [{ table: "trades", calls: 3 }] });
      expect(plan?.["sql"]).toEqual([expect.stringMatching(statement)]);
    } else {
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toMatch(/^tradewire: postgres:\/\/127\.0\.0\.1:1\/none, reading the ledger: connect ECONNREFUSED/);
    }
  });
});

it("a sync from a node that does not answer has no share of its history yet", async () => {
  const args = ["sync", "--grpc-url", "http://127.0.0.1:1", "--to", "duckdb:none.duckdb", "-o", "table"];
  const running = startCommand(args, { cwd: folder });
  await eventually(() => /^\S+Z waiting: .*refused/m.test(running.said()));
  running.interrupt("SIGINT");
  expect((await running.ended).err).not.toContain("%");
});

describe("tradewire sync status and verify", () => {
  it.each(["duckdb:absent.duckdb", "parquet:absent"])(
    "status of %s, into which nothing was loaded yet, is empty, has the lag, and creates nothing",
    async (to) => {
      const { code, out, err } = await below("status", "--to", to, ...two);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(out).toMatch(
        /^(duckdb|parquet):absent\S* does not exist yet: nothing was loaded\. The node has 3 segments, blocks 1 to 30\. The data node of http:\S+ has the core's last block/,
      );
      expect(out).toMatch(/^trades +0 +0 +0 B +3$/m);
      const { chainId, lags, tables } = JSON.parse((await below("status", "--to", to, ...two, "--json")).out);
      expect([chainId, lags[0].lag.behindCoreMs]).toEqual([undefined, 0]);
      expect(tables).toMatchObject([{ table: "trades", units: 0, missing: "3" }, { table: "blocks" }]);
      expect(await readdir(folder)).not.toContain(to.replace(/^.*:/, ""));
    },
  );

  it("status of a target in a folder that does not exist is an error", async () => {
    expect(await below("status", "--to", "duckdb:absent/history.duckdb")).toEqual({
      code: 1,
      out: "",
      err: "tradewire: absent: no such file or directory\nCheck --to, or create the folder.\n",
    });
  });

  it("tell what is there, with the node and without", async () => {
    await sync("--to", "duckdb:status.duckdb", "--table", "trades", "--to-block", "20");
    const beside = await below("status", "--to", "duckdb:status.duckdb", ...two);
    expect(beside.code).toBe(0);
    expect(beside.out).toContain("has the history of chain sync-1. The node has 3 segments, blocks 1 to 30.");
    expect(beside.out).toMatch(/^trades +2 +40 .* 1 +20 +1$/m);
    expect(beside.out).toMatch(/^blocks +0 +0 .* 3$/m);
    expect(beside.out).toContain("4 segments of tables are missing;");
    const args = ["--grpc-url", "http://127.0.0.1:1", "--to", "duckdb:status.duckdb"];
    const alone = await run(["sync", "status", ...args, "-o", "table"], { cwd: folder });
    expect(alone.code).toBe(0);
    expect(alone.out).toMatch(/\ntable .*\ntrades +2 +40 .* 1 +20\n$/);
    expect(alone.err).toMatch(/^Not compared with a node: /);
    const terminal = { columns: 60, rows: 20 };
    const to = ["--grpc-url", node.grpcUrl, "--to", "duckdb:status.duckdb", ...two];
    const narrow = await run(["sync", "status", ...to], { cwd: folder, terminal, environment: { NO_COLOR: "1" } });
    expect(narrow.out).toContain("has the history of chain sync-1. The\nnode has 3 segments, blocks 1 to 30.");
    expect(Math.max(...`${narrow.out}${narrow.err}`.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(60);
  });

  it("fails where the histories diverge, as text and as JSON", async () => {
    await using parted = await startDevnode({ ...history, chainId: "sync-3" });
    const makeSegment = async () => {
      for (let made = 0; made < history.blocksPerSegment; made += 1) {
        await parted.makeBlock();
      }
    };
    const before = parted.snapshot();
    await makeSegment();
    const from = ["--grpc-url", parted.grpcUrl, "--to", "duckdb:parted.duckdb"];
    await run(["sync", ...from, "--table", "trades"], { cwd: folder });
    parted.revert(before);
    parted.setTime("2031-01-01T00:00:00Z");
    await makeSegment();
    const args = ["sync", "status", ...from];
    const status = await run([...args, "-o", "table"], { cwd: folder });
    expect(status).toMatchObject({
      code: 1,
      err: expect.stringContaining("the histories diverge: duckdb:parted.duckdb"),
    });
    expect(status.err).toContain("sync with replaceFrom (--replace-from-block) 31. Nothing was changed");
    const inJson = await run([...args, "--json"], { cwd: folder });
    expect(inJson).toMatchObject({ code: 1, err: "" });
    expect(JSON.parse(inJson.out)).toMatchObject({ divergence: { entry: { table: "trades", fromBlock: "31" } } });
  });

  it("finds rows that are gone, and rows that were changed, and fails", async () => {
    await sync("--to", "duckdb:changed.duckdb", "--table", "trades");
    const sound = await below("verify", "--to", "duckdb:changed.duckdb", "--deep", "--table", "trades");
    expect(sound).toMatchObject({ code: 0 });
    expect(sound.out).toContain("3 were fetched again and compared by value. All units match.");
    const instance = await DuckDBInstance.create(join(folder, "changed.duckdb"));
    const connection = await instance.connect();
    await connection.run(
      "DELETE FROM trades WHERE _from_block = 1 AND seq_num = (SELECT max(seq_num) FROM trades WHERE _from_block = 1) AND vega_time = (SELECT max(vega_time) FROM trades WHERE _from_block = 1)",
    );
    await connection.run("UPDATE trades SET size = size + 1 WHERE _from_block = 11");
    connection.closeSync();
    instance.closeSync();
    const counted = await below("verify", "--to", "duckdb:changed.duckdb");
    expect(counted.code).toBe(1);
    expect(counted.out).toContain("  trades of blocks 1 to 10: 19 rows, but the ledger has 20\n");
    expect(counted.out).toContain("1 does not match:");
    expect(counted.out).not.toContain("blocks 11 to 20");
    const deep = await below("verify", "--to", "duckdb:changed.duckdb", "--deep", "--json");
    expect(deep.code).toBe(1);
    expect(lines(deep.out)[0]).toMatchObject({
      unsound: 2,
      listed: [
        { entry: { fromBlock: "1" }, deep: { missing: "1", extra: "0" } },
        { entry: { fromBlock: "11" }, deep: { missing: "20", extra: "20" } },
      ],
    });
    const repaired = await below("verify", "--to", "duckdb:changed.duckdb", "--deep", "--repair");
    expect(repaired).toMatchObject({ code: 0 });
    expect(repaired.out).toContain("2 do not match:");
    expect(repaired.out).toContain("2 units with 40 rows were reloaded.\n");
    const again = await below("verify", "--to", "duckdb:changed.duckdb", "--deep");
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining("All units match.") });
  });

  it("says of values that it has not compared no more than that row counts match, and names missing units", async () => {
    await sync("--to", "duckdb:values.duckdb", "--table", "trades");
    const instance = await DuckDBInstance.create(join(folder, "values.duckdb"));
    const connection = await instance.connect();
    await connection.run("UPDATE trades SET size = size + 1 WHERE _from_block = 1");
    await connection.run(
      "DELETE FROM trades WHERE _from_block = 11; DELETE FROM tradewire_ledger WHERE from_block = 11",
    );
    connection.closeSync();
    instance.closeSync();
    const { code, out } = await below("verify", "--to", "duckdb:values.duckdb");
    expect({ code, out }).toEqual({
      code: 1,
      out:
        "2 units with 40 rows in duckdb:values.duckdb. Row counts match. To compare values, use --deep.\n" +
        "Missing blocks between units; `tradewire sync` loads those that a node has:\n  trades of blocks 11 to 20\n",
    });
  });
});

describe("tradewire sync compact", () => {
  it("joins Parquet files, which are sound afterwards and are not fetched again", async () => {
    const compact = (...args: string[]) => run(["sync", "compact", ...args, ...format(args)], { cwd: folder });
    const to = ["--to", "parquet:joined"];
    expect(await sync(...to, ...two)).toMatchObject({ code: 0 });
    const joined = await compact(...to, "--table", "trades", "--rows-per-file", "40", "--json");
    expect(lines(joined.out)).toEqual([{ joined: 2, files: 1, rows: "40", busy: 0 }]);
    expect((await compact(...to)).out).toMatch(/^\d+ files with \d+ rows were merged into \d+ in parquet:joined\.\n$/);
    expect((await compact(...to)).out).toBe("No files to merge in parquet:joined.\n");
    const deep = await below("verify", ...to, "--deep", ...two);
    expect(deep).toMatchObject({ code: 0, out: expect.stringContaining("All units match.") });
    const again = await sync(...to, ...two, "-o", "jsonl");
    expect(lines(again.out).at(-1)).toMatchObject({ units: 0 });
    const none = await compact("--to", "parquet:none");
    expect(none).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining("parquet:none is not the target of a sync"),
    });
    const other = await compact("--to", "duckdb:a.duckdb");
    expect(other).toMatchObject({ code: 2, err: expect.stringContaining("sync compact applies only to Parquet") });
  });
});

describe("tradewire sync verify of what is damaged", () => {
  it("names a Parquet file that cannot be read, and verifies the others", async () => {
    expect(await sync("--to", "parquet:damaged", ...two)).toMatchObject({ code: 0 });
    const file = join(folder, "damaged/data/table=trades/from=0000000011/0000000011-0000000020.parquet");
    await truncate(file, 100);
    for (const deep of [[], ["--deep"]]) {
      const { code, out } = await below("verify", "--to", "parquet:damaged", ...two, ...deep);
      expect(code).toBe(1);
      expect(out).toMatch(
        /^6 units with 70 rows in parquet:damaged.* 1 does not match:\n {2}trades of blocks 11 to 20: .*magic/,
      );
    }
    const { out } = await below("verify", "--to", "parquet:damaged", ...two, "--json");
    const error = { code: "DATA_LOSS", advice: expect.stringContaining("The file is damaged.") };
    expect(lines(out)).toMatchObject([{ unsound: 1, listed: [{ entry: { fromBlock: "11" }, error }] }]);
  });

  it("fails where nothing is there yet, as where a path is misspelt", async () => {
    const { code, out } = await below("verify", "--to", "duckdb:nowhere.duckdb");
    expect({ code, out }).toEqual({
      code: 1,
      out: expect.stringMatching(/^duckdb:nowhere\.duckdb does not exist or is empty, .*\nCheck --to, or run /),
    });
  });
});
