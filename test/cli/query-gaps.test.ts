// Slow, and worth it: blocks are missing in archives, in a DuckDB file and in a folder of Parquet files.
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { duckdbSink, parquetSink } from "tradewire/sync";
import { run, startCommand } from "../support/command.js";
import { eventually } from "../support/eventually.js";
import { blocksCsv, fetchOf, openingOf, unitOf } from "../support/units.js";

let node: Devnode;
let folder: string;
beforeAll(async () => {
  node = await startDevnode({ segments: 3, blocksPerSegment: 10, blockMs: 0, activity: 1, chainId: "gaps" });
  folder = await mkdtemp(join(tmpdir(), "tradewire-gaps-"));
  const tables = ["--table", "trades,markets"];
  for (const to of ["duckdb:history.duckdb", "parquet:history"]) {
    const sync = ["sync", "--grpc-url", node.grpcUrl, "--to", to, ...tables];
    expect(await tradewire(...sync, "--to-block", "10")).toMatchObject({ code: 0 });
    expect(await tradewire(...sync, "--from-block", "21")).toMatchObject({ code: 0 });
    // This table has no gap.
    expect(await tradewire(...sync.slice(0, -1), "blocks")).toMatchObject({ code: 0 });
  }
  for (const [table, ...ranges] of [
    ["trades", "1-10", "21-30"],
    ["blocks", "1-30"],
  ]) {
    for (const [from = "", to = ""] of ranges.map((range) => range.split("-"))) {
      const range = ["--from-block", from, "--to-block", to];
      const args = ["export", "--grpc-url", node.grpcUrl, "--table", String(table), ...range, "--to", "archives/"];
      expect(await tradewire(...args)).toMatchObject({ code: 0 });
    }
  }
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const tradewire = (...args: string[]) => run(args, { cwd: folder });
const MISSING = "tradewire: missing blocks, although others are loaded, so that rows may be missing (";
const [SYNC, EXPORT] = ["load them with `tradewire sync`", "export them to the folder"];
const [MARKETS, TRADES] = ["  markets of blocks 11 to 20\n", "  trades of blocks 11 to 20\n"];

describe.each([
  ["--from", "duckdb:history.duckdb", SYNC, MARKETS],
  ["--from", "parquet:history", SYNC, MARKETS],
  ["--from-archives", "archives", EXPORT, ""],
])("a gap of %s %s", (option, place, advice, markets) => {
  const query = (...args: string[]) => tradewire("query", option, place, ...args);

  it("is named after the rows of a statement that reads the table", async () => {
    expect(await query("-o", "csv", "SELECT count(*) AS rows FROM trades")).toEqual({
      code: 1,
      out: "rows\n40\n",
      err: `${MISSING}${advice}):\n${TRADES}`,
    });
    const { code, err } = await query("-o", "csv", "SELECT count(*) FROM candles_1h JOIN blocks ON true");
    expect({ code, err }).toEqual({ code: 1, err: `${MISSING}${advice}):\n${markets}${TRADES}` });
  });

  it("is named after rows are saved", async () => {
    const saved = await query("-o", "parquet", "--to", "saved.parquet", "--force", "FROM trades");
    expect(saved).toMatchObject({
      code: 1,
      out: expect.stringContaining(".parquet"),
      err: expect.stringMatching(TRADES),
    });
  });

  it("is not named after a statement that does not read the table", async () => {
    for (const sql of ["SELECT count(*) AS rows FROM blocks", "SELECT 30 AS rows"]) {
      expect(await query("-o", "csv", sql)).toEqual({ code: 0, out: "rows\n30\n", err: "" });
    }
  });
});

it.each(["duckdb", "parquet"])("many gaps are summarised, also those before the first unit: %s", async (kind) => {
  const place = join(folder, `many.${kind}`);
  await using sink = kind === "duckdb" ? duckdbSink(place) : parquetSink(place);
  await sink.open(openingOf({ tables: ["blocks"], fromBlock: 1n }));
  for (let block = 2; block <= 50; block += 2) {
    const how = { replace: false, signal: new AbortController().signal };
    await sink.load(unitOf("blocks", block, block), fetchOf(blocksCsv(block, block)), how);
  }
  await sink.close();
  const odd = Array.from({ length: 20 }, (_, index) => `  blocks of blocks ${2 * index + 1} to ${2 * index + 1}\n`);
  expect(
    await tradewire("query", "--from", `${kind}:${place}`, "-o", "csv", "SELECT count(*) AS rows FROM blocks"),
  ).toEqual({
    code: 1,
    out: "rows\n25\n",
    err: `${MISSING}${SYNC}):\n${odd.join("")}  and 5 more\n`,
  });
});

describe("a broken archive", () => {
  /** Copies the archives, and replaces one of them. */
  async function broken(name: string, change: (content: Buffer) => Uint8Array) {
    const place = join(folder, name);
    await cp(join(folder, "archives"), place, { recursive: true });
    const path = join(place, "gaps-trades-21-30.zip");
    await writeFile(path, change(await readFile(path)));
    return { place, path };
  }
  /** It is found only once the archive is read. */
  const damaged = (content: Buffer) => content.fill(0, 1000, 1010);
  const changes: [string, (content: Buffer) => Uint8Array][] = [
    ["no ZIP", () => Buffer.from("no archive ".repeat(100_000))],
    ["empty", () => Buffer.alloc(0)],
    ["cut short", (content) => content.subarray(0, -30)],
    ["cut in half", (content) => content.subarray(0, content.length / 2)],
    ["damaged", damaged],
  ];

  it.each(changes)("is named: %s", async (name, change) => {
    const { place, path } = await broken(name, change);
    const { code, out, err } = await tradewire("query", "--from-archives", place, "FROM trades");
    expect({ code, out, err }).toEqual({ code: 1, out: "", err: expect.stringContaining(`tradewire: "${path}": `) });
  });

  it("is named by each statement of a prompt, and read once it is replaced", async () => {
    const { place, path } = await broken("replaced", damaged);
    const input = Object.assign(new PassThrough(), { isTTY: true });
    const environment = { XDG_CACHE_HOME: join(folder, "cache"), TERM: "xterm" };
    const terminal = { columns: 100, rows: 30 };
    const prompt = startCommand(["query", "--from-archives", place], { cwd: folder, environment, input, terminal });
    for (const times of [1, 2]) {
      input.write("SELECT count(*) AS many FROM trades;\n");
      await eventually(() => prompt.said().split(`"${path}": `).length - 1 === times);
    }
    await cp(join(folder, "archives"), place, { recursive: true });
    input.write("SELECT count(*) AS many FROM trades;\n");
    await eventually(() => prompt.printed().includes("40\n") && prompt.said().includes(TRADES));
    input.write(".exit\n");
    expect((await prompt.ended).code).toBe(0);
  });
});
