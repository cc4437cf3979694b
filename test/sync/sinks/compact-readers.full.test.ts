import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, cp, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import type { TableName } from "tradewire";
import { compactParquet, type LedgerEntry, parquetSink, verifySync } from "tradewire/sync";
import { builtProgram } from "../../support/built-program.js";
import { applyChange, claimUnit, layoutOf, manifestOf } from "./inside.js";
import { ask, columnsOf, entriesOf, fetchOf, opening, plainly, rowOf, unitAt, withFolder } from "./support/units.js";

const ROWS = 100;

async function loadUnits(path: string, segments: number, rows = ROWS) {
  const sink = parquetSink(path);
  await sink.open(opening(["orders"]));
  for (let segment = 1; segment <= segments; segment += 1) {
    const all = Array.from({ length: rows }, (_, row) => rowOf("orders", { seq_num: String(segment * 100_000 + row) }));
    await sink.load(unitAt("orders", segment), fetchOf(columnsOf("orders"), all), plainly());
  }
  const entries = await entriesOf(sink, "orders");
  await sink[Symbol.asyncDispose]();
  return entries;
}

async function firstEntryOf(path: string): Promise<LedgerEntry> {
  const sink = parquetSink(path);
  await sink.inspect(new AbortController().signal);
  const [entry] = await entriesOf(sink, "orders");
  await sink[Symbol.asyncDispose]();
  return entry ?? Promise.reject(new Error("The ledger is empty."));
}

const count = (path: string) =>
  ask(`SELECT count(*), count(DISTINCT seq_num) FROM read_parquet('${path}/**/*.parquet')`);
const filesIn = async (path: string) =>
  (await readdir(path, { recursive: true })).filter((name) => name.endsWith(".parquet"));

/** What readers see of a folder: all rows, each once, or an error that names a file. */
async function readOnce(path: string, rows: number): Promise<boolean> {
  try {
    expect(await count(path)).toEqual([[String(rows), String(rows)]]);
    return true;
  } catch (reason) {
    if (!/\.parquet/u.test(String(reason)) || /toEqual/u.test(String(reason))) {
      throw reason;
    }
    return false;
  }
}

it("shows each row once to those who read while files are joined, or fails for them, wherever it is killed", async () => {
  const compacter = await builtProgram("test/sync/sinks/support/compacter.ts", "compacter");
  await withFolder(async (folder) => {
    await loadUnits(join(folder, "loaded"), 40);
    let reads = 0;
    for (let turn = 0; turn < 5; turn += 1) {
      const place = join(folder, String(turn));
      const path = join(place, "out");
      await cp(join(folder, "loaded"), path, { recursive: true });
      const child = spawn(process.execPath, [compacter, place], { stdio: ["ignore", "pipe", "inherit"] });
      const ended = once(child, "close");
      let rounds = 0;
      child.stdout.on("data", (bytes) => {
        rounds += String(bytes).split("joined").length - 1;
      });
      const begun = async () =>
        (await readdir(join(path, "_tradewire", "pending"))).some((name) => name.endsWith(".json"));
      // The first goes on, and is read meanwhile; the others are killed in the middle of their first change.
      try {
        while (turn === 0 ? rounds < 7 : !(await begun())) {
          reads += turn === 0 && (await readOnce(path, 40 * ROWS)) ? 1 : 0;
        }
      } finally {
        child.kill("SIGKILL");
        await ended;
      }
      await readOnce(path, 40 * ROWS);
      const found = await verifySync(parquetSink(path)).catch((reason: unknown) => reason);
      expect(found).toMatchObject(
        found instanceof Error ? { name: "SinkError", code: 10 } : { rows: 4000n, unsound: 0 },
      );
      await compactParquet(path);
      expect(await count(path)).toEqual([["4000", "4000"]]);
      expect(await verifySync(parquetSink(path))).toMatchObject({ units: 1, rows: 4000n, unsound: 0, gaps: [] });
      expect(await filesIn(path)).toEqual(["data/table=orders/from=0000000001/0000000001-0000000400.parquet"]);
      expect(await readdir(join(path, "_tradewire", "pending"))).toEqual([]);
    }
    expect(reads).toBeGreaterThan(0);
  });
});

it.each([
  ["the old files are gone", "unfinished-change.parquet"],
  ["the files are as they are to be, and the ledger is not", undefined],
])("says to readers and to verify that a join was broken off when %s, and finishes it", async (_when, notice) => {
  await withFolder(async (folder) => {
    const [path, other] = [join(folder, "out"), join(folder, "other")];
    const remove = await loadUnits(path, 3, 2);
    await cp(path, other, { recursive: true });
    await compactParquet(other);
    const load = await firstEntryOf(other);
    const layout = layoutOf(path);
    const ended = () => Promise.reject(new Error("ended"));
    const manifest = (table: TableName) => ({ ...manifestOf(layout.manifest(table)), append: ended });
    const held = await claimUnit(layout.pending, load, (change, part) =>
      applyChange(layout, manifest, change, notice === undefined ? part : join(folder, "none")),
    );
    await copyFile(layoutOf(other).file(load), held?.part ?? "");
    await expect(held?.commit({ load, remove })).rejects.toThrow(
      notice === undefined ? "ended" : "no such file or directory",
    );
    await held?.release();
    if (notice === undefined) {
      expect(await count(path)).toEqual([["6", "6"]]);
    } else {
      await expect(count(path)).rejects.toThrow(notice);
      const [name = ""] = (await filesIn(path)).filter((file) => file.endsWith(notice));
      expect(await readFile(join(path, name), "utf8")).toContain("tradewire sync compact");
    }
    await expect(verifySync(parquetSink(path))).rejects.toMatchObject({ name: "SinkError", code: 10 });
    expect(await compactParquet(path)).toEqual({ joined: 0, files: 0, rows: 0n, busy: 0 });
    expect(await count(path)).toEqual([["6", "6"]]);
    expect(await verifySync(parquetSink(path))).toMatchObject({ units: 1, rows: 6n, unsound: 0, gaps: [] });
    expect(await filesIn(path)).toHaveLength(1);
  });
});

it("writes into a file of its own where another process has taken a unit over", async () => {
  await withFolder(async (folder) => {
    await loadUnits(folder, 1);
    const { pending } = layoutOf(folder);
    const unit = unitAt("orders", 2);
    const hold = () => claimUnit(pending, unit, async () => undefined);
    const stalled = await hold();
    // As if the first one's process stood still on another machine.
    for (const name of (await readdir(pending)).filter((each) => each.endsWith(".lock"))) {
      await writeFile(join(pending, name), "0123456789abcdef-1-1 x");
      await utimes(join(pending, name), 0, 0);
    }
    const held = await hold();
    await writeFile(held?.part ?? "", "whole");
    await writeFile(stalled?.part ?? "", "half");
    expect(await readFile(held?.part ?? "", "utf8")).toBe("whole");
    await expect(stalled?.commit({ remove: [] })).rejects.toMatchObject({ code: 10 });
    await stalled?.release();
    expect(await readFile(held?.part ?? "", "utf8")).toBe("whole");
    await held?.release();
    expect(await readdir(pending)).toEqual([]);
  });
});
