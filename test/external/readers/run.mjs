/**
 * Reads what sinks wrote with DuckDB, Polars, PyArrow and psycopg of Python, Parquet files also after they are joined:
 * `npm run test:readers`. PYTHON names an interpreter that has them (`pip install duckdb polars pyarrow "psycopg[binary]"`);
 * `python3` by default.
 */
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableNames, tableSchema } from "tradewire";
import { compactParquet, duckdbSink, parquetSink, postgresSink } from "tradewire/sync";
import { startServer } from "../../support/postgres-server.mjs";
import { extremesOf } from "./extremes.mjs";
import { fill, rowOf } from "./units.mjs";

const ROWS = {
  trades: [{ price: "9" }, { price: String(10n ** 30n) }],
  orders: [{ price: "9" }, { price: String(2n ** 256n - 1n) }],
  positions: [{ loss: "9.5" }, { loss: "10.5" }],
};
const EXTREMES = 200;

const folder = await mkdtemp(join(tmpdir(), "tradewire-readers-"));
const [out, alone] = ["history", "trades"].map((name) => join(folder, name));

const run = (program, ...values) =>
  execFileSync(process.env["PYTHON"] ?? "python3", [join(import.meta.dirname, program), ...values], {
    stdio: "inherit",
  });

/** Reads a few rows with the readers of Parquet, in every way that they have. */
async function readInEveryWay() {
  const read = () => run("read.py", out, alone);
  const units = (table) => ROWS[table].map((given) => [rowOf(table, 0, ({ name }) => given[name])]);
  await fill(parquetSink(out), Object.fromEntries(Object.keys(ROWS).map((table) => [table, units(table)])));
  await fill(parquetSink(alone), { trades: units("trades") });
  read();
  console.log(await compactParquet(out));
  console.log(await compactParquet(alone));
  read();
  // What stands there while files are exchanged.
  const [unit] = await readdir(join(alone, "data", "table=trades"));
  const notice = join(alone, "data", "table=trades", unit, "0000000001-0000000002.unfinished-change.parquet");
  await writeFile(notice, "Files of this table are being merged or replaced.\n");
  run("unfinished.py", alone);
}

/** Compares each number of all tables with the text from which it was loaded. */
async function readExtremes() {
  const server = await startServer();
  try {
    const tables = Object.fromEntries(
      tableNames.map((table) => [
        table,
        Array.from({ length: EXTREMES }, (_, index) => rowOf(table, index, (column) => extremesOf(column)?.[index])),
      ]),
    );
    const units = Object.fromEntries(Object.entries(tables).map(([table, rows]) => [table, [rows]]));
    const [duckdb, parquet] = [join(folder, "extremes.duckdb"), join(folder, "extremes")];
    for (const sink of [duckdbSink(duckdb), parquetSink(parquet), postgresSink(server.url)]) {
      await fill(sink, units);
    }
    const wanted = tableNames.map((table) => {
      const columns = tableSchema(table, 116).columns.map((column, index) => ({ ...column, index }));
      return {
        table,
        columns: columns
          .filter((column) => extremesOf(column) !== undefined)
          .map(({ name, type, anySize = false, index }) => ({
            name,
            exact: type !== "float8" && !type.startsWith("numeric") && !anySize,
            texts: tables[table].map((row) => row[index]),
          })),
      };
    });
    const path = join(folder, "wanted.json");
    await writeFile(path, JSON.stringify(wanted));
    run("extremes.py", path, duckdb, parquet, server.url);
  } finally {
    await server.stop();
  }
}

try {
  await readInEveryWay();
  await readExtremes();
} finally {
  await rm(folder, { recursive: true });
}
