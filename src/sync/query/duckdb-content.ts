import type { DuckDBConnection } from "@duckdb/node-api";
import { RequestError } from "../../base/errors/index.js";
import type { BlockRange } from "../../data/history/segments.js";
import { type TableName, tableNames } from "../../data/schema/table-names.js";
import { identifier } from "../sink-columns.js";
import { createLedger } from "../sinks/duckdb/duckdb-ledger.js";
import { newTableSql } from "../sinks/duckdb/duckdb-tables.js";
import { readOthers } from "../sinks/duckdb/duckdb-views.js";
import { type ListedTable, listedTables } from "../views/listed-records.js";
import { rowsOfBlocks } from "./block-part.js";
import { statementError } from "./duckdb-errors.js";
import { ATTACHED, type DuckdbContent, prepareSelect } from "./duckdb-query.js";
import { ledgerGaps } from "./ledger-gaps.js";
import { createNamedViews } from "./named-views.js";

/** What statements read of a file, and whom it informs. */
interface FileOptions {
  /** The only blocks that are read; all by default. */
  readonly blocks?: BlockRange | undefined;
  /**
   * Called with the names of views, functions and tables of the file that have the names of those of this release: with the name of the
   * file, the statement can name them.
   */
  readonly onShadowed?: (names: readonly string[]) => void;
}

/**
 * Returns the content of a DuckDB file for a statement. If a sync has created it, the views and functions are those of this release, in
 * memory, also if it was created without any.
 */
export function fileContent(path: string, sql: string, { blocks, onShadowed }: FileOptions): DuckdbContent {
  return {
    name: `duckdb:${path}`,
    file: path,
    async prepare(connection) {
      const found = await connection.runAndReadAll(
        `SELECT table_name FROM duckdb_tables() WHERE database_name = '${ATTACHED}' AND schema_name = 'main'`,
      );
      const tables = found.getRows().map(([name]) => String(name));
      if (!tables.includes("tradewire_ledger")) {
        await connection.run(`USE ${ATTACHED}`); // It is the file of someone else.
        return [];
      }
      const from = `${ATTACHED}.main.`;
      const rowsOf = blocks && (await rowsOfBlocks(connection, from, blocks));
      for (const table of tables) {
        const rows = rowsOf?.(table) ?? `FROM ${from}${identifier(table)}`;
        await connection.run(`CREATE VIEW ${identifier(table)} AS ${rows}`);
      }
      const created = await createNamedViews(connection, sql);
      const others = await readOthers(connection, `database_name = '${ATTACHED}' AND schema_name = 'main'`);
      const named = new Set(sql.toLowerCase().match(/(?<![\w.])\w+/gu)); // Without the name of the file.
      const shadowed = [...created].filter((name) => others.has(name) && named.has(name));
      if (shadowed.length > 0) {
        onShadowed?.(shadowed.map((name) => `${ATTACHED}.${name}`));
      }
      await connection.run(`SET search_path = 'memory.main,${ATTACHED}.main'`);
      const read = await tablesOf(connection, sql);
      return await ledgerGaps(connection, read.tables, tables.includes("tradewire_tables"));
    },
  };
}

/**
 * Creates all tables of network history, empty, and the views and functions over them that a statement names.
 *
 * @throws errors of DuckDB
 */
export async function createModel(connection: DuckDBConnection, sql: string): Promise<void> {
  await createLedger(connection, "the model of the tables", { chainId: "", tables: [] });
  for (const table of tableNames) {
    await connection.run(newTableSql(table));
  }
  await createNamedViews(connection, sql);
}

/** The tables that a statement reads, also through views and functions. */
export interface StatementTables {
  /** Those of network history. */
  readonly tables: readonly TableName[];
  /** Those of what nodes list. */
  readonly listed: readonly ListedTable[];
  /** Whether it reads any table that a sync adds to those of network history. */
  readonly hasAdded: boolean;
}

/**
 * Returns the tables that a statement reads.
 *
 * @param connection to a database with all tables and views
 * @throws {@link RequestError} if the statement is wrong, or does more than read
 */
export async function tablesOf(connection: DuckDBConnection, sql: string): Promise<StatementTables> {
  try {
    (await prepareSelect(connection, sql)).destroySync();
    const names = new Set(await readNames(connection, sql));
    return {
      tables: tableNames.filter((table) => names.has(table)),
      listed: listedTables.filter((table) => names.has(table)),
      hasAdded: [...names].some((name) => name.startsWith("tradewire_")),
    };
  } catch (reason) {
    throw statementError(reason, "the statement");
  }
}

/**
 * Returns the names of the tables that a statement reads: those of its plan, from which nothing was left out. DuckDB's own list is empty for
 * joins with USING.
 */
async function readNames(connection: DuckDBConnection, sql: string): Promise<readonly string[]> {
  await connection.run("PRAGMA disable_optimizer; SET explain_output = 'optimized_only'");
  const plan = await connection.runAndReadAll(`EXPLAIN (FORMAT json)\n${sql}`);
  await connection.run("PRAGMA enable_optimizer; RESET explain_output");
  const names: string[] = [];
  JSON.parse(String(plan.getRows()[0]?.[1]), (key, value: unknown) => {
    if (key === "Table" && typeof value === "string") {
      names.push(value.split(".").at(-1) ?? "");
    }
    return value;
  });
  return names;
}

/** Returns whether a statement cannot be answered without a table. Other views use `markets` for codes and decimals, if it exists. */
export function isRequired(table: TableName, tables: readonly TableName[]): boolean {
  return table !== "markets" || tables.length === 1;
}

/** Creates the error of a table that a statement reads, and that what is queried does not have. */
export function missingTable(name: string, table: TableName, advice: string): RequestError {
  return new RequestError(`${name} has no rows of the table ${table}, which the statement reads`, { advice });
}
