import { spawn } from "node:child_process";
import { getEventListeners, once } from "node:events";
import { appendFile, cp, mkdir, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { compactParquet, duckdbSink, parquetSink, verifySync } from "tradewire/sync";
import { claimUnit, layoutOf, temporaryName } from "./inside.js";
import { ask, columnsOf, entriesOf, fetchOf, opening, plainly, rowOf, unitAt, withFolder } from "./support/units.js";

const columns = columnsOf("blocks");
const fetchBlock = (height: number) => fetchOf(columns, [rowOf("blocks", { height: String(height) })]);

it("finishes what a process had made certain, and forgets what it had not", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "out");
    const { pending } = layoutOf(path);
    const old = unitAt("blocks", 1);
    const made = { ...old, segmentId: "new", rows: 1n, bytes: 1n, sha256: "00", loadedAt: "2026-01-01T00:00:00.000Z" };
    const first = parquetSink(path);
    await first.open(opening(["blocks"]));
    await first.load(old, fetchBlock(1), plainly());
    await first.load(unitAt("blocks", 2), fetchBlock(2), plainly());
    const [replaced] = await entriesOf(first, "blocks");
    await first[Symbol.asyncDispose]();

    // It ends once it is certain that the unit is replaced, and before anything is done.
    const broken = await claimUnit(pending, made, () => Promise.reject(new Error("ended")));
    await cp(layoutOf(path).file(unitAt("blocks", 2)), broken?.part ?? "");
    await expect(broken?.commit({ load: made, remove: replaced ? [replaced] : [] })).rejects.toThrow("ended");
    await broken?.release();
    // Another one ends while it writes.
    const writing = await claimUnit(pending, unitAt("blocks", 3), async () => undefined);
    await writeFile(writing?.part ?? "", "half");
    expect(await claimUnit(pending, { ...unitAt("blocks", 2), toBlock: 25n }, async () => undefined)).toBeUndefined();
    await appendFile(layoutOf(path).manifest("blocks"), '{"case":"loaded","chain_id":"ch');

    // As if their process had been one of another machine, long ago.
    for (const name of (await readdir(pending)).filter((each) => each.endsWith(".lock"))) {
      await writeFile(join(pending, name), "0123456789abcdef-1-1 x");
      await utimes(join(pending, name), 0, 0);
    }
    const next = parquetSink(path);
    await next.open(opening(["blocks"]));
    expect(await readdir(pending)).toEqual([]);
    expect((await entriesOf(next, "blocks")).map(({ segmentId }) => segmentId)).toEqual(["new", "id-2"]);
    expect((await next.load(unitAt("blocks", 3), fetchBlock(3), plainly())).outcome).toBe("loaded");
    await next[Symbol.asyncDispose]();
    expect(await ask(`SELECT height FROM read_parquet('${path}/**/*.parquet') ORDER BY ALL`)).toEqual([
      ["2"],
      ["2"],
      ["3"],
    ]);
  });
});

it("finishes what an earlier release had begun, which named the file that is written by its unit", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "out");
    const { pending, file } = layoutOf(path);
    const first = parquetSink(path);
    await first.open(opening(["blocks"]));
    await first.load(unitAt("blocks", 1), fetchBlock(1), plainly());
    await first[Symbol.asyncDispose]();
    const load = { ...unitAt("blocks", 2), rows: 1n, bytes: 1n, sha256: "00", loadedAt: "2026-01-01T00:00:00.000Z" };
    const held = await claimUnit(pending, load, () => Promise.reject(new Error("ended")));
    await expect(held?.commit({ load, remove: [] })).rejects.toThrow("ended");
    await held?.release();
    const change = join(pending, (await readdir(pending)).find((name) => name.endsWith(".json")) ?? "");
    const { part: _part, ...json } = JSON.parse(await readFile(change, "utf8"));
    await writeFile(change, JSON.stringify(json));
    await cp(file(unitAt("blocks", 1)), change.replace(/json$/u, "part"));
    const next = parquetSink(path);
    await next.open(opening(["blocks"]));
    expect((await entriesOf(next, "blocks")).map(({ segmentId }) => segmentId)).toEqual(["id-1", "id-2"]);
    await next[Symbol.asyncDispose]();
    expect(await readdir(pending)).toEqual([]);
    expect((await ask(`SELECT count(*) FROM read_parquet('${path}/**/*.parquet')`))[0]).toEqual(["2"]);
  });
});

