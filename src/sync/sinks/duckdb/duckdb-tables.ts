import { Code } from "@connectrpc/connect";
import type { DuckDBConnection } from "@duckdb/node-api";
import { SinkError } from "../../../errors/index.js";
import { createTableSql } from "../../../schema/sql.js";
import type { TableName } from "../../../schema/table-names.js";
import type { TableColumn } from "../../../schema/table-schema.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import { FROM_BLOCK, identifier, sinkColumns, sinkSchema } from "../sink-columns.js";
import { duckdbType, literal, unitName } from "./csv-columns.js";
import type { SpooledCsv } from "./spooled-csv.js";

const FROM_BLOCK_COLUMN: TableColumn = { name: FROM_BLOCK, type: "int8", holds: "whole", nullable: false, since: 1 };

/**
 * Make a table of the sink where it is missing, and add the columns that this release knows and the table lacks.
 *
 * The table has no key: an index of DuckDB's holds all keys in memory, and does not take a row again that the same
 * transaction has removed. The ledger keeps rows from being there twice. Enum values are text, so that a value that is
 * new changes no table; DuckDB keeps a dictionary of them all the same.
 *
 * @param connection to the database
 * @param table the table
 * @throws what DuckDB throws
 */
export async function createTable(connection: DuckDBConnection, table: TableName): Promise<void> {
  const there = new Set(await tableColumns(connection, table));
  if (there.size === 0) {
    await connection.run(newTableSql(table));
    return;
  }
  for (const column of sinkColumns(table)) {
    if (!there.has(column.name)) {
      await addColumn(connection, table, column.name, duckdbType(column, "BIGNUM"));
    }
  }
}

/**
 * Write the statement that makes a table where none is there.
 *
 * @param table the table
 * @returns the statement
 */
export function newTableSql(table: TableName): string {
  const columns = sinkColumns(table).map((column): TableColumn => {
    const { name, nullable, since } = column;
    return column.values === undefined ? column : { name, type: "text", holds: "text", nullable, since };
  });
  return createTableSql({ ...sinkSchema(table), columns: [...columns, FROM_BLOCK_COLUMN] }, "duckdb", {
    withoutKey: true,
  });
}

/**
 * List the columns that a table has.
 *
 * @param connection to the database
 * @param table the table
 * @returns the names in their order, {@link FROM_BLOCK} not among them; none where there is no table
 */
export async function tableColumns(connection: DuckDBConnection, table: TableName): Promise<string[]> {
  const rows = await connection.runAndReadAll(
    `SELECT column_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main' AND table_name = '${table}' ORDER BY column_index`,
  );
  return rows
    .getRows()
    .map(([name]) => String(name))
    .filter((name) => name !== FROM_BLOCK);
}

/**
 * Add a column to a table.
 *
 * @param connection to the database
 * @param table the table
 * @param name the column's name
 * @param type its type
 */
export async function addColumn(
  connection: DuckDBConnection,
  table: TableName,
  name: string,
  type = "VARCHAR",
): Promise<void> {
  await connection.run(`ALTER TABLE ${table} ADD COLUMN ${identifier(name)} ${type}`);
}

/**
 * Make the view of a table that has names in place of codes, such as `SIDE_BUY`. A code that is not known stays the
 * text of its number.
 *
 * @param table such as `trades`
 * @returns the statement; the view is called such as `trades_named`
 */
export function namedViewSql(table: TableName): string {
  const columns = sinkColumns(table).map(({ name, code }) => {
    const cases = Object.entries(code?.names ?? {}).map(([number, text]) => `WHEN ${number} THEN ${literal(text)}`);
    return cases.length === 0 ? name : `CASE ${name} ${cases.join(" ")} ELSE CAST(${name} AS VARCHAR) END AS ${name}`;
  });
  return `CREATE OR REPLACE VIEW ${table}_named AS SELECT ${columns.join(", ")}, ${FROM_BLOCK} FROM ${table}`;
}

/**
 * Check that as many rows were written as the CSV has.
 *
 * @param unit the unit
 * @param rows how many were written
 * @param spooled the CSV
 * @throws {@link SinkError} where they are not as many
 */
export function checkCount(unit: Unit, rows: bigint, { measures }: SpooledCsv): void {
  if (rows !== measures.rows) {
    throw new SinkError(`${unitName(unit)}: DuckDB has read ${rows} rows where the file has ${measures.rows}`, {
      code: Code.Internal,
      advice: "Nothing was kept. Install another version of @duckdb/node-api, and tell who makes tradewire.",
    });
  }
}

/**
 * Make the error of a unit that cannot be removed as another sync holds it.
 *
 * @param name of the sink
 * @param unit the unit
 * @returns the error
 */
export function unitClaimedError(name: string, unit: Unit): SinkError {
  return new SinkError(`${name}: ${unitName(unit)} is being loaded by another sync`, {
    code: Code.Unavailable,
    advice: "Wait until it has done so.",
  });
}

/**
 * Tell whether an entry is of a unit, and not of another history or of other segments.
 *
 * @param entry of the ledger
 * @param unit the unit
 * @returns whether it is
 */
export function isEntryOf(entry: LedgerEntry, unit: Unit): boolean {
  return entry.fromBlock === unit.fromBlock && entry.toBlock === unit.toBlock && entry.segmentId === unit.segmentId;
}

/**
 * Count the rows by which two queries differ.
 *
 * @param connection to the database
 * @param held the query of the sink's rows
 * @param fresh the query of the node's rows, with the same columns
 * @returns how many of the node's the sink lacks, and how many it has beyond
 */
export async function countDifferences(
  connection: DuckDBConnection,
  held: string,
  fresh: string,
): Promise<{ missing: bigint; extra: bigint }> {
  const count = async (of: string, but: string) => {
    const result = await connection.runAndReadAll(`SELECT count(*) FROM (${of} EXCEPT ALL ${but})`);
    return BigInt(String(result.getRows()[0]?.[0]));
  };
  return { missing: await count(fresh, held), extra: await count(held, fresh) };
}
