import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { DuckDBInstance } from "@duckdb/node-api";
import { describe, expect, it } from "@jest/globals";
import { CanceledError } from "tradewire";
import { compactParquet, duckdbSink, parquetSink, type Sink } from "tradewire/sync";
import { duckdbError, withConnection } from "./inside.js";
import { ask, columnsOf, entriesOf, fetchOf, opening, plainly, rowOf, unitAt, withFolder } from "./support/units.js";

const columns = columnsOf("blocks");
const fetchBlock = (height: number) => fetchOf(columns, [rowOf("blocks", { height: String(height) })]);
const { signal } = new AbortController();

describe.each<[string, (folder: string) => Sink]>([
  ["duckdb", (folder) => duckdbSink(join(folder, "a.duckdb"))],
  ["parquet", (folder) => parquetSink(join(folder, "out"))],
])("the sink of %s", (_, make) => {
  it("does not remove a unit that is being loaded, and does so afterwards", async () => {
    await withFolder(async (folder) => {
      const [sink, other] = [make(folder), make(folder)];
      await sink.open(opening(["blocks"]));
      await other.open(opening(["blocks"]));
      await sink.load(unitAt("blocks", 1), fetchBlock(1), plainly());
      const [entry] = await entriesOf(sink, "blocks");
      const newer = { ...unitAt("blocks", 1), segmentId: "newer" };
      let removed: Promise<void> | undefined;
      const fetch = async () => {
        removed = entry && other.remove(entry);
        await removed?.catch(() => undefined);
        return await fetchBlock(2)();
      };
      expect((await sink.load(newer, fetch, plainly(true))).outcome).toBe("loaded");
      await expect(removed).rejects.toMatchObject({ name: "SinkError", code: 14 });
      const [loaded] = await entriesOf(other, "blocks");
      expect(loaded?.segmentId).toBe("newer");
      await (loaded && other.remove(loaded));
      expect(await entriesOf(sink, "blocks")).toEqual([]);
      await sink[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
    });
  });

  it.each(["lock on file", "conflict", "Permission denied", "No space left"])(
    "takes the value %j in a wrong place for what it is, not for its own trouble",
    async (height) => {
      await withFolder(async (folder) => {
        const sink = make(folder);
        await sink.open(opening(["blocks"]));
        const fetch = fetchOf(columns, [rowOf("blocks", { height })]);
        const failed = sink.load(unitAt("blocks", 1), fetch, plainly());
        await expect(failed).rejects.toMatchObject({ name: "SinkError", code: Code.DataLoss });
        await sink[Symbol.asyncDispose]();
      });
    },
  );

  it("refuses NULL in a column that never holds it, and more unknown columns than can be added", async () => {
    await withFolder(async (folder) => {
      const sink = make(folder);
      await sink.open(opening(["blocks"]));
      const load = (segment: number, names: readonly string[], hash: string | null = "\\x00") => {
        const row = [...rowOf("blocks", { hash, height: "1" }), ...names];
        return sink.load(unitAt("blocks", segment), fetchOf([...columns, ...names], [row]), plainly());
      };
      const many = Array.from({ length: 201 }, (_, index) => `new_${index}`);
      await expect(load(1, [], null)).rejects.toMatchObject({ name: "SinkError", code: Code.DataLoss });
      await expect(load(1, many)).rejects.toMatchObject({ name: "SinkError", code: Code.FailedPrecondition });
      expect(await entriesOf(sink, "blocks")).toEqual([]);
      expect(await load(1, many.slice(1))).toMatchObject({ outcome: "loaded" });
      await sink[Symbol.asyncDispose]();
    });
  });

  it("holds nothing where nothing is, and makes nothing when it is looked at", async () => {
    await withFolder(async (folder) => {
      const sink = make(folder);
      expect(await sink.inspect(signal)).toBeUndefined();
      await sink[Symbol.asyncDispose]();
    });
  });
});

describe.each<[string, (folder: string) => Sink]>([
  ["duckdb", (folder) => duckdbSink(join(folder, "a.duckdb"))],
  ["parquet", (folder) => parquetSink(join(folder, "out"))],
])("the sink of %s", (kind, make) => {
  const names = ["a*b", "a[x]b", "**", ...(kind === "parquet" ? ["a?b"] : [])];
  it.each(names)("works in the folder %s, and reads nothing of another one", async (name) => {
    await withFolder(async (folder) => {
      for (const each of ["axb", name]) {
        await mkdir(join(folder, each));
        const sink = make(join(folder, each));
        await sink.open(opening(["blocks"]));
        for (const segment of [1, 2]) {
          expect(await sink.load(unitAt("blocks", segment), fetchBlock(segment), plainly())).toMatchObject({
            outcome: "loaded",
          });
        }
        await sink[Symbol.asyncDispose]();
      }
      if (kind === "parquet") {
        const joined = await compactParquet(join(folder, name, "out"));
        expect(joined).toMatchObject({ joined: 2, files: 1, rows: 2n });
      }
      const looking = make(join(folder, name));
      expect(await looking.inspect(signal)).toBe("chain");
      const entries = await entriesOf(looking, "blocks");
      for (const entry of entries) {
        expect(await looking.countRows(entry)).toBe(entry.rows);
      }
      const rows = [1, 2].map((height) => rowOf("blocks", { height: String(height) }));
      const [first] = entries;
      const sent = kind === "parquet" ? rows : rows.slice(0, 1);
      expect(first && (await looking.compareRows(first, fetchOf(columns, sent), signal))).toEqual({
        missing: 0n,
        extra: 0n,
      });
      await looking[Symbol.asyncDispose]();
    });
  });
});

it("refuses a folder in which DuckDB looks for its log elsewhere, and makes nothing there", async () => {
  await withFolder(async (parent) => {
    const folder = join(parent, "a?b");
    await mkdir(folder);
    const sink = duckdbSink(join(folder, "a.duckdb"));
    const opened = sink.open(opening(["blocks"]));
    await expect(opened).rejects.toThrow(`DuckDB cannot write a file in a folder whose name contains "?": "${folder}"`);
    await expect(opened).rejects.toMatchObject({ name: "SinkError", code: Code.InvalidArgument });
    await sink[Symbol.asyncDispose]();
    expect([await readdir(parent), await readdir(folder)]).toEqual([["a?b"], []]);
  });
});

it("refuses an unknown column of a DuckDB table that differs from another by its case, and one too many", async () => {
  await withFolder(async (folder) => {
    const sink = duckdbSink(join(folder, "a.duckdb"));
    await sink.open(opening(["blocks"]));
    const load = (segment: number, names: readonly string[]) => {
      const fetch = fetchOf([...columns, ...names], [[...rowOf("blocks", { height: "1" }), ...names]]);
      return sink.load(unitAt("blocks", segment), fetch, plainly());
    };
    const names = Array.from({ length: 200 }, (_, index) => `new_${index}`);
    await load(1, names);
    await expect(load(2, ["NEW_1"])).rejects.toMatchObject({ name: "SinkError", code: Code.Unimplemented });
    await expect(load(2, ["more"])).rejects.toMatchObject({ name: "SinkError", code: Code.FailedPrecondition });
    expect(await load(2, ["new_1"])).toMatchObject({ outcome: "loaded" });
    await sink[Symbol.asyncDispose]();
  });
});

it("reads a DuckDB file that is being read by others, and writes nothing", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "a.duckdb");
    const first = duckdbSink(path);
    await first.open(opening(["blocks"]));
    await first.load(unitAt("blocks", 1), fetchBlock(1), plainly());
    await first[Symbol.asyncDispose]();
    await chmod(path, 0o444);
    const looking = duckdbSink(path);
    expect(await looking.inspect(signal)).toBe("chain");
    const [entry] = await entriesOf(looking, "blocks");
    expect(entry?.rows).toBe(1n);
    expect(entry && (await looking.countRows(entry))).toBe(1n);
    await expect(entry && looking.remove(entry)).rejects.toMatchObject({ name: "SinkError", code: 7 });
    await looking[Symbol.asyncDispose]();
    expect(await ask("SELECT count(*) FROM blocks", path)).toEqual([["1"]]);
  });
});