it("lays files out so that readers prune by folder, and shows all columns in each", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "out");
    const sink = parquetSink(path);
    await sink.open(opening(["trades"]));
    const before = columnsOf("trades").filter((name) => !name.includes("buy_back"));
    const row = rowOf("trades", {}).filter((_, index) => !columnsOf("trades")[index]?.includes("buy_back"));
    await sink.load(unitAt("trades", 1), fetchOf(before, [row]), plainly());
    await sink.load(unitAt("trades", 2), fetchOf(columnsOf("trades"), [rowOf("trades", {})]), plainly());
    await sink[Symbol.asyncDispose]();
    expect(await readdir(join(path, "data", "table=trades"))).toEqual(["from=0000000001", "from=0000000011"]);
    const glob = `read_parquet('${path}/**/*.parquet')`;
    expect(
      await ask(
        `SELECT "table", "from", _from_block, buyer_buy_back_fee, typeof(vega_time), typeof(id) FROM ${glob} ORDER BY 2`,
      ),
    ).toEqual([
      ["trades", "0000000001", "1", null, "TIMESTAMP WITH TIME ZONE", "BLOB"],
      ["trades", "0000000011", "11", "1", "TIMESTAMP WITH TIME ZONE", "BLOB"],
    ]);
    const codecs = await ask(`SELECT DISTINCT compression FROM parquet_metadata('${path}/**/*.parquet')`);
    expect(codecs).toEqual([["ZSTD"]]);
  });
});

it("has nothing but Parquet files beside those of its own, and goes on with folders whose tables stood there", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "out");
    const load = async (segment: number) => {
      const sink = parquetSink(path);
      await sink.open(opening(["blocks"]));
      await sink.load(unitAt("blocks", segment), fetchBlock(segment), plainly());
      expect((await entriesOf(sink, "blocks")).length).toBe(segment);
      await sink[Symbol.asyncDispose]();
    };
    const filesIn = async (of: string) => {
      const all = await readdir(join(path, of), { recursive: true, withFileTypes: true });
      return all.filter((entry) => entry.isFile()).map(({ name }) => name);
    };
    await load(1);
    expect(await readdir(path)).toEqual(["_tradewire", "data"]);
    expect(await filesIn("data")).toEqual(["0000000001-0000000010.parquet"]);
    // As earlier releases had it.
    await rename(join(path, "data", "table=blocks"), join(path, "table=blocks"));
    await rm(join(path, "data"), { recursive: true });
    await writeFile(layoutOf(path).about, '{"format":2,"chain_id":"chain"}\n');
    await load(2);
    expect(await readdir(path)).toEqual(["_tradewire", "table=blocks"]);
    expect(await verifySync(parquetSink(path))).toMatchObject({ units: 2, rows: 2n, unsound: 0 });
    expect(await compactParquet(path)).toMatchObject({ joined: 2, files: 1 });
    expect(await filesIn("table=blocks")).toEqual(["0000000001-0000000020.parquet"]);
  });
});

it("is opened by several syncs at once where there is no folder yet", async () => {
  await withFolder(async (folder) => {
    const sinks = Array.from({ length: 8 }, () => parquetSink(join(folder, "out")));
    await Promise.all(sinks.map((sink) => sink.open(opening(["blocks"]))));
    await sinks[0]?.load(unitAt("blocks", 1), fetchBlock(1), plainly());
    for (const sink of sinks) {
      expect(await entriesOf(sink, "blocks")).toHaveLength(1);
      await sink[Symbol.asyncDispose]();
    }
  });
});

