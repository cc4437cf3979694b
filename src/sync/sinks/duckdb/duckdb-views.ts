import type { DuckDBConnection } from "@duckdb/node-api";
import { Code } from "../../../base/errors/code.js";
import { quoted } from "../../../base/errors/error-text.js";
import { SinkError } from "../../../base/errors/index.js";
import { type TableName, tableNames } from "../../../data/schema/table-names.js";
import { FROM_BLOCK } from "../../sink-columns.js";
import { sinkViews, viewedTables } from "../../views/sink-views.js";
import { tableColumns } from "./duckdb-tables.js";

const WHAT = { view: "VIEW", function: "MACRO", "table function": "MACRO TABLE" } as const;

/** The comment of the views and macros that a sync has created, and may replace. */
const OURS = "created by tradewire";
const HERE = "database_name = current_database() AND schema_name = 'main'";

/**
 * Creates the views and macros over the tables that exist, or replaces those of another release.
 *
 * @throws {@link SinkError} if a table, or a view or macro of someone else, has the name of one; errors of DuckDB
 */
export async function createViews(connection: DuckDBConnection): Promise<void> {
  const columns = new Map<string, readonly string[]>();
  for (const table of await readSynced(connection)) {
    columns.set(table, [...(await tableColumns(connection, table)), FROM_BLOCK]);
  }
  const { before, parts } = sinkViews({ dialect: "duckdb", prefix: "", tables: viewedTables(columns) });
  const others = await readOthers(connection, HERE);
  for (const { create } of before) {
    await connection.run(create);
  }
  for (const { kind, name, create } of parts) {
    if (others.has(name)) {
      throw takenError(name);
    }
    await connection.run(create);
    await connection.run(`COMMENT ON ${WHAT[kind]} ${name} IS '${OURS}'`);
  }
}

/** Reads the names of the tables that have the first block of each row's unit. */
async function readSynced(connection: DuckDBConnection): Promise<TableName[]> {
  const found = await connection.runAndReadAll(
    `SELECT table_name FROM duckdb_columns() WHERE ${HERE} AND column_name = '${FROM_BLOCK}'`,
  );
  const names = new Set(found.getRows().map(([name]) => String(name)));
  return tableNames.filter((table) => names.has(table));
}

/** Reads the names of tables, and of views and macros that no sync has created. */
export async function readOthers(connection: DuckDBConnection, where: string): Promise<ReadonlySet<string>> {
  const found = await connection.runAndReadAll(
    `SELECT lower(view_name) FROM duckdb_views() WHERE ${where} AND NOT internal AND comment IS DISTINCT FROM '${OURS}'
     UNION ALL SELECT lower(function_name) FROM duckdb_functions() WHERE ${where} AND NOT internal AND comment IS DISTINCT FROM '${OURS}'
     UNION ALL SELECT lower(table_name) FROM duckdb_tables() WHERE ${where}`,
  );
  return new Set(found.getRows().map(([name]) => String(name)));
}

function takenError(name: string): SinkError {
  return new SinkError(`${quoted(name)} exists but was not created by tradewire sync`, {
    code: Code.FailedPrecondition,
    advice: 'Rename it, or sync without views (views: "none", --views none).',
  });
}
