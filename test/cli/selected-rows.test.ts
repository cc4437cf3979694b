import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createClient, openArchive, type TableName, tableNames } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run } from "../support/command.js";
import { taken } from "../support/taken.js";
import { isFull, sample } from "../support/tier.js";

type Row = Readonly<Record<string, string | null>>;

const BLOCKS = 40;
let node: Devnode;
let folder: string;
/** The rows of all tables, and the heights of the blocks by their times. */
const whole = new Map<TableName, Row[]>();
const heights = new Map<string | null | undefined, number>();
let times: readonly string[];
beforeAll(async () => {
  node = await startDevnode({
    ...{ segments: 4, blocksPerSegment: 10, blockMs: 0, chainId: "cli-1", activity: 2 },
    schemaVersions: [115, 115, 116],
  });
  folder = await mkdtemp(join(tmpdir(), "tradewire-selected-"));
  await using client = createClient({ grpc: { url: node.grpcUrl } });
  for (const table of tableNames) {
    const rows = client.exportNetworkHistory({ table, fromBlock: 1, toBlock: BLOCKS }).rows();
    whole.set(table, (await taken(rows)).values);
  }
  for (const { vega_time, height } of whole.get("blocks") ?? []) {
    heights.set(vega_time, Number(height));
  }
  times = [...heights.keys()].map((time) => String(time).replace(" ", "T").replace("+00", "Z"));
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const urls = () => ["--grpc-url", node.grpcUrl, "--rest-url", node.restUrl];
const rowsOf = (table: TableName) => whole.get(table) ?? [];
const linesOf = (rows: readonly Row[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
const within = (from: number, to: number) => (row: Row) => {
  const height = heights.get(row["vega_time"]) ?? Number.NaN;
  return from <= height && height <= to;
};
const grouped = (count: number) => count.toLocaleString("en-US");
const counts = (read: number, printed: number) => `Read ${grouped(read)} rows, printed ${grouped(printed)}.\n`;

/** Run an export that prints lines of JSON. */
const exported = (transport: string, table: TableName, ...more: string[]) =>
  run(["export", "--transport", transport, ...urls(), "--table", table, "--output", "jsonl", ...more]);

describe.each(["grpc", "rest"])("rows of blocks over %s", (transport) => {
  it.each([
    [["--from-block", "5", "--to-block", "15"], 5, 15, 1, 20],
    [["--blocks", "5:15"], 5, 15, 1, 20],
    [["--blocks", "12:14"], 12, 14, 11, 20],
    [["--blocks", "10:11"], 10, 11, 1, 20],
    [["--blocks", "0.02k:"], 20, 40, 11, 40],
    [["--blocks", ":7"], 1, 7, 1, 10],
    [["--blocks", "-15:"], 26, 40, 21, 40],
    [["--from-block", "-1"], 40, 40, 31, 40],
    [["--from-block", "-15", "--to-block", "-12"], 26, 29, 21, 30],
    [["--to-block", "35"], 1, 35, 1, 40],
  ] as const)("are those of the complete segments, filtered: %j", async (options, from, to, first, last) => {
    for (const table of sample(tableNames, 4, from)) {
      const rows = rowsOf(table).filter(within(from, to));
      const outcome = await exported(transport, table, ...options);
      const read = rowsOf(table).filter(within(first, last)).length;
      expect(outcome).toEqual({ code: 0, out: linesOf(rows), err: counts(read, rows.length) });
    }
    expect(rowsOf("trades").filter(within(from, to)).length).toBeGreaterThan(0);
  });

  it.each([
    ["--blocks", "11:20"],
    ["--blocks", "11:"],
    ["--blocks", "-1k:"],
    ["--blocks", "-30:-1"],
    ["--blocks", "12:14", "--snap"],
  ])("need no filter where they are complete segments: %s %s", async (...options) => {
    const { code, out, err } = await exported(transport, "trades", ...options);
    const [from, to] = { "11:20": [11, 20], "12:14": [11, 20], "-1k:": [1, 40] }[options[1]] ?? [11, 40];
    expect([code, out, err]).toEqual([0, linesOf(rowsOf("trades").filter(within(from ?? 0, to ?? 0))), ""]);
  });
});

it("without any selection, all blocks are exported, as rows or as an archive", async () => {
  const rows = await exported("grpc", "trades");
  expect(rows).toEqual({ code: 0, out: linesOf(rowsOf("trades")), err: "" });
  const saved = await run(["export", ...urls(), "--table", "trades", "--to", join(folder, "all.zip"), "--json"]);
  expect(saved.code).toBe(0);
  expect(await run(["rows", join(folder, "all.zip"), "-o", "jsonl"])).toMatchObject({ code: 0, out: rows.out });
  const expected = await run(["export", ...urls(), "--table", "trades", "--estimate", "--json"]);
  expect(JSON.parse(expected.out)).toMatchObject({ total: { rows: { likely: rowsOf("trades").length } } });
});

describe.each(["grpc", "rest"])("rows of times, markets and parties over %s", (transport) => {
  it.each([
    [17, 26],
    [11, 21],
    [1, 5],
    [40, 41],
  ])("are those of blocks from one time to before another: %d to %d", async (first, end) => {
    const limits = ["--since", times[first - 1] ?? "", ...(end > BLOCKS ? [] : ["--until", times[end - 1] ?? ""])];
    for (const table of sample(tableNames, 4, first)) {
      const rows = rowsOf(table).filter(within(first, end - 1));
      const { code, out, err } = await exported(transport, table, ...limits);
      expect([code, out]).toEqual([0, linesOf(rows)]);
      expect(err).toMatch(new RegExp(`^Read [\\d,]+ rows, printed ${grouped(rows.length)}\\.\\n$`));
    }
  });

  it("combine with blocks: all that is asked must fit", async () => {
    const options = ["--blocks", "5:30", "--since", times[13] ?? "", "--until", times[34] ?? ""];
    const rows = rowsOf("orders").filter(within(14, 30));
    const { out } = await exported(transport, "orders", ...options);
    expect(out).toBe(linesOf(rows));
    expect(rows.length).toBeGreaterThan(0);
  });

  it("are those of a market by its code or its ID, and of any of several parties on either side of a trade", async () => {
    const markets = (await run(["markets", ...urls(), "--output", "jsonl"])).out.trim().split("\n");
    const { id, code } = JSON.parse(markets[0] ?? "");
    const ofMarket = (row: Row) => row["market_id"] === `\\x${id}`;
    const traders = rowsOf("trades")
      .filter(ofMarket)
      .flatMap(({ buyer, seller }) => [buyer, seller]);
    const parties = [...new Set(traders)].slice(-3, -1);
    const keys = parties.map((party) => String(party).slice(2)).join();
    const ofParty = (row: Row) => parties.includes(row["buyer"] ?? "") || parties.includes(row["seller"] ?? "");
    for (const market of [code, id, id.slice(0, 10)]) {
      const { out, err } = await exported(transport, "trades", "--blocks", "1:40", "--market", market);
      const rows = rowsOf("trades").filter(ofMarket);
      expect([out, err]).toEqual([linesOf(rows), counts(rowsOf("trades").length, rows.length)]);
      expect(rows.length).toBeGreaterThan(0);
    }
    const both = ["--blocks", "5:40", "--market", code, "--party", keys];
    const rows = rowsOf("trades").filter((row) => within(5, 40)(row) && ofMarket(row) && ofParty(row));
    expect((await exported(transport, "trades", ...both)).out).toBe(linesOf(rows));
    expect(rows.length).toBeGreaterThan(0);
  });
});

describe("tradewire export with a selection", () => {
  const save = (...more: string[]) => run(["export", ...urls(), "--table", "trades", "--to", folder, ...more]);

  it("prints CSV as the node writes it, and stops at its limit", async () => {
    const options = ["export", ...urls(), "--table", "orders", "--output", "csv", "--columns"];
    const all = (await run([...options, "reference,id,vega_time", "--blocks", "1:40"])).out;
    const some = await run([...options, "reference,id,vega_time", "--blocks", "7:33"]);
    expect(some.code).toBe(0);
    expect(all).toContain(some.out.slice(some.out.indexOf("\n") + 1));
    const few = await run([...options, "id", "--blocks", "7:33", "--limit", "2"]);
    const ids = rowsOf("orders").filter(within(7, 33)).slice(0, 2);
    expect(few.out).toBe(`id\n${ids.map(({ id }) => `${id}\n`).join("")}`);
    expect(few.err).toMatch(/^Read \d+ rows, printed 2\.\n$/);
  });

  it("saves archives of complete segments only, never filtered ones", async () => {
    const open = await save("--blocks", "21:", "--json");
    const { path } = JSON.parse(open.out);
    expect(JSON.parse(open.out)).toMatchObject({ fromBlock: "21", toBlock: "40" });
    expect((await taken(openArchive(path).rows())).values).toEqual(rowsOf("trades").filter(within(21, 40)));
    const times17 = await save("--since", times[16] ?? "", "--until", times[18] ?? "", "--snap", "--json");
    expect(JSON.parse(times17.out)).toMatchObject({ fromBlock: "11", toBlock: "20" });
    const before = await readdir(folder);
    for (const [options, message] of [
      [["--since", times[16] ?? ""], "--since applies to rows, but the output is an archive\n"],
      [["--blocks", "1:40", "--until", "2024-01-01"], "--until applies to rows"],
      [["--blocks", "1:40", "--market", "M0"], "--market applies to rows"],
      [["--blocks", "1:40", "--party", "network", "--snap"], "--party applies to rows"],
      [["--blocks", "-15:"], "--from-block 26 is not the first block of a history segment\n"],
      [["--blocks", "21:35"], "--to-block 35 is not the last block of a history segment\n"],
    ] as const) {
      const { code, out, err } = await save(...options);
      expect([code, out, err]).toEqual([2, "", expect.stringContaining(`tradewire: ${message}`)]);
    }
    expect(await readdir(folder)).toEqual(before);
  });

  it("says what is wrong", async () => {
    const hour = "2100-01-01";
    for (const [options, message] of [
      [["--blocks", "5-7"], "--blocks must be the first and the last block with a colon between them"],
      [["--blocks", ":"], "--blocks must be the first and the last block"],
      [["--blocks", "1:2:3"], "--blocks must be the first and the last block"],
      [["--blocks", "1x:"], "--blocks must be a block height, a whole number from 1, such as 1500, 5k or 1M"],
      [["--blocks", "1.5:"], "--blocks must be a block height"],
      [["--from-block", "-0"], "--from-block must be a block height, such as 1500, 5k or 1M, or count from the last"],
      [
        ["--blocks", "1:5", "--to-block", "7"],
        "option '--blocks <first:last>' cannot be used with option '--to-block <height>'",
      ],
      [["--blocks", "7:5"], "--from-block 7 is after --to-block 5\n"],
      [["--blocks", "5:99"], "--to-block 99 is in no history segment of the node\n"],
      [["--blocks", "41:"], "--from-block 41 is outside the node's history\nIts history has blocks 1 to 40.\n"],
      [["--blocks", "-5:-9"], "--from-block 36 is after --to-block 32\n"],
      [["--since", "yesterday"], "--since must be ISO 8601"],
      [["--since", hour], "--since is after the time of block 40, the last of the history\n"],
      [["--since", hour, "--until", "2024-01-01"], "the date range is empty"],
      [["--blocks", "5:15", "--columns", "nothing"], 'unknown column "nothing"'],
      [["--blocks", "5:15", "--market", "NONE"], 'no market has the code or ID "NONE"'],
    ] as const) {
      for (const format of ["jsonl", "csv"]) {
        const outcome = await exported("grpc", "trades", ...options, "-o", format);
        expect(outcome).toEqual({ code: 2, out: "", err: expect.stringContaining(`tradewire: ${message}`) });
      }
    }
    const limited = await exported("grpc", "trades", "--to-block", "30", "--since", times[37] ?? "", "-o", "csv");
    expect(limited).toEqual({
      code: 2,
      out: "",
      err: "tradewire: --since is after the time of block 30, the last of the range\nUse an earlier time or a later last block.\n",
    });
    const tables = (option: string, table: TableName) => exported("grpc", table, "--blocks", "1:40", option, "network");
    const market = await tables("--market", "ledger");
    expect(market).toMatchObject({ code: 2, out: "" });
    expect(market.err).toBe(
      "tradewire: --market does not apply to the table ledger, whose rows name no market\nTables whose rows name a market: orders, trades, market_data, positions, liquidity_provisions, markets, rewards.\n",
    );
    expect((await tables("--party", "blocks")).err).toContain(
      "Tables whose rows name a party: delegations, orders, trades, positions, liquidity_provisions, deposits, withdrawals, rewards.\n",
    );
  });
});

describe("tradewire follow with a selection", () => {
  const follow = (table: TableName, ...more: string[]) => run(["follow", ...urls(), "--table", table, ...more]);

  it.each([
    [["--blocks", "5:15"], 5, 15],
    [["--from-block", "12", "--to-block", "14"], 12, 14],
    [["--blocks", "-15:-1"], 26, 40],
  ] as const)("prints the rows of blocks: %j", async (options, from, to) => {
    for (const table of isFull() ? tableNames : (["trades", "liquidity_provisions"] as const)) {
      const rows = rowsOf(table).filter(within(from, to));
      const { code, out } = await follow(table, ...options);
      expect([code, out]).toEqual([0, linesOf(rows)]);
    }
  });

  it("prints the rows from a time on, of a party, in chosen columns, and says how many it read", async () => {
    const [{ party_id: party = "" } = {}] = rowsOf("orders");
    const options = ["--since", times[16] ?? "", "--party", String(party).slice(2), "--columns", "id,version"];
    const rows = rowsOf("orders").filter((row) => within(17, 40)(row) && row["party_id"] === party);
    const { code, out, err } = await follow("orders", ...options, "--to-block", "40");
    expect([code, out]).toEqual([0, linesOf(rows.map(({ id = null, version = null }) => ({ id, version })))]);
    expect(err).toBe(counts(rowsOf("orders").filter(within(11, 40)).length, rows.length));
    expect(rows.length).toBeGreaterThan(0);
  });

  it("goes on behind its cursor with nothing lost or repeated, whatever counts from now", async () => {
    const file = join(folder, "selected.cursor");
    const rows = rowsOf("trades").filter(within(5, 40));
    let lines = "";
    for (let ends = 0; ends < 100; ends += 1) {
      const start = ends === 0 ? "5" : "-1";
      const { out } = await follow(
        "trades",
        "--from-block",
        start,
        "--to-block",
        "40",
        "-n",
        "9",
        "--cursor-file",
        file,
      );
      if (out === "") {
        break;
      }
      lines += out;
    }
    expect(lines).toBe(linesOf(rows));
  });
});
