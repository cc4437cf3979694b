// All tables in databases, by the SQL and the CSV that the command prints: counts and sums have to be those of the rows.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { NEWEST_SCHEMA_VERSION, openArchive, tableNames, tableSchema } from "tradewire";
import { startServer } from "../../support/postgres-server.mjs";
import { need, run } from "./processes.mjs";
import { once } from "./tools.mjs";

/** A range that crosses a change of the schema. */
const range = { fromBlock: 1, toBlock: 4000 };

export function databaseCases({ root, folder, clients: { grpc }, onEnd }) {
  const main = join(root, "dist/src/cli/main.js");
  const command = (...args) => run(process.execPath, [main, ...args]);

  /** Each table: its columns, the CSV file of its rows, and what is to be found in it. */
  const tables = once(() =>
    Promise.all(
      tableNames.map(async (table) => {
        const { columns } = tableSchema(table, NEWEST_SCHEMA_VERSION);
        const { path } = await grpc.exportNetworkHistory({ table, ...range }).saveTo(`${folder}/database/`);
        const csv = `${path}.csv`;
        await writeFile(csv, await command("rows", path, "--output", "csv"));
        return { table, columns, csv, expected: await figures(path, table, columns) };
      }),
    ),
  );
  const schemaFor = async (dialect) => {
    const path = join(folder, `${dialect}.sql`);
    await writeFile(path, await command("schema", "--dialect", dialect, "--added-nullable"));
    return path;
  };

  async function postgres() {
    await need("psql");
    const server = await startServer(["fsync=off"]);
    onEnd(() => server.stop());
    const psql = (...args) => run("psql", [server.url, "-v", "ON_ERROR_STOP=1", "-qAtX", ...args]);
    await psql("-f", await schemaFor("postgres"));
    for (const { table, columns, csv, expected } of await tables()) {
      await psql("-c", `\\copy ${table} from '${csv}' with (format csv, header)`);
      const counted = await psql("-F", ",", "-c", `SELECT ${figuresSql(columns)} FROM ${table}`);
      assert.deepEqual(counted.trim().split(","), expected, table);
    }
  }

  async function duckdb() {
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    onEnd(() => {
      connection.closeSync();
      instance.closeSync();
    });
    await connection.run(await readFile(await schemaFor("duckdb"), "utf8"));
    for (const { table, columns, csv, expected } of await tables()) {
      const ids = columns
        .filter(({ type }) => type === "bytea")
        .map(({ name }) => `unhex(substr(${name}, 3)) AS ${name}`);
      const star = ids.length === 0 ? "*" : `* REPLACE (${ids.join(", ")})`;
      const reading = `read_csv('${csv}', all_varchar = true, allow_quoted_nulls = false)`;
      await connection.run(`INSERT INTO ${table} BY NAME SELECT ${star} FROM ${reading}`);
      const reader = await connection.runAndReadAll(`SELECT ${figuresSql(columns)} FROM ${table}`);
      assert.deepEqual(
        reader.getRows()[0].map((value) => (value === null ? "" : String(value))),
        expected,
        table,
      );
    }
  }

  return [
    ["psql: all tables, by the command's SQL and CSV", postgres],
    ["DuckDB: all tables, by the command's SQL and CSV", duckdb],
  ];
}

/** The number of rows, of values in each column, and the sums of whole numbers that stand for themselves. */
function figuresSql(columns) {
  const sums = wholeColumns(columns).map((name) => `sum(${name})`);
  return ["count(*)", ...columns.map(({ name }) => `count(${name})`), ...sums].join(", ");
}

async function figures(path, table, columns) {
  const whole = wholeColumns(columns);
  const counts = new Map(columns.map(({ name }) => [name, 0]));
  const sums = new Map();
  let rows = 0;
  for await (const row of openArchive(path).rows({ typed: true, table, columns: "union" })) {
    rows += 1;
    for (const { name } of columns) {
      counts.set(name, counts.get(name) + (row[name] === null || row[name] === undefined ? 0 : 1));
    }
    for (const name of whole.filter((one) => typeof row[one] === "bigint")) {
      sums.set(name, (sums.get(name) ?? 0n) + row[name]);
    }
  }
  return [rows, ...counts.values(), ...whole.map((name) => sums.get(name) ?? "")].map(String);
}

const wholeColumns = (columns) => columns.filter(({ holds }) => holds === "whole").map(({ name }) => name);
