import type { TableName } from "../../../schema/tables.js";

/**
 * The indexes that usual questions need beside the primary keys, as lists of columns. Which questions these are stands in
 * docs/sync-queries.md.
 */
const QUERY_INDEXES: { readonly [table in TableName]?: readonly (readonly string[])[] } = {
  trades: [["vega_time"], ["market_id", "vega_time"], ["buyer", "vega_time"], ["seller", "vega_time"]],
  orders: [
    ["id", "vega_time"],
    ["party_id", "vega_time"],
  ],
  market_data: [["market", "vega_time"]],
  balances: [["account_id", "vega_time"]],
  ledger: [
    ["account_from_id", "vega_time"],
    ["account_to_id", "vega_time"],
  ],
  positions: [["party_id", "vega_time"]],
  margin_levels: [["account_id", "vega_time"]],
  liquidity_provisions: [["party_id", "vega_time"]],
  deposits: [["party_id", "vega_time"]],
  withdrawals: [["party_id", "vega_time"]],
  rewards: [["party_id", "vega_time"]],
  delegations: [["party_id", "vega_time"]],
  blocks: [["height"]],
};

/** An index that a table may get. */
export interface QueryIndex {
  readonly name: string;
  /** The statement that makes it. */
  readonly sql: string;
}

/**
 * List the indexes of a table that usual questions need.
 *
 * @param table the table
 * @param before what stands before its name, such as `public.`
 * @returns the indexes
 */
export function queryIndexes(table: TableName, before: string): QueryIndex[] {
  return (QUERY_INDEXES[table] ?? []).map((columns) => {
    const name = `${table}_by_${columns.join("_")}`;
    return { name, sql: `CREATE INDEX ${name} ON ${before}${table} (${columns.join(", ")})` };
  });
}
