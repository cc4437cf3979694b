import { Code, type ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { MarketData } from "../../../gen/vega/vega_pb.js";
import { apiError } from "../api-error.js";
import type { World } from "../world/world.js";
import { oneOf, type Query, queryError, queryIdentifier } from "./conditions.js";
import { timelineListing } from "./listing.js";
import type { Streams } from "./observe.js";
import { observedMarkets } from "./observed-markets.js";
import { readPageOf, readPagination } from "./page.js";

const HISTORY: Query = {
  message: "failed to get market data history",
  inner: (cause) => `could not retrieve historic market data: ${cause}`,
};

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
      // The node keeps the latest data by identifiers as they are, and looks at none of them.
      const marketData = world.marketData.get(marketId);
      if (marketData === undefined) {
        throw apiError(Code.Internal, "failed to get market data", `no market data for market: ${marketId}`);
      }
      return { marketData };
    },

    async listLatestMarketData() {
      return { marketsData: latestMarketData(world) };
    },

    async getMarketDataHistoryByID({ marketId, startTimestamp: start, endTimestamp: end, pagination }) {
      const asked = readPagination(pagination, (reason) =>
        apiError(Code.Internal, HISTORY.message, `${reason}: invalid pagination`),
      );
      if (start !== undefined && end !== undefined && start > end) {
        throw queryError(HISTORY, "invalid date range, end date must be after start date");
      }
      const id = queryIdentifier(marketId, {
        ...HISTORY,
        inner: (cause) => `could not retrieve historic market data: scany: query multiple result rows: ${cause}`,
      });
      const listing = timelineListing(
        world.marketDataHistory,
        ({ market, timestamp }) =>
          market === id && (start === undefined || timestamp >= start) && (end === undefined || timestamp <= end),
      );
      // Without dates, the latest record is all that there is, whatever page is asked for.
      const isLatestOnly = start === undefined && end === undefined;
      const request = isLatestOnly ? { size: 1, cursor: undefined, backwards: false, newestFirst: true } : asked;
      return { marketData: readPageOf(listing, request, (data) => data, HISTORY) };
    },

    async *observeMarketsData({ marketIds }, { signal }) {
      const isObserved = observedMarkets(world, marketIds);
      yield* streams.watch({
        subject: "marketData",
        signal,
        select: (happenings) =>
          happenings.flatMap(({ event }) =>
            event.case === "marketData" && isObserved(event.value.market) ? [event.value] : [],
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