it("removes what is left of a lock whose process was killed while it released it", async () => {
  await withFolder(async (folder) => {
    const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
    await once(child, "exit");
    const mark = /\.tradewire-([0-9a-f]{16})-\d+-\d+-(\d+)-/.exec(await temporaryName());
    const { pending } = layoutOf(join(folder, "out"));
    await mkdir(pending, { recursive: true });
    await writeFile(
      join(pending, `blocks.0000000001-0000000010.lock.${"0".repeat(32)}`),
      `${mark?.[1]}-${child.pid}-${child.pid}-${mark?.[2]} x`,
    );
    await using sink = parquetSink(join(folder, "out"));
    await sink.open(opening(["blocks"]));
    expect(await readdir(pending)).toEqual([]);
  });
});

it("says what is wrong with a path", async () => {
  await withFolder(async (folder) => {
    const file = join(folder, "text");
    await writeFile(file, "this is no database ".repeat(1000));
    await mkdir(join(folder, "kept"));
    const open = (path: string) => duckdbSink(path).open(opening(["blocks"]));
    await expect(open(join(folder, "none", "a.duckdb"))).rejects.toMatchObject({ name: "SinkError", code: 5 });
    await expect(open(file)).rejects.toThrow("not a valid DuckDB database file");
    await expect(open(join(folder, "kept"))).rejects.toMatchObject({ name: "SinkError" });
    const parquet = (path: string) => parquetSink(path).open(opening(["blocks"]));
    await expect(parquet(join(folder, "none", "out"))).rejects.toMatchObject({ name: "SinkError", code: 5 });
    await expect(parquet(file)).rejects.toMatchObject({ name: "SinkError" });
  });
});

it.each(["duckdb", "parquet"])("has no rows twice of units that were taken out of the ledger: %s", async (kind) => {
  await withFolder(async (folder) => {
    const file = join(folder, "a.duckdb");
    const path = join(folder, "out");
    const opened = async () => {
      const made = kind === "duckdb" ? duckdbSink(file) : parquetSink(path);
      await made.open(opening(["blocks"]));
      return made;
    };
    const first = await opened();
    const wide = { ...unitAt("blocks", 1), toBlock: 20n, segmentId: "id-2" };
    await first.load(
      wide,
      fetchOf(
        columns,
        [1, 2].map((height) => rowOf("blocks", { height: `${height}` })),
      ),
      plainly(),
    );
    await first[Symbol.asyncDispose]();
    await (kind === "duckdb" ? ask("DELETE FROM tradewire_ledger", file) : rm(layoutOf(path).manifest("blocks")));
    const sink = await opened(); // It comes again, in other units.
    for (const segment of [1, 2]) {
      expect((await sink.load(unitAt("blocks", segment), fetchBlock(segment), plainly())).outcome).toBe("loaded");
    }
    await sink[Symbol.asyncDispose]();
    const from = kind === "duckdb" ? "blocks" : `read_parquet('${path}/data/table=blocks/**/*.parquet')`;
    const rows = await ask(`SELECT height FROM ${from} ORDER BY 1`, kind === "duckdb" ? file : ":memory:");
    expect(rows).toEqual([["1"], ["2"]]);
  });
});

it("leaves one listener at the signal, however many units come at once", async () => {
  await withFolder(async (folder) => {
    const sink = duckdbSink(join(folder, "a.duckdb"));
    await sink.open(opening(["blocks"]));
    const { signal } = new AbortController();
    const counts: number[] = [];
    const loads = Array.from({ length: 5 }, async (_, index) => {
      const csv = await fetchBlock(index + 1)();
      async function* content() {
        yield* csv.content;
        counts.push(getEventListeners(signal, "abort").length);
      }
      const fetch = async () => ({ ...csv, content: content() });
      return sink.load(unitAt("blocks", index + 1), fetch, { replace: false, signal });
    });
    await Promise.all(loads);
    await sink[Symbol.asyncDispose]();
    expect([...new Set(counts)]).toEqual([1]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
