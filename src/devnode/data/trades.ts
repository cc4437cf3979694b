import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { SideSchema, Trade_TypeSchema, type TradeSchema } from "../../../gen/vega/vega_pb.js";
import { asNanoseconds, createConditions, identifier } from "./conditions.js";
import type { Watch } from "./observe.js";
import { blockKey, type Listing, readPage } from "./page.js";
import { type Row, readRow } from "./row.js";

const trades: Listing = { from: ["trades"], key: blockKey };

type TradeMethods = Pick<ServiceImpl<typeof TradingDataService>, "listTrades" | "getLastTrade" | "observeTrades">;

/**
 * Implement the methods for trades, from the table that is exported.
 *
 * @param pg the database that holds the table
 * @param watch keeps streams open
 * @returns the methods of the data service that list and stream trades and get the last one
 */
export function tradeMethods(pg: PGlite, watch: Watch): TradeMethods {
  return {
    async listTrades({ marketIds, orderIds, partyIds, dateRange, pagination }) {
      const { identifiers, within, build } = createConditions();
      identifiers("market_id", marketIds);
      identifiers(["buy_order", "sell_order"], orderIds);
      identifiers(["buyer", "seller"], partyIds);
      within(asNanoseconds("vega_time"), dateRange);
      return { trades: await readPage(pg, trades, pagination, tradeOf, build()) };
    },

    async getLastTrade({ marketId }) {
      const trade = await lastTrade(pg, identifier(marketId));
      return trade === undefined ? {} : { trade };
    },

    async *observeTrades({ marketIds, partyIds }, { signal }) {
      // Malformed identifiers are refused here as in listings.
      const { identifiers } = createConditions();
      identifiers("market_id", marketIds);
      identifiers("buyer", partyIds);
      yield* watch("trade", signal); // The local node does not match orders, so it has no new trades.
    },
  };
}

/**
 * Find the last trade on a market.
 *
 * @param pg the database
 * @param marketId the market, 64 hex digits
 * @returns the trade; `undefined` if there is none
 */
export async function lastTrade(
  pg: PGlite,
  marketId: string,
): Promise<MessageInitShape<typeof TradeSchema> | undefined> {
  const { identifiers, build } = createConditions();
  identifiers("market_id", [marketId]);
  const { sql, parameters } = build();
  const { rows } = await pg.query<Row>(
    `SELECT * FROM trades WHERE ${sql.join(" AND ")} ORDER BY row_height DESC, row_index DESC LIMIT 1`,
    [...parameters],
  );
  return rows[0] && tradeOf(rows[0]);
}

function tradeOf(row: Row): MessageInitShape<typeof TradeSchema> {
  const { text, integer, enumeration } = readRow(row);
  const fee = (payer: string) => ({
    makerFee: text(`${payer}_maker_fee`),
    infrastructureFee: text(`${payer}_infrastructure_fee`),
    liquidityFee: text(`${payer}_liquidity_fee`),
    buyBackFee: text(`${payer}_buy_back_fee`),
  });
  return {
    id: text("id"),
    marketId: text("market_id"),
    price: text("price"),
    size: integer("size"),
    buyer: text("buyer"),
    seller: text("seller"),
    aggressor: enumeration(SideSchema, "aggressor"),
    buyOrder: text("buy_order"),
    sellOrder: text("sell_order"),
    timestamp: integer("vega_time"),
    type: enumeration(Trade_TypeSchema, "type"),
    buyerFee: fee("buyer"),
    sellerFee: fee("seller"),
    buyerAuctionBatch: integer("buyer_auction_batch"),
    sellerAuctionBatch: integer("seller_auction_batch"),
  };
}
