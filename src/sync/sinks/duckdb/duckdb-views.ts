import type { DuckDBConnection } from "@duckdb/node-api";
import { Code } from "../../../base/errors/code.js";
import { quoted } from "../../../base/errors/error-text.js";
import { SinkError } from "../../../base/errors/index.js";
import { type TableName, tableNames } from "../../../data/schema/table-names.js";
import { FROM_BLOCK, sinkColumns } from "../../sink-columns.js";
import { sinkViews } from "../../views/sink-views.js";
import { tableColumns } from "./duckdb-tables.js";

/** The comment of the views and macros that a sync has created, and may replace. */
const OURS = "created by tradewire";

/**
 * Creates the views and macros over the tables that exist, or replaces those of another release.
 *
 * @throws {@link SinkError} if a table, or a view or macro of someone else, has the name of one; errors of DuckDB
 */
export async function createViews(connection: DuckDBConnection): Promise<void> {
  const tables = new Map<TableName, string[]>();
  for (const table of tableNames) {
    const columns = await tableColumns(connection, table);
    const known = new Set(sinkColumns(table).map(({ name }) => name));
    // Others belong to someone else, or to another release.
    if ([...known].every((name) => columns.includes(name)) && (await isOfSync(connection, table))) {
      tables.set(
        table,
        columns.filter((name) => !known.has(name)),
      );
    }
  }
  const { before, parts } = sinkViews({ dialect: "duckdb", prefix: "", tables });
  const others = await readOthers(connection);
  for (const statement of before) {
    await connection.run(statement);
  }
  for (const { kind, name, create } of parts) {
    if (others.has(name)) {
      throw takenError(name);
    }
    await connection.run(create);
    const what = kind === "view" ? "VIEW" : create.includes(" AS TABLE ") ? "MACRO TABLE" : "MACRO";
    await connection.run(`COMMENT ON ${what} ${name} IS '${OURS}'`);
  }
}

async function isOfSync(connection: DuckDBConnection, table: TableName): Promise<boolean> {
  const found = await connection.runAndReadAll(
    `SELECT 1 FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main' AND table_name = '${table}' AND column_name = '${FROM_BLOCK}'`,
  );
  return found.currentRowCount > 0;
}

/** Reads the names of tables, and of views and macros that no sync has created. */
async function readOthers(connection: DuckDBConnection): Promise<ReadonlySet<string>> {
  const here = "database_name = current_database() AND schema_name = 'main'";
  const found = await connection.runAndReadAll(
    `SELECT lower(view_name) FROM duckdb_views() WHERE ${here} AND NOT internal AND comment IS DISTINCT FROM '${OURS}'
     UNION ALL SELECT lower(function_name) FROM duckdb_functions() WHERE ${here} AND NOT internal AND comment IS DISTINCT FROM '${OURS}'
     UNION ALL SELECT lower(table_name) FROM duckdb_tables() WHERE ${here}`,
  );
  return new Set(found.getRows().map(([name]) => String(name)));
}

function takenError(name: string): SinkError {
  return new SinkError(`${quoted(name)} exists but was not created by tradewire sync`, {
    code: Code.FailedPrecondition,
    advice: 'Rename it, or sync without views (views: "none", --views none).',
  });
}
