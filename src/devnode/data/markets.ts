import { Code } from "@connectrpc/connect";
import { type Market, Market_State } from "../../../gen/vega/markets_pb.js";
import type { MarketData } from "../../../gen/vega/vega_pb.js";
import { apiError, existing } from "../api-error.js";
import type { World } from "../world/world.js";
import { askedIdentifier, identifier, oneOf, type Query, queryError, queryIdentifier } from "./conditions.js";
import { byBlock, inTime, keyPart, type Source, sorted, timePart } from "./listing.js";
import { type DataMethods, listing, stream } from "./method.js";
import type { Streams } from "./observe.js";
import { readPagination, withNodes } from "./page.js";

const MARKETS: Query = { message: "failed to get all markets paged" };
const HISTORY: Query = {
  message: "failed to get market data history",
  inner: (cause) => `could not retrieve historic market data: ${cause}`,
};
const HISTORY_OF: Query = {
  ...HISTORY,
  inner: (cause) => `could not retrieve historic market data: scany: query multiple result rows: ${cause}`,
};
const SPECS: Query = { message: "failed retrieve data for oracle specs" };
const ORACLE_DATA: Query = {
  message: "failed retrieve data for oracle data",
  inner: (cause) => `scany: query multiple result rows: ${cause}`,
};

/**
 * Implements the methods for markets.
 *
 * @param world how things stand
 * @returns the methods of the data service that list markets and get one
 */
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
        const first = existing(world.markets.get(marketIdentifier(marketId)), MARKETS.message);
        const line = [...(includeFullHistory ? parentsOf(world, first) : []), first, ...successorsOf(world, first)];
        return byCreation(line);
      },
      answer: (page) => ({ successorMarkets: withNodes(page, (market) => ({ market, proposals: [] })) }),
    }),

    async getMarket({ marketId }) {
      return { market: existing(world.markets.get(marketIdentifier(marketId)), "failed to get market for ID") };
    },
  };
}

/**
 * Implements the methods for market data.
 *
 * @param world how things stand
 * @param streams keeps streams open
 * @returns the methods of the data service for the data of markets
 */
export function marketDataMethods(world: World, streams: Streams): DataMethods {
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

    getMarketDataHistoryByID: listing({
      page({ startTimestamp: start, endTimestamp: end, pagination }) {
        const page = readPagination(pagination, (reason) =>
          apiError(Code.Internal, HISTORY.message, `${reason}: invalid pagination`),
        );
        // Without dates, the latest record is all that there is, whatever page is asked for.
        const isLatestOnly = start === undefined && end === undefined;
        return isLatestOnly ? { size: 1, cursor: undefined, backwards: false, newestFirst: true } : page;
      },
      query: HISTORY,
      from: () => inTime(world.marketDataHistory),
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

/**
 * Implements the methods for data sources of markets that governance opened, and for the data that they delivered.
 *
 * @param world how things stand
 * @returns the methods of the data service that list them and get one
 */
export function oracleMethods({ records }: World): DataMethods {
  return {
    async getOracleSpec({ oracleSpecId }) {
      const id = identifier(oracleSpecId, "missing oracle spec ID", "invalid oracle spec ID");
      const found = records.oracleSpec.latest.get(id);
      return { oracleSpec: existing(found, "failed retrieve data for oracle spec", `OracleSpecId: ${id}`).value };
    },

    listOracleSpecs: listing({
      page({ pagination }) {
        const page = readPagination(pagination);
        // The data node lists them the other way round: the oldest first unless the oldest are asked for.
        return { ...page, newestFirst: !page.newestFirst };
      },
      query: SPECS,
      from: () => byBlock(records.oracleSpec),
      answer: (oracleSpecs) => ({ oracleSpecs }),
    }),

    listOracleData: listing({
      query: ORACLE_DATA,
      from: () => byBlock(records.oracleData),
      where({ oracleSpecId }) {
        const id = askedIdentifier(oracleSpecId, ORACLE_DATA) ?? "";
        return ({ externalData }) => id === "" || (externalData?.data?.matchedSpecIds ?? []).includes(id);
      },
      answer: (oracleData) => ({ oracleData }),
    }),
  };
}

/**
 * Reads the latest data of markets.
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

/**
 * Finds the markets that a stream is about.
 *
 * @param world how things stand
 * @param marketIds the identifiers of the request
 * @returns whether a market is among them
 * @throws ConnectError with `Internal` if there is no such market
 */
export function observedMarkets(world: World, marketIds: readonly string[]): (marketId: string) => boolean {
  const unknown = marketIds.find((id) => !world.markets.has(id.toLowerCase()));
  if (unknown !== undefined) {
    throw apiError(Code.Internal, `no market found for id: ${unknown}: malformed request`);
  }
  return (marketId) => marketIds.includes(marketId);
}

/** The markets that a market follows on, the last one first. */
function parentsOf(world: World, market: Market): Market[] {
  const parent = world.markets.get(market.parentMarketId ?? "");
  return parent === undefined ? [] : [parent, ...parentsOf(world, parent)];
}

/** The markets that follow on a market, one on the other. */
function successorsOf(world: World, market: Market): Market[] {
  const next = world.markets.get(market.successorMarketId ?? "");
  return next === undefined ? [] : [next, ...successorsOf(world, next)];
}

/**
 * Checks the market that a method requires.
 *
 * @param marketId the text of the request
 * @returns the market's identifier, in lower case
 * @throws ConnectError with `InvalidArgument` if it is missing or no identifier
 */
export function marketIdentifier(marketId: string): string {
  return identifier(marketId, "empty or missing market ID", "invalid market ID");
}

/**
 * Whether a market is settled, and so over.
 *
 * @param market the market
 * @returns whether it is
 */
export function isSettled({ state }: Market): boolean {
  return state === Market_State.SETTLED;
}

/** Markets by the time when they came. */
function byCreation(markets: Iterable<Market>): Source<Market> {
  return sorted(markets, [keyPart.time, keyPart.id], (market) => [timePart(createdAt(market)), market.id]);
}

/** When a market came, in Unix nanoseconds. Not every market tells when it was proposed. */
function createdAt({ marketTimestamps: times }: Market): bigint {
  return times?.proposed || times?.pending || times?.open || 0n;
}
