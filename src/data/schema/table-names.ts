import type { Table } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import { tableNumbers } from "../../../gen/names/tables.js";
import { suggestNames } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { formatValue } from "../../base/input/assert.js";

/** The name of an export table, as in archives and CSV files: `trades` is `TABLE_TRADES`. */
export type TableName = keyof typeof tableNumbers;

/** The names of all export tables, in the order of their enum numbers. */
export const tableNames: readonly TableName[] = Object.keys(tableNumbers).filter(isTableName);

export function isTableName(name: string): name is TableName {
  return Object.hasOwn(tableNumbers, name);
}

export function tableName(table: Table): TableName | undefined {
  return tableNames.find((name) => tableNumbers[name] === table);
}

/**
 * Parses the name of a table, such as one from a query string.
 *
 * @param table the name, such as `trades` or `TABLE_TRADES`, or a value of the enum `Table`
 * @returns the name as archives and options have it
 * @throws {@link RequestError} if the table does not exist; the error names the nearest one
 *
 * @example
 * readTable("TABLE_TRADES"); // "trades"
 */
export function readTable(table: Table | string): TableName {
  const text = String(table)
    .replace(/^TABLE_/, "")
    .toLowerCase();
  const name = typeof table === "number" ? tableName(table) : text;
  if (name === undefined || !isTableName(name)) {
    throw new RequestError(`unknown table ${formatValue(table)}`, {
      advice: suggestNames(text, tableNames),
    });
  }
  return name;
}
