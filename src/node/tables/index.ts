import { csvLine } from "../../data/csv/encode-csv.js";
import type { TableName } from "../../data/schema/table-names.js";
import { type TableColumn, tableSchema } from "../../data/schema/table-schema.js";
import type { BlockEvent } from "../world/block-event.js";
import { ROWS, type Row } from "./event-rows.js";
import { columnText, timeText } from "./postgres-text.js";

export type { Row } from "./event-rows.js";
export { blockFields } from "./event-rows.js";

/** The columns that identify a record, for tables with only the last row of each record in a block; others have all rows. */
const RECORD_KEYS: { readonly [table in TableName]?: readonly string[] } = {
  blocks: ["vega_time"],
  balances: ["account_id"],
  margin_levels: ["account_id"],
  positions: ["party_id", "market_id"],
  liquidity_provisions: ["id"],
  markets: ["id"],
  deposits: ["id", "party_id"],
  withdrawals: ["id", "party_id"],
};

/** The tables whose primary key does not start with the time: their rows are sorted by segment, not by block. */
const SORTED_BY_ID: ReadonlySet<TableName> = new Set(["liquidity_provisions", "markets", "deposits", "withdrawals"]);

/**
 * Returns the rows of a block, in the order of the table's primary key and without duplicate keys. If a block changes a
 * record more than once, such as an account or a position, only its last state has a row.
 */
export function blockRows(table: TableName, blockEvents: readonly BlockEvent[]): readonly Row[] {
  const rows = blockEvents.flatMap((blockEvent) => ROWS[table](blockEvent));
  const recordKey = RECORD_KEYS[table];
  if (recordKey !== undefined) {
    const last = new Map(rows.map((row) => [recordKey.map((column) => String(row[column])).join(" "), row]));
    return last.size < 2 ? [...last.values()] : [...last].sort(([a], [b]) => compareText(a, b)).map(([, row]) => row);
  }
  return table === "ledger" ? withUniqueTimes(rows) : rows;
}

/** Returns ledger entries with unique times, at least a microsecond apart. */
function withUniqueTimes(rows: readonly Row[]): readonly Row[] {
  let last = 0n;
  return rows.map((row) => {
    const time = row["ledger_entry_time"];
    const wanted = typeof time === "bigint" ? time : 0n;
    last = wanted > last ? wanted : last + 1000n;
    return { ...row, ledger_entry_time: last };
  });
}

/** Returns the sort key of a table's rows within a segment, for tables that are not sorted by block. */
export function sortKeyOf(table: TableName): ((row: Row) => string) | undefined {
  const recordKey = RECORD_KEYS[table];
  return recordKey === undefined || !SORTED_BY_ID.has(table)
    ? undefined
    : (row) => `${recordKey.map((column) => row[column]).join(" ")} ${timeOf(row)}`;
}

const timeOf = ({ vega_time: time }: Row): string => (typeof time === "bigint" ? timeText(time) : String(time));

/** Compares texts by their code units, which is PostgreSQL's order of identifiers and times. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function csvRow(table: TableName, version: number | bigint): (row: Row) => string {
  const columns = columnsOf(table, version);
  return (row) =>
    csvLine(
      columns.map((column) => columnText(column, row[column.name])),
      "",
      1,
    );
}

export function csvHeader(table: TableName, version: number | bigint): string {
  return csvLine(
    columnsOf(table, version).map(({ name }) => name),
    "",
    1,
  );
}

function columnsOf(table: TableName, version: number | bigint): readonly TableColumn[] {
  const key = `${table} ${version}`;
  const columns = columnCache.get(key) ?? tableSchema(table, version).columns;
  columnCache.set(key, columns);
  return columns;
}

const columnCache = new Map<string, readonly TableColumn[]>();
