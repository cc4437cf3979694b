import { Table, TableSchema } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import { shown } from "../errors/check-values.js";
import { RequestError } from "../errors/index.js";
import { whatThereIs } from "../errors/nearest.js";

/** The name of an export table, as archives and CSV files carry it: `trades` is `TABLE_TRADES` (specification, 2.8). */
export type TableName = Lowercase<Exclude<keyof typeof Table, "UNSPECIFIED">>;

const numbers = new Map<string, Table>(
  TableSchema.values
    .filter(({ number }) => number !== Table.UNSPECIFIED)
    .map(({ localName, number }) => [localName.toLowerCase(), number]),
);

/** The names of all export tables, in the order of their enum numbers. */
export const tableNames: readonly TableName[] = [...numbers.keys()].filter(isTableName);

/**
 * Tell whether a text is the name of an export table (specification, 2.8).
 *
 * @param name such as `trades`
 * @returns whether it is one of `tableNames`
 */
export function isTableName(name: string): name is TableName {
  return numbers.has(name);
}

/**
 * Find the name of an export table (specification, 2.8).
 *
 * @param table the enum number
 * @returns the name; `undefined` for `TABLE_UNSPECIFIED` and for numbers of no table
 */
export function tableName(table: Table): TableName | undefined {
  return tableNames.find((name) => numbers.get(name) === table);
}

/**
 * Read which table is meant.
 *
 * @param table its enum number, its enum name (`TABLE_TRADES`) or the name that archives carry (`trades`)
 * @returns the name that archives carry
 * @throws {@link RequestError} where there is no such table; it names the nearest
 */
export function readTable(table: Table | string): TableName {
  const text = String(table)
    .replace(/^TABLE_/, "")
    .toLowerCase();
  const name = typeof table === "number" ? tableName(table) : text;
  if (name === undefined || !isTableName(name)) {
    throw new RequestError(`${shown(table)} is not a table that can be exported`, {
      advice: whatThereIs(text, tableNames),
    });
  }
  return name;
}
