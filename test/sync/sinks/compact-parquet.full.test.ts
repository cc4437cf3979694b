import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { compactParquet, parquetSink } from "tradewire/sync";
import { builtProgram } from "../../support/built-program.js";
import { ask, columnsOf, entriesOf, fetchOf, opening, plainly, rowOf, unitAt, withFolder } from "./support/units.js";

const columns = columnsOf("rewards");
const zeros = ["-0", "0", "1.5"];
const rowsAt = (segment: number) =>
  [0, 1].map((row) =>
    rowOf("rewards", { seq_num: String(segment * 10 + row), percent_of_total: zeros[(segment + row) % 3] ?? "" }),
  );
const filesIn = async (path: string) =>
  (await readdir(path, { recursive: true })).filter((name) => name.endsWith(".parquet")).sort();

it("joins adjacent files to as many rows as wanted, and each row stays there once", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "out");
    await expect(compactParquet(path)).rejects.toMatchObject({ name: "SinkError", code: 5 });
    const sink = parquetSink(path);
    await sink.open(opening(["rewards"]));
    for (const segment of [1, 2, 3, 4, 5, 7, 8]) {
      const schemaVersion = segment === 8 ? 115n : 116n; // Those of another schema version stay alone.
      const extra = segment === 2 ? ["more"] : []; // Known in no version.
      const rows = rowsAt(segment).map((row) => [...row, ...extra]);
      await sink.load(unitAt("rewards", segment, { schemaVersion }), fetchOf([...columns, ...extra], rows), plainly());
    }
    const glob = `read_parquet('${path}/**/*.parquet', union_by_name = true, hive_partitioning = false)`;
    const rows = () => ask(`SELECT * EXCLUDE (_from_block), percent_of_total::VARCHAR FROM ${glob} ORDER BY seq_num`);
    const before = await rows();
    const signal = new AbortController().signal;
    expect(await compactParquet(path, { rowsPerFile: 4 })).toEqual({ joined: 4, files: 2, rows: 8n, busy: 0 });
    expect(await compactParquet(path, { rowsPerFile: 9, signal })).toEqual({ joined: 2, files: 1, rows: 8n, busy: 0 });
    expect(await compactParquet(path, { rowsPerFile: 9 })).toEqual({ joined: 0, files: 0, rows: 0n, busy: 0 });
    expect(await filesIn(path)).toEqual(
      ["0000000001-0000000040", "0000000041-0000000050", "0000000061-0000000070", "0000000071-0000000080"].map(
        (name) => `data/table=rewards/from=${name.slice(0, 10)}/${name}.parquet`,
      ),
    );
    expect(await rows()).toEqual(before);
    // The sink that was open all the time goes on with what is there now.
    const [wide] = await entriesOf(sink, "rewards");
    expect(wide).toMatchObject({ fromBlock: 1n, toBlock: 40n, segmentId: "id-4", previousSegmentId: "", rows: 8n });
    expect(wide && (await sink.countRows(wide))).toBe(8n);
    const all = [1, 2, 3, 4].flatMap((segment) =>
      rowsAt(segment).map((row) => [...row, segment === 2 ? "more" : null]),
    );
    expect(wide && (await sink.compareRows(wide, fetchOf([...columns, "more"], all), signal))).toEqual({
      missing: 0n,
      extra: 0n,
    });
    expect(await sink.load(unitAt("rewards", 2), fetchOf(columns, []), plainly())).toEqual({ outcome: "there" });
    expect((await sink.load(unitAt("rewards", 6), fetchOf(columns, rowsAt(6)), plainly())).outcome).toBe("loaded");
    await sink[Symbol.asyncDispose]();
    expect(await compactParquet(path, { tables: ["rewards"] })).toEqual({ joined: 4, files: 1, rows: 14n, busy: 0 });
  });
});

it("joins nothing where a file has lost rows", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "out");
    const sink = parquetSink(path);
    await sink.open(opening(["rewards"]));
    for (const segment of [1, 2]) {
      await sink.load(unitAt("rewards", segment), fetchOf(columns, rowsAt(segment)), plainly());
    }
    await sink[Symbol.asyncDispose]();
    const [first = ""] = (await filesIn(path)).map((name) => join(path, name));
    await ask(`COPY (FROM read_parquet('${first}', hive_partitioning = false) LIMIT 1) TO '${first}' (FORMAT parquet)`);
    await expect(compactParquet(path)).rejects.toThrow("have 3 rows, but the ledger has 4");
    expect((await filesIn(path)).length).toBe(2);
  });
});

it("may be killed anywhere while a sync loads: each row is there once", async () => {
  const [loader, compacter] = [
    await builtProgram("test/sync/sinks/support/loader.ts", "loader"),
    await builtProgram("test/sync/sinks/support/compacter.ts", "compacter"),
  ];
  await withFolder(async (folder) => {
    const start = (program: string, ...more: string[]) => {
      const child = spawn(process.execPath, [program, ...more], { stdio: ["ignore", "pipe", "inherit"] });
      return { child, ended: once(child, "close") };
    };
    const first = parquetSink(join(folder, "out"));
    await first.open(opening(["orders"]));
    await first[Symbol.asyncDispose]();
    const loading = start(loader, "parquet", folder, "40");
    let joined = 0;
    let open = true;
    void loading.ended.then(() => {
      open = false;
    });
    for (let turn = 0; open || turn < 6; turn += 1) {
      const joining = start(compacter, folder);
      // It is killed at another point of its second round each time.
      await new Promise<void>((resolve) => {
        joining.child.stdout?.on("data", (bytes) => {
          if (String(bytes).includes("joined")) {
            joined += 1;
            resolve();
          }
        });
      });
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 200));
      joining.child.kill("SIGKILL");
      await joining.ended;
    }
    expect((await loading.ended)[0]).toBe(0);
    const sink = parquetSink(join(folder, "out"));
    await sink.open(opening(["orders"]));
    const entries = await entriesOf(sink, "orders");
    await sink[Symbol.asyncDispose]();
    let next = 1n;
    for (const { fromBlock, toBlock } of entries) {
      expect(fromBlock).toBe(next);
      next = toBlock + 1n;
    }
    expect(next).toBe(401n);
    const glob = `read_parquet('${folder}/out/**/*.parquet')`;
    expect(await ask(`SELECT count(*), count(DISTINCT seq_num) FROM ${glob}`)).toEqual([["20000", "20000"]]);
    expect((await filesIn(join(folder, "out"))).length).toBe(entries.length);
    expect(await readdir(join(folder, "out", "_tradewire", "pending"))).toEqual([]);
    expect(joined).toBeGreaterThan(0);
  });
});
