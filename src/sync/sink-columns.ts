import { Code } from "../base/errors/code.js";
import { quoted } from "../base/errors/error-text.js";
import { SinkError } from "../base/errors/index.js";
import { numberForm, textColumn } from "../data/schema/sql.js";
import type { TableName } from "../data/schema/table-names.js";
import {
  columnsEver,
  FIRST_SCHEMA_VERSION,
  NEWEST_SCHEMA_VERSION,
  type TableColumn,
  type TableSchema,
  tableSchema,
} from "../data/schema/table-schema.js";

/** A column of a sink's table. It is nullable if some schema version lacks it or allows NULL. */
export type SinkColumn = TableColumn;

/**
 * The last column of each table of a sink: the first block of the row's unit. With it, the rows of a unit can be counted,
 * compared and replaced exactly. In an SQL database it is an 8-byte integer that is never NULL.
 */
export const FROM_BLOCK = "_from_block";

/** The maximum number of unknown columns that are added to a table. */
const MAX_ADDED = 200;

/** The maximum length of a column's name, in bytes of UTF-8. PostgreSQL truncates longer names. */
const MAX_COLUMN_NAME = 63;

/**
 * Lists the columns of a sink's table, which holds the rows of all known schema versions: the columns of the newest version in
 * order, then those of older versions only. A renamed column appears once, with its newest name. {@link FROM_BLOCK} is not
 * included.
 *
 * @param table such as `trades`
 * @returns the columns; a column is nullable unless every version has it and does not allow NULL
 * @throws `RequestError` if the table does not exist
 *
 * @example
 * sinkColumns("orders").find(({ name }) => name === "peak_size")?.was; // "initial_peak_size"
 */
export function sinkColumns(table: TableName): SinkColumn[] {
  const ever = columnsEver(table);
  const newest = tableSchema(table, NEWEST_SCHEMA_VERSION).columns;
  const current = new Set(newest.map(({ name }) => name));
  const renamed = new Set(ever.map(({ was }) => was));
  const gone = ever.filter(({ name }) => !current.has(name) && !renamed.has(name));
  return [...newest, ...gone].map((column) => ({ ...column, nullable: isNullable(column, ever) }));
}

/**
 * Returns the schema of a sink's table, for functions such as `createTableSql`.
 *
 * @throws {@link RequestError} if the table does not exist
 *
 * @example
 * createTypesSql(tables.map(sinkSchema), "postgres");
 */
export function sinkSchema(table: TableName): TableSchema {
  return { ...tableSchema(table, NEWEST_SCHEMA_VERSION), columns: sinkColumns(table) };
}

/**
 * Returns the column of a sink's table that stores a column of a CSV file.
 *
 * @param table such as `trades`
 * @param csvColumn the name in the file's header row
 * @returns the column; `undefined` if this release does not know the name
 * @throws `RequestError` if the table does not exist
 *
 * @example
 * targetOf("orders", "initial_peak_size")?.name; // "peak_size"
 */
export function targetOf(table: TableName, csvColumn: string): SinkColumn | undefined {
  const ever = columnsEver(table);
  let name = csvColumn;
  for (let next = laterName(name, ever); next !== undefined; next = laterName(name, ever)) {
    name = next;
  }
  return sinkColumns(table).find((column) => column.name === name);
}

/**
 * Asserts that an unknown column can be added to a sink's table.
 *
 * @throws {@link SinkError} if the name is empty, longer than 63 bytes, contains a NUL, or is {@link FROM_BLOCK}
 */
export function assertAddable(table: TableName, name: string): void {
  const length = Buffer.byteLength(name);
  if (length === 0 || length > MAX_COLUMN_NAME || name.includes("\0") || name.toLowerCase() === FROM_BLOCK) {
    throw new SinkError(`the unknown column ${quoted(name)} of ${table} cannot be added`, {
      code: Code.Unimplemented,
      advice: `The name of a column must have 1 to ${MAX_COLUMN_NAME} bytes, and ${FROM_BLOCK} is reserved. Install a newer release, which may know the column.`,
    });
  }
}

/**
 * Asserts that a sink's table does not have too many unknown columns.
 *
 * @throws {@link SinkError} if there are more than 200: the unit fails, but others may be loaded
 */
export function assertAddedCount(table: TableName, count: number): void {
  if (count > MAX_ADDED) {
    throw new SinkError(`the node sent too many unknown columns of ${table}`, {
      code: Code.FailedPrecondition,
      advice: `At most ${MAX_ADDED} columns can be added. Check the node, or install a newer release, which may know them.`,
    });
  }
}

/** Lists the columns in which DuckDB and Parquet store the exact texts of the numbers of a table. CSV files do not have them. */
export function textColumns(table: TableName): string[] {
  return sinkColumns(table)
    .filter((column) => numberForm(column) === "double and text")
    .map(({ name }) => textColumn(name));
}

/** Returns a name as a quoted SQL identifier. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function isNullable(column: TableColumn, ever: readonly TableColumn[]): boolean {
  return column.until !== undefined || mayLack(column, ever);
}

/** Reports whether a version may lack a value of the column, also under an earlier name: it was added later, or is nullable. */
function mayLack({ nullable, since, was }: TableColumn, ever: readonly TableColumn[]): boolean {
  const before = ever.find(({ name }) => name === was);
  return nullable || (before === undefined ? since > FIRST_SCHEMA_VERSION : mayLack(before, ever));
}

function laterName(name: string, ever: readonly TableColumn[]): string | undefined {
  return ever.find(({ was }) => was === name)?.name;
}
