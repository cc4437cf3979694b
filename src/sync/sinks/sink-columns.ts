import { Code } from "@connectrpc/connect";
import { quoted } from "../../errors/error-text.js";
import { SinkError } from "../../errors/index.js";
import type { TableName } from "../../schema/table-names.js";
import {
  columnsEver,
  FIRST_SCHEMA_VERSION,
  NEWEST_SCHEMA_VERSION,
  type TableColumn,
  type TableSchema,
  tableSchema,
} from "../../schema/table-schema.js";

/** A column of a sink's table. `nullable` is whether some version lacks it or may have NULL in it. */
export type SinkColumn = TableColumn;

/**
 * The last column of each table of a sink: the first block of the unit that the row came with. It makes counting,
 * comparing and replacing exact. In an SQL database it is an 8-byte integer that is never NULL.
 */
export const FROM_BLOCK = "_from_block";

/** The most columns, of those that this release does not know, that are added to a table. */
export const MAX_ADDED = 200;

/** The longest name that a column can have, in bytes of UTF-8. PostgreSQL cuts longer ones. */
const MAX_COLUMN_NAME = 63;

/**
 * List the columns of a sink's table, which holds the rows of all known schema versions: the columns of the newest
 * version in their order, then those that only older versions have. A renamed column is one, by its newest name.
 * {@link FROM_BLOCK} is not among them.
 *
 * @param table such as `trades`
 * @returns the columns; one may be NULL unless every version has it and never NULL
 * @throws `RequestError` where there is no such table
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
 * Describe a sink's table, for statements such as `createTableSql` makes.
 *
 * @param table such as `trades`
 * @returns the columns of {@link sinkColumns} and the key, as of the newest known version
 * @throws {@link RequestError} where there is no such table
 *
 * @example
 * createTypesSql(tables.map(sinkSchema), "postgres");
 */
export function sinkSchema(table: TableName): TableSchema {
  return { ...tableSchema(table, NEWEST_SCHEMA_VERSION), columns: sinkColumns(table) };
}

/**
 * Find the column of a sink's table that takes a column of a CSV file.
 *
 * @param table such as `trades`
 * @param csvColumn the name in the file's header row
 * @returns the column; `undefined` where this release does not know the name
 * @throws `RequestError` where there is no such table
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
 * Check that a column which this release does not know can be added to a sink's table.
 *
 * @param table such as `trades`
 * @param name the name in the file's header row
 * @throws {@link SinkError} where the name is empty, longer than 63 bytes, has a NUL, or is that of {@link FROM_BLOCK}
 */
export function checkAddedName(table: TableName, name: string): void {
  const length = Buffer.byteLength(name);
  if (length === 0 || length > MAX_COLUMN_NAME || name.includes("\0") || name.toLowerCase() === FROM_BLOCK) {
    throw new SinkError(`the column ${quoted(name)} of ${table}, which is not known, cannot be added`, {
      code: Code.Unimplemented,
      advice: `A column's name has 1 to ${MAX_COLUMN_NAME} bytes, and ${FROM_BLOCK} is the sink's own. Install a newer release, which may know the column.`,
    });
  }
}

/**
 * Check that columns which this release does not know are not too many for a sink's table.
 *
 * @param table such as `trades`
 * @param count how many the table would have
 * @throws {@link SinkError} where there are more than 200: the unit fails, others may be loaded
 */
export function checkAddedCount(table: TableName, count: number): void {
  if (count > MAX_ADDED) {
    throw new SinkError(`the node sends more unknown columns of ${table} than can be added`, {
      code: Code.FailedPrecondition,
      advice: `At most ${MAX_ADDED} are added. Check the node, or install a newer release, which may know them.`,
    });
  }
}

/**
 * Write a name as an identifier of SQL, whatever it holds.
 *
 * @param name such as `trades`
 * @returns the name in double quotes
 */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function isNullable(column: TableColumn, ever: readonly TableColumn[]): boolean {
  return column.until !== undefined || mayLack(column, ever);
}

/** Whether a version up to that of the column's name may lack a value: the column came later, or may be NULL. */
function mayLack({ nullable, since, was }: TableColumn, ever: readonly TableColumn[]): boolean {
  const before = ever.find(({ name }) => name === was);
  return nullable || (before === undefined ? since > FIRST_SCHEMA_VERSION : mayLack(before, ever));
}

function laterName(name: string, ever: readonly TableColumn[]): string | undefined {
  return ever.find(({ was }) => was === name)?.name;
}
