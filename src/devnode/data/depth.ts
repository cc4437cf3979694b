import type { MarketDepth, PriceLevel } from "../../../gen/vega/vega_pb.js";
import { type Happening, isOrder } from "../world/event.js";
import type { World } from "../world/world.js";
import { type Query, queryIdentifier } from "./conditions.js";
import { observedMarkets } from "./markets.js";
import type { DataMethods } from "./method.js";
import type { Streams } from "./observe.js";
import { lastTrade } from "./orders.js";

/** Where order books are kept. */
export interface Books {
  /**
   * Read a market's order book: the best `maxDepth` levels of each side, or all. Its sequence number is the height of the
   * block that changed it last.
   */
  depth(marketId: string, maxDepth?: number): MarketDepth;
}

const LAST_TRADE: Query = {
  message: "failed to get trades for market",
  inner: (cause) => `failed to get trade by market:querying trades: scany: query multiple result rows: ${cause}`,
};

/**
 * Implement the methods for order books.
 *
 * @param world how things stand
 * @param books the order books
 * @param streams keeps streams open
 * @returns the methods of the data service for the depth of markets
 */
export function depthMethods(world: World, books: Books, streams: Streams): DataMethods {
  return {
    async getLatestMarketDepth({ marketId, maxDepth = 0n }) {
      const id = queryIdentifier(marketId, LAST_TRADE);
      const { buy, sell, sequenceNumber } = books.depth(id, maxDepth === 0n ? undefined : Number(maxDepth));
      const trade = lastTrade(world, id);
      return { marketId: id, buy, sell, sequenceNumber, ...(trade && { lastTrade: trade }) };
    },

    async *observeMarketsDepth({ marketIds }, { signal }) {
      const isObserved = observedMarkets(world, marketIds);
      yield* streams.watch({
        subject: "marketDepth",
        signal,
        select: (happenings) => changedBooks(isObserved, happenings).map((id) => books.depth(id)),
        message: (marketDepth) => ({ marketDepth: [...marketDepth] }),
      });
    },

    async *observeMarketsDepthUpdates({ marketIds }, { signal }) {
      const isObserved = observedMarkets(world, marketIds);
      const told = new Map([...world.markets.keys()].filter(isObserved).map((id) => [id, books.depth(id)]));
      /** What changed on a market's book since it was told last, if anything did. */
      const update = (id: string) => {
        const before = told.get(id);
        const now = books.depth(id);
        const buy = changedLevels(before?.buy ?? [], now.buy);
        const sell = changedLevels(before?.sell ?? [], now.sell);
        if (buy.length + sell.length === 0) {
          return [];
        }
        told.set(id, now);
        const previousSequenceNumber = before?.sequenceNumber ?? 0n;
        return [{ marketId: id, buy, sell, sequenceNumber: now.sequenceNumber, previousSequenceNumber }];
      };
      yield* streams.watch({
        subject: "marketDepthUpdates",
        signal,
        select: (happenings) => changedBooks(isObserved, happenings).flatMap(update),
        message: (updates) => ({ update: [...updates] }),
      });
    },
  };
}

/** Those of some markets whose books may have changed: every change is one of an order. */
function changedBooks(isObserved: (marketId: string) => boolean, happenings: readonly Happening[]): string[] {
  const changed = happenings.flatMap(({ event }) => (isOrder(event) ? [event.value.marketId] : []));
  return [...new Set(changed)].filter(isObserved);
}

/** The levels that are new or not as they were, and those that are gone, with nothing at their price. */
function changedLevels(before: readonly PriceLevel[], now: readonly PriceLevel[]): PriceLevel[] {
  const old = new Map(before.map((level) => [level.price, level]));
  const changed = now.filter(({ price, volume, numberOfOrders }) => {
    const level = old.get(price);
    old.delete(price);
    return level?.volume !== volume || level.numberOfOrders !== numberOfOrders;
  });
  return [...changed, ...Array.from(old.values(), (level) => ({ ...level, volume: 0n, numberOfOrders: 0n }))];
}
