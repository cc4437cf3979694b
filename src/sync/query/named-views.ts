import type { DuckDBConnection } from "@duckdb/node-api";
import { isError } from "../../base/errors/node-errors.js";
import { tableNames } from "../../data/schema/table-names.js";
import { withoutText } from "../sinks/duckdb/number-columns.js";
import { sinkViews, viewedTables } from "../views/sink-views.js";
import { prepareSelect } from "./duckdb-query.js";

/** Statements that may list all views, or build the names of those that they read. */
const NAMES_ANY = /\b(?:show|information_schema|pg_catalog|query|query_table|(?:duckdb|sqlite|pragma)_\w+)\b/iu;

/**
 * Creates the views and functions that a statement names, over the tables and views of the database in memory that have the names of
 * tables of network history. To create all of them takes some tenths of a second, which is done only if the statement may list them, or
 * is wrong: the error then suggests the nearest name.
 *
 * @returns the names of what was created
 * @throws errors of DuckDB
 */
export async function createNamedViews(connection: DuckDBConnection, sql: string): Promise<ReadonlySet<string>> {
  const columns = await readColumns(connection);
  const { before, parts } = sinkViews({ dialect: "duckdb", prefix: "", tables: viewedTables(withoutTexts(columns)) });
  for (const { name, create } of before) {
    if (!columns.has(name)) {
      await connection.run(create);
    }
  }
  const named = partsNamed(sql, parts);
  for (const { name, create } of parts) {
    if (named.has(name)) {
      await connection.run(create);
    }
  }
  if (NAMES_ANY.test(sql) || (await lacksName(connection, sql))) {
    for (const { create } of parts) {
      await connection.run(create);
    }
    return new Set(parts.map(({ name }) => name));
  }
  return named;
}

async function lacksName(connection: DuckDBConnection, sql: string): Promise<boolean> {
  try {
    (await prepareSelect(connection, sql)).destroySync();
    return false;
  } catch (reason) {
    return isError(reason) && reason.message.startsWith("Catalog Error"); // The statement itself reports it, and all else.
  }
}

/** Reads the columns of the tables and views in memory. */
async function readColumns(connection: DuckDBConnection): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = await connection.runAndReadAll(
    "SELECT table_name, list(column_name ORDER BY column_index)::VARCHAR[] FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main' GROUP BY ALL",
  );
  const rows = found.getRowsJS();
  return new Map(rows.map(([name, columns]) => [String(name), Array.isArray(columns) ? columns.map(String) : []]));
}

/** Leaves out the columns with the exact text of numbers. */
function withoutTexts(columns: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, readonly string[]> {
  return new Map(tableNames.map((table) => [table, withoutText(table, columns.get(table) ?? [])]));
}

/** Returns the names of the parts that a text names, and of those that these name. */
function partsNamed(text: string, parts: ReturnType<typeof sinkViews>["parts"]): ReadonlySet<string> {
  const named = new Set<string>();
  const texts = [text];
  for (const each of texts) {
    const words = new Set(each.toLowerCase().match(/\w+/gu));
    for (const { name, create } of parts) {
      if (words.has(name) && !named.has(name)) {
        named.add(name);
        texts.push(create);
      }
    }
  }
  return named;
}
