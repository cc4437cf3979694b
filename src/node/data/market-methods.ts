import { type Market, Market_State } from "../../../gen/vega/markets_pb.js";
import type { MarketData } from "../../../gen/vega/vega_pb.js";
import { Code } from "../../base/errors/code.js";
import { apiError, requireFound } from "../api-error.js";
import type { World } from "../world/world.js";
import { identifier, oneOf, type Query, queryError, queryIdentifier } from "./filters.js";
import { type DataMethods, listing, stream } from "./method.js";
import {
  byBlock,
  inTime,
  keyPart,
  type RecordSource,
  readPagination,
  sorted,
  timePart,
  withNodes,
} from "./pagination.js";
import type { OpenStreams } from "./streams.js";

const MARKETS: Query = { message: "failed to get all markets paged" };
const HISTORY: Query = {
  message: "failed to get market data history",
  inner: (cause) => `could not retrieve historic market data: ${cause}`,
};
const HISTORY_OF: Query = {
  ...HISTORY,
  inner: (cause) => `could not retrieve historic market data: scany: query multiple result rows: ${cause}`,
};
const ORACLE_SPECS: Query = { message: "failed retrieve data for oracle specs" };

export function marketMethods(world: World): DataMethods {
  return {
    listMarkets: listing({
      query: MARKETS,
      from: () => byCreation(world.markets.values()),
      where:
        ({ includeSettled = true }) =>
        (market) =>
          includeSettled || !isSettled(market),
      answer: (markets) => ({ markets }),
    }),

    listSuccessorMarkets: listing({
      check: ({ marketId }) => marketIdentifier(marketId),
      query: MARKETS,
      from({ marketId, includeFullHistory }) {
        const first = requireFound(world.markets.get(marketIdentifier(marketId)), MARKETS.message);
        const line = [...(includeFullHistory ? parentsOf(world, first) : []), first, ...successorsOf(world, first)];
        return byCreation(line);
      },
      answer: (page) => ({ successorMarkets: withNodes(page, (market) => ({ market, proposals: [] })) }),
    }),

    async getMarket({ marketId }) {
      return { market: requireFound(world.markets.get(marketIdentifier(marketId)), "failed to get market for ID") };
    },
  };
}

export function marketDataMethods(
  { world, committed }: { readonly world: World; readonly committed: World },
  streams: OpenStreams,
): DataMethods {
  return {
    async getLatestMarketData({ marketId }) {
      // Deployed nodes look up the latest data by the identifier as it is, without validating it.
      const marketData = world.marketData.get(marketId);
      if (marketData === undefined) {
        throw apiError(Code.Internal, "failed to get market data", `no market data for market: ${marketId}`);
      }
      return { marketData };
    },

    async listLatestMarketData() {
      return { marketsData: latestMarketData(world) };
    },

    getMarketDataHistoryByID: listing({
      page({ startTimestamp: start, endTimestamp: end, pagination }) {
        const page = readPagination(pagination, (reason) =>
          apiError(Code.Internal, HISTORY.message, `${reason}: invalid pagination`),
        );
        // Without dates, the response holds only the latest record, regardless of the pagination.
        const isLatestOnly = start === undefined && end === undefined;
        return isLatestOnly ? { size: 1, cursor: undefined, backwards: false, newestFirst: true } : page;
      },
      query: HISTORY,
      from: () => inTime(committed.marketDataHistory),
      where({ marketId, startTimestamp: start, endTimestamp: end }) {
        if (start !== undefined && end !== undefined && start > end) {
          throw queryError(HISTORY, "invalid date range, end date must be after start date");
        }
        const id = queryIdentifier(marketId, HISTORY_OF);
        return ({ market, timestamp }) =>
          market === id && (start === undefined || timestamp >= start) && (end === undefined || timestamp <= end);
      },
      answer: (marketData) => ({ marketData }),
    }),

    observeMarketsData: stream(streams, {
      subject: "marketData",
      records: (event) => (event.case === "marketData" ? [event.value] : []),
      where({ marketIds }) {
        const isObserved = observedMarkets(world, marketIds);
        return ({ market }) => isObserved(market);
      },
      messages: (marketData) => [{ marketData: [...marketData] }],
    }),
  };
}

export function oracleMethods({ records }: World): DataMethods {
  return {
    async getOracleSpec({ oracleSpecId }) {
      const id = identifier(oracleSpecId, "missing oracle spec ID", "invalid oracle spec ID");
      const found = records.oracleSpec.latest.get(id);
      return { oracleSpec: requireFound(found, "failed retrieve data for oracle spec", `OracleSpecId: ${id}`).value };
    },

    listOracleSpecs: listing({
      page({ pagination }) {
        const page = readPagination(pagination);
        // The data node reverses the order: the oldest first, unless the request asks for the oldest first.
        return { ...page, newestFirst: !page.newestFirst };
      },
      query: ORACLE_SPECS,
      from: () => byBlock(records.oracleSpec),
      answer: (oracleSpecs) => ({ oracleSpecs }),
    }),
  };
}

export function latestMarketData(world: World, marketIds: readonly string[] = []): MarketData[] {
  const isWanted = oneOf(marketIds);
  return [...world.marketData.values()]
    .filter(({ market }) => isWanted(market))
    .sort((a, b) => (a.market < b.market ? -1 : 1));
}

/**
 * Returns the predicate of a stream of markets.
 *
 * @throws ConnectError with `Internal` if a market does not exist
 */
export function observedMarkets(world: World, marketIds: readonly string[]): (marketId: string) => boolean {
  const unknown = marketIds.find((id) => !world.markets.has(id.toLowerCase()));
  if (unknown !== undefined) {
    throw apiError(Code.Internal, `no market found for id: ${unknown}: malformed request`);
  }
  return (marketId) => marketIds.includes(marketId);
}

/** Returns the ancestors of a successor market, its parent first. */
function parentsOf(world: World, market: Market): Market[] {
  const parent = world.markets.get(market.parentMarketId ?? "");
  return parent === undefined ? [] : [parent, ...parentsOf(world, parent)];
}

/** Returns the successors of a market, each the parent of the next. */
function successorsOf(world: World, market: Market): Market[] {
  const next = world.markets.get(market.successorMarketId ?? "");
  return next === undefined ? [] : [next, ...successorsOf(world, next)];
}

/**
 * Validates the market identifier that a method requires.
 *
 * @throws ConnectError with `InvalidArgument` if it is missing or malformed
 */
export function marketIdentifier(marketId: string): string {
  return identifier(marketId, "empty or missing market ID", "invalid market ID");
}

export function isSettled({ state }: Market): boolean {
  return state === Market_State.SETTLED;
}

/** Returns a source of markets by their time of creation. */
function byCreation(markets: Iterable<Market>): RecordSource<Market> {
  return sorted(markets, [keyPart.time, keyPart.id], (market) => [timePart(createdAt(market)), market.id]);
}

/** Returns when a market was created, in Unix nanoseconds. Not every market has a time of proposal. */
function createdAt({ marketTimestamps: times }: Market): bigint {
  return times?.proposed || times?.pending || times?.open || 0n;
}
