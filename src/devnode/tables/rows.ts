import type { TableName } from "../../schema/tables.js";
import { tables } from "./index.js";

/**
 * Write the SQL that computes rows of an export table.
 *
 * @param table the table
 * @param source SQL of a query that gives `h` (height), `i` (index in the block), `n` (number of the row) and
 *   `database_version`
 * @returns SQL of a query that gives `row_height`, `row_index` and the table's columns
 */
export function selectRows(table: TableName, source: string): string {
  const values = tables[table].columns.map(({ name, type, since, value }) => {
    const present = since === 1n ? value : `CASE WHEN database_version >= ${since} THEN ${value} END`;
    return `(${present})::${type} AS "${name}"`;
  });
  return `SELECT h AS row_height, i AS row_index, ${values.join(",\n")} FROM (${source}) AS row_number`;
}

/**
 * Write the SQL that creates an export table as a view. Its rows are computed from the height and the index, so they
 * take no memory. Segments and blocks are stored, one row each: the start takes longer for a longer history.
 *
 * @param table the table
 * @returns an SQL statement
 */
export function createView(table: TableName): string {
  const { rowsPerBlock } = tables[table];
  return `CREATE VIEW "${table}" AS ${selectRows(
    table,
    `SELECT height AS h, database_version, i, (height - 1) * ${rowsPerBlock} + i AS n
     FROM block CROSS JOIN generate_series(0::bigint, ${rowsPerBlock - 1}) AS i`,
  )};`;
}

/**
 * Write the SQL for the last rows of an export table: how things stand at the end of the history. Where the history is
 * too short to have that many, the first rows that it would have stand in, as of its last block.
 *
 * @param table the table
 * @param count the number of rows: after so many the table's keys come again
 * @param blocks the number of blocks of the history
 * @returns SQL of a query, with a row for each key
 */
export function lastRows(table: TableName, count: number, blocks: number): string {
  const { rowsPerBlock } = tables[table];
  const rows = Math.max(blocks * rowsPerBlock, count);
  return selectRows(
    table,
    `SELECT least(n / ${rowsPerBlock} + 1, ${blocks}) AS h, n % ${rowsPerBlock} AS i, n, 2 AS database_version
     FROM generate_series(${rows - count}::bigint, ${rows - 1}) AS n`,
  );
}
