import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { duckdbSink, parquetSink } from "tradewire/sync";
import { builtProgram } from "../../support/built-program.js";
import { ask, entriesOf, opening, withFolder } from "./support/units.js";

/** More with TRADEWIRE_KILLS. */
const KILLS = Number(process.env["TRADEWIRE_KILLS"] ?? 8);
const SEGMENTS = 20;

let loader = "";
beforeAll(async () => {
  loader = await builtProgram("test/sync/sinks/support/loader.ts", "loader");
});

/** A process that loads; `opened` once its sink is open, `ended` with its exit code and what it wrote. */
function load(kind: string, folder: string, segments = SEGMENTS) {
  const child = spawn(process.execPath, [loader, kind, folder, String(segments)]);
  let output = "";
  const ended = once(child, "close").then(([code]) => ({ code: code as unknown, output }));
  const opened = new Promise<void>((open) => {
    child.stdout.on("data", (bytes) => {
      output += String(bytes);
      if (output.includes("open\n")) {
        open();
      }
    });
  });
  child.stderr.on("data", (bytes) => {
    output += String(bytes);
  });
  return { child, ended, opened: Promise.race([opened, ended]) };
}

describe.each(["duckdb", "parquet"])("processes that load into %s", (kind) => {
  it("may be killed anywhere: units are whole, there once, and nothing else is left", async () => {
    await withFolder(async (folder) => {
      for (let turn = 0; turn < KILLS; turn += 1) {
        // Several write to one folder of Parquet files; one at a time has a DuckDB file open.
        const all = kind === "parquet" ? [load(kind, folder), load(kind, folder)] : [load(kind, folder)];
        for (const { child, opened, ended } of all) {
          await opened;
          await wait(Math.random() * 300); // At another point each time.
          child.kill("SIGKILL");
          await ended;
        }
      }
      const last = await load(kind, folder).ended;
      expect(last).toMatchObject({ code: 0, output: expect.stringContaining("done\n") });

      const sink = kind === "parquet" ? parquetSink(join(folder, "out")) : duckdbSink(join(folder, "a.duckdb"));
      await sink.open(opening(["orders"]));
      const entries = await entriesOf(sink, "orders");
      await sink[Symbol.asyncDispose]();
      expect(entries.map(({ fromBlock }) => Number(fromBlock))).toEqual(
        Array.from({ length: SEGMENTS }, (_, index) => index * 10 + 1),
      );
      const counts = "SELECT _from_block, reference, count(*), count(DISTINCT seq_num) FROM";
      const grouped = "GROUP BY 1, 2 ORDER BY CAST(_from_block AS BIGINT)";
      const found =
        kind === "parquet"
          ? await ask(`${counts} read_parquet('${folder}/out/**/*.parquet') ${grouped}`)
          : await ask(`${counts} orders ${grouped}`, join(folder, "a.duckdb"));
      expect(found).toEqual(entries.map(({ fromBlock, segmentId }) => [String(fromBlock), segmentId, "500", "500"]));
      expect((await readdir(folder)).filter((name) => name !== "out" && name !== "a.duckdb")).toEqual([]);
      if (kind === "parquet") {
        expect(await readdir(join(folder, "out", "_tradewire", "pending"))).toEqual([]);
      }
    });
  });
});

it("loads each unit once by two processes at once, into one folder of Parquet files", async () => {
  await withFolder(async (folder) => {
    const all = await Promise.all([load("parquet", folder).ended, load("parquet", folder).ended]);
    for (const ended of all) {
      expect(ended).toMatchObject({ code: 0, output: expect.stringContaining("done\n") });
    }
    const files = await ask(
      `SELECT count(*), count(DISTINCT filename) FROM read_parquet('${folder}/out/**/*.parquet', filename = true)`,
    );
    expect(files).toEqual([[String(SEGMENTS * 500), String(SEGMENTS)]]);
  });
});

it("names the process that has a DuckDB file open, and goes on once it has ended", async () => {
  await withFolder(async (folder) => {
    const other = load("duckdb", folder, 100_000);
    await other.opened;
    const sink = duckdbSink(join(folder, "a.duckdb"));
    const open = sink.open(opening(["orders"]));
    await expect(open).rejects.toThrow(`PID ${other.child.pid}`);
    await expect(open).rejects.toMatchObject({ name: "SinkError", code: 14 });
    other.child.kill("SIGKILL");
    await other.ended;
    await sink.open(opening(["orders"]));
    await sink[Symbol.asyncDispose]();
  });
});
