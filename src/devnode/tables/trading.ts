import {
  between,
  blockTime,
  column,
  freeText,
  hash,
  later,
  oneOf,
  pick,
  sequence,
  syntheticTime,
  type TableDefinition,
  transaction,
} from "./column.js";
import { COUNT, market, party } from "./entities.js";

export const orders: TableDefinition = {
  rowsPerBlock: 2,
  columns: [
    column("id", "bytea", hash("order", "n")),
    column("market_id", "bytea", market),
    column("party_id", "bytea", party),
    column("side", "text", pick(["SIDE_BUY", "SIDE_SELL"])),
    column("price", "numeric", between(2_650_000, 40_000)),
    column("size", "bigint", between(1, 500)),
    column("remaining", "bigint", `(${between(1, 500)}) / 2`),
    column("time_in_force", "text", pick(["TIME_IN_FORCE_GTC", "TIME_IN_FORCE_GTT", "TIME_IN_FORCE_IOC"])),
    column("type", "text", pick(["TYPE_LIMIT", "TYPE_MARKET"], "n / 5")),
    column("status", "text", pick(["STATUS_ACTIVE", "STATUS_FILLED", "STATUS_CANCELLED", "STATUS_EXPIRED"])),
    column("reference", "text", freeText()),
    column("reason", "text", pick([null, null, "ORDER_ERROR_MARGIN_CHECK_FAILED"])),
    column("version", "integer", "1 + n % 3"),
    column("pegged_offset", "numeric", "CASE WHEN n % 6 = 0 THEN n % 100 END"),
    column("batch_id", "integer", "1"),
    column("pegged_reference", "text", pick(["PEGGED_REFERENCE_MID", null, null, null, null, null])),
    column("lp_id", "bytea", `CASE WHEN n % 9 = 0 THEN ${oneOf("liquidity_provision", 40)} END`),
    column("created_at", "timestamptz", blockTime),
    column("updated_at", "timestamptz", `CASE WHEN n % 3 > 0 THEN ${later(2)} END`),
    column("expires_at", "timestamptz", `CASE WHEN n % 3 = 1 THEN ${later(3600)} END`),
    ...transaction,
    sequence,
    column("vega_time_to", "timestamptz", "'infinity'"),
    column("post_only", "boolean", "n % 4 = 0"),
    column("reduce_only", "boolean", "n % 7 = 0"),
  ],
};

/**
 * SQL for the price of a trade.
 *
 * @param number SQL for the trade's number
 * @returns SQL without parentheses around it
 */
export const tradePrice = (number: string): string => between(2_650_000, 40_000, number);

export const trades: TableDefinition = {
  rowsPerBlock: 2,
  columns: [
    syntheticTime,
    ...transaction,
    sequence,
    column("id", "bytea", hash("trade", "n")),
    column("market_id", "bytea", market),
    column("price", "numeric", tradePrice("n")),
    column("size", "bigint", between(1, 500)),
    column("buyer", "bytea", party),
    column("seller", "bytea", oneOf("party", COUNT.party, "n + 31")),
    column("aggressor", "text", pick(["SIDE_BUY", "SIDE_SELL"], "n / 3")),
    column("buy_order", "bytea", hash("order", "n")),
    column("sell_order", "bytea", hash("order", "n + 1")),
    column("type", "text", pick(["TYPE_DEFAULT", "TYPE_DEFAULT", "TYPE_NETWORK_CLOSE_OUT_GOOD"])),
    column("buyer_reference", "text", freeText()),
    column("seller_reference", "text", freeText(5)),
    column("buyer_maker_fee", "numeric", between(0, 900)),
    column("buyer_infrastructure_fee", "numeric", between(0, 500)),
    column("buyer_liquidity_fee", "numeric", between(0, 700)),
    column("seller_maker_fee", "numeric", "0"),
    column("seller_infrastructure_fee", "numeric", "0"),
    column("seller_liquidity_fee", "numeric", "0"),
    column("buyer_auction_batch", "bigint", "CASE WHEN n % 8 = 0 THEN h END"),
    column("seller_auction_batch", "bigint", "CASE WHEN n % 8 = 0 THEN h END"),
    column("buyer_buy_back_fee", "numeric", between(0, 90), 2n),
  ],
};
