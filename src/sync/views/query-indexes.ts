import type { TableName } from "../../data/schema/table-names.js";
import { hexSql } from "./view-sql.js";

/**
 * The columns of the indexes for common queries in PostgreSQL, in addition to the primary keys. docs/queries.md lists these queries. With
 * `_hex`, it is the hex digits of an identifier, which queries of views compare. Those of markets and accounts are joined as bytes.
 */
const COLUMNS: { readonly [table in TableName]?: readonly (readonly string[])[] } = {
  trades: [["vega_time"], ["market_id", "vega_time"], ["buyer_hex", "vega_time"], ["seller_hex", "vega_time"]],
  orders: [
    ["id_hex", "vega_time"],
    ["party_id_hex", "vega_time"],
    ["market_id", "vega_time"],
  ],
  market_data: [["market", "vega_time"]],
  balances: [["account_id", "vega_time"]],
  ledger: [
    ["account_from_id", "vega_time"],
    ["account_to_id", "vega_time"],
  ],
  positions: [
    ["party_id_hex", "market_id", "vega_time"],
    ["market_id", "party_id", "vega_time"],
  ],
  margin_levels: [["account_id", "vega_time"]],
  liquidity_provisions: [["party_id_hex", "vega_time"]],
  deposits: [["party_id_hex", "vega_time"]],
  withdrawals: [["party_id_hex", "vega_time"]],
  rewards: [["party_id_hex", "vega_time"]],
  delegations: [["party_id_hex", "vega_time"]],
  blocks: [["height"]],
};

/** Returns the expression of an indexed column in a row. */
export function indexedSql(column: string, row?: string): string {
  const name = column.replace(/_hex$/u, "");
  const value = row === undefined ? name : `${row}.${name}`;
  return name === column ? value : hexSql("postgres", value);
}

/** An index of PostgreSQL, with the statement that creates it. */
interface QueryIndex {
  readonly name: string;
  readonly sql: string;
}

/** Returns the indexes for common queries of a table, also of those that views make. */
export function queryIndexes(table: TableName, prefix: string): QueryIndex[] {
  return (COLUMNS[table] ?? []).map((columns) => {
    const name = `${table}_by_${columns.join("_")}`;
    const list = columns.map((each) => indexedSql(each)).join(", ");
    return { name, sql: `CREATE INDEX ${name} ON ${prefix}${table} (${list})` };
  });
}
