import type { MarketDepth, PriceLevel } from "../../../gen/vega/vega_pb.js";
import { type BlockEvent, isOrder } from "../world/block-event.js";
import type { World } from "../world/world.js";
import { type Query, queryIdentifier } from "./filters.js";
import { observedMarkets } from "./market-methods.js";
import type { DataMethods } from "./method.js";
import { lastTrade } from "./order-methods.js";
import type { OpenStreams } from "./streams.js";

/** The order books. */
export interface Books {
  /**
   * Returns a market's order book: the best `maxDepth` levels of each side, or all. Its sequence number is the height of the
   * block that last changed it.
   */
  depth(marketId: string, maxDepth?: number): MarketDepth;
}

const LAST_TRADE: Query = {
  message: "failed to get trades for market",
  inner: (cause) => `failed to get trade by market:querying trades: scany: query multiple result rows: ${cause}`,
};

/** Implements the methods for order books. */
export function depthMethods(world: World, books: Books, streams: OpenStreams): DataMethods {
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
        select: (blockEvents) => changedBooks(isObserved, blockEvents).map((id) => books.depth(id)),
        message: (marketDepth) => ({ marketDepth: [...marketDepth] }),
      });
    },

    async *observeMarketsDepthUpdates({ marketIds }, { signal }) {
      const isObserved = observedMarkets(world, marketIds);
      const sent = new Map([...world.markets.keys()].filter(isObserved).map((id) => [id, books.depth(id)]));
      /** Returns the changes of a market's book since the last update, if there are any. */
      const update = (id: string) => {
        const before = sent.get(id);
        const now = books.depth(id);
        const buy = changedLevels(before?.buy ?? [], now.buy);
        const sell = changedLevels(before?.sell ?? [], now.sell);
        if (buy.length + sell.length === 0) {
          return [];
        }
        sent.set(id, now);
        const previousSequenceNumber = before?.sequenceNumber ?? 0n;
        return [{ marketId: id, buy, sell, sequenceNumber: now.sequenceNumber, previousSequenceNumber }];
      };
      yield* streams.watch({
        subject: "marketDepthUpdates",
        signal,
        select: (blockEvents) => changedBooks(isObserved, blockEvents).flatMap(update),
        message: (updates) => ({ update: [...updates] }),
      });
    },
  };
}

/** Returns the observed markets whose books may have changed. Only orders change a book. */
function changedBooks(isObserved: (marketId: string) => boolean, blockEvents: readonly BlockEvent[]): string[] {
  const changed = blockEvents.flatMap(({ event }) => (isOrder(event) ? [event.value.marketId] : []));
  return [...new Set(changed)].filter(isObserved);
}

/** Returns the new and the changed levels, and the removed levels with a volume of 0. */
function changedLevels(before: readonly PriceLevel[], now: readonly PriceLevel[]): PriceLevel[] {
  const old = new Map(before.map((level) => [level.price, level]));
  const changed = now.filter(({ price, volume, numberOfOrders }) => {
    const level = old.get(price);
    old.delete(price);
    return level?.volume !== volume || level.numberOfOrders !== numberOfOrders;
  });
  return [...changed, ...Array.from(old.values(), (level) => ({ ...level, volume: 0n, numberOfOrders: 0n }))];
}
