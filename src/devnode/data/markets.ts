import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import {
  AuctionDurationSchema,
  FeesSchema,
  LiquidityMonitoringParametersSchema,
  Market_StateSchema,
  Market_TradingModeSchema,
  type MarketSchema,
  MarketTimestampsSchema,
  PriceMonitoringSettingsSchema,
  TradableInstrumentSchema,
} from "../../../gen/vega/markets_pb.js";
import { createConditions, identifier } from "./conditions.js";
import { findRow } from "./find-row.js";
import { bytesKey, type Listing, readPage, timeKey } from "./page.js";
import { type Row, readRow } from "./row.js";

const markets: Listing = {
  from: ["market"],
  key: [timeKey, bytesKey("id")],
};

/**
 * Implement the methods for markets.
 *
 * @param pg the database that holds the table
 * @returns the methods of the data service that list markets and get one
 */
export function marketMethods(pg: PGlite): Pick<ServiceImpl<typeof TradingDataService>, "listMarkets" | "getMarket"> {
  return {
    async listMarkets({ includeSettled = false, pagination }) {
      const { add, build } = createConditions();
      if (!includeSettled) {
        add((state) => `state <> ${state}`, "STATE_SETTLED");
      }
      return { markets: await readPage(pg, markets, pagination, marketOf, build()) };
    },

    async getMarket({ marketId }) {
      const id = identifier(marketId);
      return { market: marketOf(await findRow(pg, "market WHERE id = decode($1, 'hex')", [id], `market ${marketId}`)) };
    },
  };
}

/**
 * Convert a row of the table of markets to its message.
 *
 * @param row the row
 * @returns the market
 */
export function marketOf(row: Row): MessageInitShape<typeof MarketSchema> {
  const { text, integer, enumeration, json, given } = readRow(row);
  return {
    id: text("id"),
    tradableInstrument: json(TradableInstrumentSchema, "tradable_instrument"),
    decimalPlaces: integer("decimal_places"),
    fees: json(FeesSchema, "fees"),
    openingAuction: json(AuctionDurationSchema, "opening_auction"),
    priceMonitoringSettings: json(PriceMonitoringSettingsSchema, "price_monitoring_settings"),
    liquidityMonitoringParameters: json(LiquidityMonitoringParametersSchema, "liquidity_monitoring_parameters"),
    tradingMode: enumeration(Market_TradingModeSchema, "trading_mode"),
    state: enumeration(Market_StateSchema, "state"),
    marketTimestamps: json(MarketTimestampsSchema, "market_timestamps"),
    positionDecimalPlaces: integer("position_decimal_places"),
    lpPriceRange: text("lp_price_range"),
    linearSlippageFactor: text("linear_slippage_factor"),
    quadraticSlippageFactor: text("quadratic_slippage_factor"),
    ...given("parent_market_id", () => ({
      parentMarketId: text("parent_market_id"),
      insurancePoolFraction: text("insurance_pool_fraction"),
    })),
    tickSize: "1",
  };
}
