import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { MarketData } from "../../../gen/vega/vega_pb.js";
import type { World } from "../world/world.js";
import { identifier, oneOf } from "./conditions.js";
import { existing } from "./existing.js";
import { timelineListing } from "./listing.js";
import type { Streams } from "./observe.js";
import { observedMarkets } from "./observed-markets.js";
import { readPage } from "./page.js";

type MarketDataMethods = Pick<
  ServiceImpl<typeof TradingDataService>,
  "getLatestMarketData" | "listLatestMarketData" | "getMarketDataHistoryByID" | "observeMarketsData"
>;

/**
 * Implement the methods for market data.
 *
 * @param world how things stand
 * @param streams keeps streams open
 * @returns the methods of the data service for the data of markets
 */
export function marketDataMethods(world: World, streams: Streams): MarketDataMethods {
  return {
    async getLatestMarketData({ marketId }) {
      return { marketData: existing(world.marketData.get(identifier(marketId)), `market ${marketId}`) };
    },

    async listLatestMarketData() {
      return { marketsData: latestMarketData(world) };
    },

    async getMarketDataHistoryByID({ marketId, startTimestamp: start, endTimestamp: end, pagination }) {
      const id = identifier(marketId);
      const listing = timelineListing(
        world.marketDataHistory,
        ({ market, timestamp }) =>
          market === id && (start === undefined || timestamp >= start) && (end === undefined || timestamp <= end),
      );
      return { marketData: readPage(listing, pagination, (data) => data) };
    },

    async *observeMarketsData({ marketIds }, { signal }) {
      const ids = observedMarkets(world, marketIds);
      yield* streams.watch({
        subject: "marketData",
        signal,
        snapshot: () => [{ marketData: latestMarketData(world, ids) }],
        select: (happenings) =>
          happenings.flatMap(({ event }) =>
            event.case === "marketData" && ids.includes(event.value.market) ? [event.value] : [],
          ),
        message: (marketData) => ({ marketData: [...marketData] }),
      });
    },
  };
}

/**
 * Tell the data of markets as it stands.
 *
 * @param world how things stand
 * @param marketIds the markets, 64 hex digits in lower case each; all by default
 * @returns the data of each market, by its identifier
 */
export function latestMarketData(world: World, marketIds: readonly string[] = []): MarketData[] {
  const isWanted = oneOf(marketIds);
  return [...world.marketData.values()]
    .filter(({ market }) => isWanted(market))
    .sort((a, b) => (a.market < b.market ? -1 : 1));
}
