import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Candle, CandleSchema } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { MarketDepth, PriceLevel, Trade } from "../../../gen/vega/vega_pb.js";
import { Code } from "../../base/errors/code.js";
import { apiError, invalidArgument } from "../api-error.js";
import { type BlockEvent, isOrder } from "../world/block-event.js";
import type { World } from "../world/world.js";
import { type Query, queryIdentifier } from "./filters.js";
import { marketIdentifier, observedMarkets } from "./market-methods.js";
import type { DataMethods } from "./method.js";
import { lastTrade } from "./order-methods.js";
import { keyPart, type Listing, readPageOf, readPagination, timePart } from "./pagination.js";
import type { OpenStreams } from "./streams.js";

const CANDLES: Query = { message: "failed to get candle data" };

const MINUTE = 60_000_000_000n;

/** The candle intervals of deployed nodes, with their lengths in nanoseconds. */
const INTERVALS = new Map<string, bigint>([
  ["1 minute", MINUTE],
  ["5 minutes", 5n * MINUTE],
  ["15 minutes", 15n * MINUTE],
  ["30 minutes", 30n * MINUTE],
  ["1 hour", 60n * MINUTE],
  ["4 hours", 240n * MINUTE],
  ["6 hours", 360n * MINUTE],
  ["8 hours", 480n * MINUTE],
  ["12 hours", 720n * MINUTE],
  ["1 day", 1440n * MINUTE],
  ["7 days", 10_080n * MINUTE],
  ["block", MINUTE],
]);

/** The origin of all intervals in the network's database: Monday 2000-01-03, in Unix nanoseconds. */
const ORIGIN = 946_857_600_000_000_000n;

interface Candles {
  readonly marketId: string;
  /** Nanoseconds. */
  readonly interval: bigint;
}

/** Implements the methods for candles, which are computed from the trades. */
export function candleMethods(world: World, streams: OpenStreams): DataMethods {
  return {
    async listCandleIntervals({ marketId }) {
      const id = marketIdentifier(marketId);
      return {
        intervalToCandleId: Array.from(INTERVALS.keys(), (interval) => ({
          interval,
          candleId: `trades_candle_${interval.replaceAll(" ", "_")}_${id}`,
        })),
      };
    },

    async listCandleData({ candleId, fromTimestamp, toTimestamp, pagination }) {
      const [from, to] = [fromTimestamp, toTimestamp].map((time) => (time === 0n ? undefined : time));
      if (from !== undefined && to !== undefined && to < from) {
        throw invalidArgument("invalid candle timestamps range");
      }
      const request = readPagination(pagination);
      if (candleId === "") {
        throw invalidArgument("candle id is a required parameter");
      }
      const found = candlesOf(candleId);
      if (found === undefined) {
        throw apiError(
          Code.Internal,
          CANDLES.message,
          `getting candle data for time span: invalid candle id:${candleId}`,
        );
      }
      if (found === "unknown interval") {
        throw apiError(Code.Internal, CANDLES.message, `no candle exists for candle id:${candleId}`);
      }
      return { candles: readPageOf(candleListing(world, found, from, to), request, CANDLES) };
    },

    async *observeCandleData({ candleId }, { signal }) {
      const found = candlesOf(candleId);
      if (found === undefined || found === "unknown interval") {
        const inner = `subscribing to candles:candle exists:invalid candle id:${candleId}`;
        throw apiError(Code.Internal, "failed to subscribe to candle data", inner);
      }
      const latest = () => {
        const [candle] = candleListing(world, found).read(true, undefined);
        return candle === undefined ? [] : [{ candle: candle.value }];
      };
      yield* streams.watch({
        subject: "candle",
        signal,
        snapshot: latest,
        select: (blockEvents) =>
          blockEvents.some(({ event }) => event.case === "trade" && event.value.marketId === found.marketId)
            ? latest()
            : [],
        message: ([latestCandle]) => latestCandle ?? {},
      });
    },
  };
}

function candlesOf(candleId: string): Candles | "unknown interval" | undefined {
  const [, name = "", marketId = ""] = /^trades_candle_(.+)_([0-9a-f]{64})$/.exec(candleId) ?? [];
  if (marketId === "") {
    return undefined;
  }
  const interval = INTERVALS.get(name.replaceAll("_", " "));
  return interval === undefined ? "unknown interval" : { marketId, interval };
}

/**
 * Returns a listing of candles by start time. Gaps between trades are filled with candles of zeros, unless the request sets
 * both bounds (datanode/sqlstore/candles.go).
 */
function candleListing(world: World, { marketId, interval }: Candles, from?: bigint, to?: bigint): Listing<Candle> {
  const startOf = (time: bigint) => time - ((((time - ORIGIN) % interval) + interval) % interval);
  const candles = new Map<bigint, Candle>();
  for (const { value } of world.markets.has(marketId) ? world.trades.read(false) : []) {
    if (value.marketId === marketId) {
      const start = startOf(value.timestamp);
      candles.set(start, withTrade(candles.get(start), start, value));
    }
  }
  const starts = [...candles.keys()];
  const isWithin = (start: bigint) => (from === undefined || start >= from) && (to === undefined || start < to);
  const first = from === undefined ? starts.at(0) : startOf(from);
  const last = to === undefined ? starts.at(-1) : startOf(to - 1n);
  const fillsGaps = starts.length > 0 && (from === undefined || to === undefined);
  return {
    keyParts: [keyPart.time],
    *read(descending, key) {
      const [bound] = key ?? [];
      const all = fillsGaps
        ? periods(first ?? 0n, last ?? -1n, interval, descending)
        : descending
          ? starts.toReversed()
          : starts;
      for (const start of all) {
        const isBehind = bound === undefined || (descending ? start <= BigInt(bound) : start >= BigInt(bound));
        if (isBehind && (fillsGaps || isWithin(start))) {
          const made = isWithin(start) ? candles.get(start) : undefined;
          yield { key: [timePart(start)], value: made ?? emptyCandle(start) };
        }
      }
    },
  };
}

function* periods(first: bigint, last: bigint, interval: bigint, descending: boolean): Generator<bigint, void> {
  const count = (last - first) / interval;
  for (let at = 0n; at <= count && first <= last; at += 1n) {
    yield descending ? last - at * interval : first + at * interval;
  }
}

function emptyCandle(start: bigint): Candle {
  const zeros = { high: "0", low: "0", open: "0", close: "0" } satisfies MessageInitShape<typeof CandleSchema>;
  return create(CandleSchema, { start, lastUpdate: start, ...zeros });
}

function withTrade(candle: Candle | undefined, start: bigint, { price, size, timestamp }: Trade): Candle {
  const { open, high, low, volume, notional } = candle ?? {
    open: price,
    high: price,
    low: price,
    volume: 0n,
    notional: 0n,
  };
  return create(CandleSchema, {
    start,
    lastUpdate: timestamp,
    open,
    high: BigInt(price) > BigInt(high) ? price : high,
    low: BigInt(price) < BigInt(low) ? price : low,
    close: price,
    volume: volume + size,
    notional: notional + BigInt(price) * size,
  });
}

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
