import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { Market_StateSchema, Market_TradingModeSchema } from "../../../gen/vega/markets_pb.js";
import { AuctionTriggerSchema, type MarketDataSchema } from "../../../gen/vega/vega_pb.js";
import { invalid } from "../invalid.js";
import { asNanoseconds, createConditions, identifier } from "./conditions.js";
import { marketDepth } from "./depth.js";
import { findRow } from "./find-row.js";
import type { Watch } from "./observe.js";
import { blockKey, type Listing, readPage } from "./page.js";
import { type Row, readRow } from "./row.js";
import { lastTrade } from "./trades.js";

const history: Listing = { from: ["market_data"], key: blockKey };

type MarketDataMethods = Pick<
  ServiceImpl<typeof TradingDataService>,
  | "getLatestMarketData"
  | "listLatestMarketData"
  | "getMarketDataHistoryByID"
  | "observeMarketsData"
  | "getLatestMarketDepth"
  | "observeMarketsDepth"
>;

/**
 * Implement the methods for market data and order books.
 *
 * @param pg the database that holds the tables
 * @param watch keeps streams open
 * @returns the methods of the data service for the data and the depth of markets
 */
export function marketDataMethods(pg: PGlite, watch: Watch): MarketDataMethods {
  return {
    async getLatestMarketData({ marketId }) {
      const from = "latest_market_data WHERE market = decode($1, 'hex')";
      return { marketData: marketDataOf(await findRow(pg, from, [identifier(marketId)], `market ${marketId}`)) };
    },

    async listLatestMarketData() {
      return { marketsData: await latestMarketData(pg) };
    },

    async getMarketDataHistoryByID({ marketId, startTimestamp, endTimestamp, pagination }) {
      const { identifiers, add, build } = createConditions();
      identifiers("market", [identifier(marketId)]);
      const time = asNanoseconds("vega_time");
      if (startTimestamp !== undefined) {
        add((start) => `${time} >= ${start}::text::bigint`, String(startTimestamp));
      }
      if (endTimestamp !== undefined) {
        add((end) => `${time} <= ${end}::text::bigint`, String(endTimestamp));
      }
      return { marketData: await readPage(pg, history, pagination, marketDataOf, build()) };
    },

    async *observeMarketsData({ marketIds }, { signal }) {
      yield { marketData: await latestMarketData(pg, await existing(pg, marketIds)) };
      yield* watch("marketData", signal); // No command that the local node carries out changes it.
    },

    async getLatestMarketDepth({ marketId, maxDepth }) {
      const id = identifier(marketId);
      const trade = await lastTrade(pg, id);
      return { ...(await marketDepth(pg, id, maxDepth)), ...(trade && { lastTrade: trade }) };
    },

    async *observeMarketsDepth({ marketIds }, { signal }) {
      const ids = await existing(pg, marketIds);
      yield { marketDepth: await Promise.all(ids.map((id) => marketDepth(pg, id))) };
      yield* watch("marketDepth", signal); // No command that the local node carries out changes it.
    },
  };
}

/** The identifiers of markets. Streams refuse those of markets that do not exist; none stand for all. */
async function existing(pg: PGlite, marketIds: readonly string[]): Promise<readonly string[]> {
  const { rows } = await pg.query<Row>("SELECT id FROM market");
  const known = rows.map((row) => readRow(row).text("id"));
  const wanted = marketIds.map((id) => identifier(id, "filter"));
  const unknown = wanted.find((id) => !known.includes(id));
  if (unknown !== undefined) {
    throw invalid("filter", `there is no market ${unknown}`);
  }
  return wanted.length === 0 ? known : wanted;
}

/**
 * Read the data of markets as it stands.
 *
 * @param pg the database
 * @param marketIds the markets, 64 hex digits each; all by default
 * @returns the data of each market
 */
export async function latestMarketData(
  pg: PGlite,
  marketIds: readonly string[] = [],
): Promise<MessageInitShape<typeof MarketDataSchema>[]> {
  const { identifiers, build } = createConditions();
  identifiers("market", marketIds);
  const { sql, parameters } = build();
  const where = sql.length === 0 ? "" : `WHERE ${sql.join(" AND ")}`;
  const { rows } = await pg.query<Row>(`SELECT * FROM latest_market_data ${where} ORDER BY market`, [...parameters]);
  return rows.map(marketDataOf);
}

function marketDataOf(row: Row): MessageInitShape<typeof MarketDataSchema> {
  const { text, integer, enumeration } = readRow(row);
  return {
    market: text("market"),
    timestamp: integer("vega_time"),
    markPrice: text("mark_price"),
    bestBidPrice: text("best_bid_price"),
    bestBidVolume: integer("best_bid_volume"),
    bestOfferPrice: text("best_offer_price"),
    bestOfferVolume: integer("best_offer_volume"),
    midPrice: text("mid_price"),
    staticMidPrice: text("static_mid_price"),
    openInterest: integer("open_interest"),
    auctionStart: integer("auction_start"),
    auctionEnd: integer("auction_end"),
    indicativePrice: text("indicative_price"),
    indicativeVolume: integer("indicative_volume"),
    marketTradingMode: enumeration(Market_TradingModeSchema, "market_trading_mode"),
    marketState: enumeration(Market_StateSchema, "market_state"),
    trigger: enumeration(AuctionTriggerSchema, "auction_trigger"),
    targetStake: text("target_stake"),
    suppliedStake: text("supplied_stake"),
    lastTradedPrice: text("last_traded_price"),
  };
}