it("gives names in place of codes in the views", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "a.duckdb");
    const sink = duckdbSink(path);
    await sink.open(opening(["trades"]));
    await sink.createViews?.(new AbortController().signal);
    const rows = [
      rowOf("trades", { seq_num: "1", aggressor: "1", type: "1" }),
      rowOf("trades", { seq_num: "2", aggressor: "2", type: "99" }),
    ];
    await sink.load(unitAt("trades", 1), fetchOf(columnsOf("trades"), rows), plainly());
    await sink[Symbol.asyncDispose]();
    expect(await ask("SELECT seq_num, type, _from_block FROM trades_v ORDER BY 1", path)).toEqual([
      ["1", "TYPE_DEFAULT", "1"],
      ["2", "99", "1"],
    ]);
  });
});

it("says what is wrong with files and folders that it cannot use", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "newer.duckdb");
    const first = duckdbSink(path);
    await first.open(opening(["blocks"]));
    await first[Symbol.asyncDispose]();
    const db = await DuckDBInstance.create(path);
    const connection = await db.connect();
    await connection.run("UPDATE tradewire_sync SET format = 99");
    connection.closeSync();
    db.closeSync();
    const newer = duckdbSink(path);
    await expect(newer.open(opening(["blocks"]))).rejects.toThrow("has the format 99");
    await newer.close();
    await ask("UPDATE tradewire_sync SET format = 1", path);
    await expect(duckdbSink(path).open(opening(["blocks"]))).rejects.toMatchObject({
      advice: expect.stringContaining("sync into a new file"),
    });

    await expect(duckdbSink(join(folder, "none", "a")).inspect(signal)).rejects.toMatchObject({ code: 5 });
    const text = join(folder, "text");
    await writeFile(text, "no database ".repeat(2000));
    const looking = duckdbSink(text).inspect(signal);
    await expect(looking).rejects.toThrow("not a valid DuckDB database file");
    await expect(looking).rejects.toMatchObject({ name: "SinkError", code: 9 });
    await mkdir(join(folder, "out"));
    const unlike = duckdbSink(join(folder, "out")).open(opening(["blocks"]));
    await expect(unlike).rejects.toMatchObject({ name: "SinkError" });
  });
});

it.each([
  ["Conflicting lock is held in /usr/bin/node (PID 7)", 14],
  ["TransactionContext Error: Catalog write-write conflict on alter with x", 10],
  [
    "IO Error: Trying to read a database file with version number 99, but we can only read versions between 64 and 67.\nThe database file was created with an newer version of DuckDB.",
    9,
  ],
  ["Out of Memory Error: could not allocate block", 8],
])("knows what DuckDB means by %j", (said, code) => {
  expect(duckdbError(new Error(said), "duckdb:x")).toMatchObject({ name: "SinkError", code });
});

it("an operation of DuckDB that is canceled while it connects does nothing", async () => {
  const instance = await DuckDBInstance.create(":memory:");
  const abort = new AbortController();
  let isUsed = false;
  const operation = withConnection(
    instance,
    "a.parquet",
    async () => {
      isUsed = true;
    },
    abort.signal,
  );
  abort.abort();
  await expect(operation).rejects.toBeInstanceOf(CanceledError);
  expect(isUsed).toBe(false);
  instance.closeSync();
});
