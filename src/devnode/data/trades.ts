import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Trade } from "../../../gen/vega/vega_pb.js";
import type { World } from "../world/world.js";
import { oneOf, type Query, queryIdentifiers, within } from "./conditions.js";
import { timelineListing } from "./listing.js";
import { marketIdentifier } from "./markets.js";
import type { Streams } from "./observe.js";
import { readPageOf, readPagination } from "./page.js";

const LIST: Query = {
  message: "failed to list trades",
  inner: (cause) => `failed to get trade by market:${cause}`,
};

/** How the data node words that an identifier of a filter is none. */
const filterOf = (what: "market" | "party" | "order"): Query => ({
  ...LIST,
  inner: (cause) => `received invalid ${what} ID: ${cause}`,
});

type TradeMethods = Pick<ServiceImpl<typeof TradingDataService>, "listTrades" | "getLastTrade" | "observeTrades">;

/**
 * Implement the methods for trades.
 *
 * @param world how things stand
 * @param streams keeps streams open
 * @returns the methods of the data service that list and stream trades and get the last one
 */
export function tradeMethods(world: World, streams: Streams): TradeMethods {
  return {
    async listTrades({ marketIds, orderIds, partyIds, dateRange, pagination }) {
      const request = readPagination(pagination);
      const isOnMarket = queryIdentifiers(marketIds, filterOf("market"));
      const isOfParty = queryIdentifiers(partyIds, filterOf("party"));
      const isOfOrder = queryIdentifiers(orderIds, filterOf("order"));
      const isWithin = within(dateRange);
      const listing = timelineListing(
        world.trades,
        ({ marketId, buyOrder, sellOrder, buyer, seller, timestamp }) =>
          isOnMarket(marketId) && isOfOrder(buyOrder, sellOrder) && isOfParty(buyer, seller) && isWithin(timestamp),
      );
      return { trades: readPageOf(listing, request, (trade) => trade, LIST) };
    },

    async getLastTrade({ marketId }) {
      const trade = lastTrade(world, marketIdentifier(marketId));
      return trade === undefined ? {} : { trade };
    },

    async *observeTrades({ marketIds, partyIds }, { signal }) {
      const isOnMarket = oneOf(marketIds);
      const isOfParty = oneOf(partyIds);
      yield* streams.watch({
        subject: "trade",
        signal,
        select: (happenings) =>
          happenings
            .flatMap(({ event }) => (event.case === "trade" ? [event.value] : []))
            .filter(({ marketId, buyer, seller }) => isOnMarket(marketId) && isOfParty(buyer, seller)),
        message: (trades) => ({ trades: [...trades] }),
      });
    },
  };
}

/**
 * Find the last trade on a market.
 *
 * @param world how things stand
 * @param marketId the market, 64 hex digits in lower case
 * @returns the trade; `undefined` if there is none
 */
export function lastTrade(world: World, marketId: string): Trade | undefined {
  // A market that is not there has no trade: the whole history need not be searched for one.
  for (const { value } of world.markets.has(marketId) ? world.trades.read(true) : []) {
    if (value.marketId === marketId) {
      return value;
    }
  }
  return undefined;
}
