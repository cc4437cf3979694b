import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Trade } from "../../../gen/vega/vega_pb.js";
import type { World } from "../world/world.js";
import { identifier, identifiers, within } from "./conditions.js";
import { timelineListing } from "./listing.js";
import type { Streams } from "./observe.js";
import { readPage } from "./page.js";

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
      const isOnMarket = identifiers(marketIds);
      const isOfOrder = identifiers(orderIds);
      const isOfParty = identifiers(partyIds);
      const isWithin = within(dateRange);
      const listing = timelineListing(
        world.trades,
        ({ marketId, buyOrder, sellOrder, buyer, seller, timestamp }) =>
          isOnMarket(marketId) && isOfOrder(buyOrder, sellOrder) && isOfParty(buyer, seller) && isWithin(timestamp),
      );
      return { trades: readPage(listing, pagination, (trade) => trade) };
    },

    async getLastTrade({ marketId }) {
      const trade = lastTrade(world, identifier(marketId));
      return trade === undefined ? {} : { trade };
    },

    async *observeTrades({ marketIds, partyIds }, { signal }) {
      const isOnMarket = identifiers(marketIds);
      const isOfParty = identifiers(partyIds);
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
