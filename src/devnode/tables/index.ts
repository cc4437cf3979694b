import { csvLine } from "../../csv/encode.js";
import { type TableColumn, tableSchema } from "../../schema/table-schema.js";
import type { TableName } from "../../schema/tables.js";
import type { Happening } from "../world/event.js";
import { balances, deposits, ledger, margin_levels, rewards, withdrawals } from "./accounts.js";
import type { Fields, FieldsOf } from "./fields.js";
import { liquidity_provisions, market_data, markets } from "./markets.js";
import { blocks, checkpoints, delegations } from "./network.js";
import { timeText } from "./time.js";
import { orders, positions, trades } from "./trading.js";
import { columnText } from "./values.js";

export type { Fields } from "./fields.js";
export { blockFields } from "./network.js";

/** What an event says for each table. */
const SOURCES: { readonly [table in TableName]: FieldsOf } = {
  balances,
  checkpoints,
  delegations,
  ledger,
  orders,
  trades,
  market_data,
  margin_levels,
  positions,
  liquidity_provisions,
  markets,
  deposits,
  withdrawals,
  blocks,
  rewards,
};

/** The columns that tell apart the rows of a block, where it keeps the last of each; the others keep all, in their order. */
const KEPT_LAST: { readonly [table in TableName]?: readonly string[] } = {
  blocks: ["vega_time"],
  balances: ["account_id"],
  margin_levels: ["account_id"],
  positions: ["party_id", "market_id"],
  liquidity_provisions: ["id"],
  markets: ["id"],
  deposits: ["id", "party_id"],
  withdrawals: ["id", "party_id"],
};

/** The tables whose primary key does not begin with the time: their rows are put in order by segment, not by block. */
const BY_ID: ReadonlySet<TableName> = new Set(["liquidity_provisions", "markets", "deposits", "withdrawals"]);

/**
 * Tell what an event says for a table.
 *
 * @param table the table
 * @param happening the event in its block
 * @returns what it says for each row that it brings, mostly none or one
 */
export function rowsOf(table: TableName, happening: Happening): readonly Fields[] {
  return SOURCES[table](happening);
}

/**
 * Make the rows of a block: in the order of the table's primary key, and none with the same key. Of several states of an
 * account, a position and so on within a block the last one counts.
 *
 * @param table the table
 * @param happenings the events of one block, in their order
 * @returns what is said for each row
 */
export function blockRows(table: TableName, happenings: readonly Happening[]): readonly Fields[] {
  const rows = happenings.flatMap((happening) => rowsOf(table, happening));
  const identity = KEPT_LAST[table];
  if (identity !== undefined) {
    const last = new Map(rows.map((row) => [identity.map((column) => String(row[column])).join(" "), row]));
    return last.size < 2 ? [...last.values()] : [...last].sort(([a], [b]) => compareText(a, b)).map(([, row]) => row);
  }
  return table === "ledger" ? oneBehindTheOther(rows) : rows;
}

/** Entries of a ledger with times that all differ, by at least a microsecond. */
function oneBehindTheOther(rows: readonly Fields[]): readonly Fields[] {
  let last = 0n;
  return rows.map((row) => {
    const time = row["ledger_entry_time"];
    const wanted = typeof time === "bigint" ? time : 0n;
    last = wanted > last ? wanted : last + 1000n;
    return { ...row, ledger_entry_time: last };
  });
}

/**
 * Tell the place of a row in a segment, where that is not the order of blocks.
 *
 * @param table the table
 * @returns makes of a row what its place goes by, to be compared with {@link compareText}; `undefined` where the rows
 *   stand in the order of their blocks
 */
export function placeIn(table: TableName): ((row: Fields) => string) | undefined {
  const identity = KEPT_LAST[table];
  return identity === undefined || !BY_ID.has(table)
    ? undefined
    : (row) => `${identity.map((column) => row[column]).join(" ")} ${timeOf(row)}`;
}

const timeOf = ({ vega_time: time }: Fields): string => (typeof time === "bigint" ? timeText(time) : String(time));

/** Compare texts by their code units: for identifiers and times, as PostgreSQL orders them. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Prepare to write rows of a table as CSV.
 *
 * @param table the table
 * @param version of the database schema, which says the columns
 * @returns writes a row as a line, its end included
 */
export function csvRow(table: TableName, version: number | bigint): (row: Fields) => string {
  const columns = columnsOf(table, version);
  return (row) =>
    csvLine(
      columns.map((column) => columnText(column, row[column.name])),
      "",
      1,
    );
}

/**
 * Write the header row of a table.
 *
 * @param table the table
 * @param version of the database schema
 * @returns the line, its end included
 */
export function csvHeader(table: TableName, version: number | bigint): string {
  return csvLine(
    columnsOf(table, version).map(({ name }) => name),
    "",
    1,
  );
}

function columnsOf(table: TableName, version: number | bigint): readonly TableColumn[] {
  const key = `${table} ${version}`;
  const columns = known.get(key) ?? tableSchema(table, version).columns;
  known.set(key, columns);
  return columns;
}

const known = new Map<string, readonly TableColumn[]>();
