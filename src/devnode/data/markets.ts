import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { type Market, Market_State } from "../../../gen/vega/markets_pb.js";
import { existing } from "../api-error.js";
import type { World } from "../world/world.js";
import { identifier } from "./conditions.js";
import { keyPart, sortedListing, timePart } from "./listing.js";
import { readPage, readPageOf, readPagination } from "./page.js";

/**
 * Implement the methods for markets.
 *
 * @param world how things stand
 * @returns the methods of the data service that list markets and get one
 */
export function marketMethods(
  world: World,
): Pick<ServiceImpl<typeof TradingDataService>, "listMarkets" | "listSuccessorMarkets" | "getMarket"> {
  return {
    async listMarkets({ includeSettled = true, pagination }) {
      const found = [...world.markets.values()].filter((market) => includeSettled || !isSettled(market));
      const listing = sortedListing(found, [keyPart.time, keyPart.id], (market) => [
        timePart(createdAt(market)),
        market.id,
      ]);
      return {
        markets: readPage(listing, pagination, (market) => market, { message: "failed to get all markets paged" }),
      };
    },

    async listSuccessorMarkets({ marketId, includeFullHistory, pagination }) {
      const id = marketIdentifier(marketId);
      const request = readPagination(pagination);
      const message = "failed to get all markets paged";
      const first = existing(world.markets.get(id), message);
      const line = [...(includeFullHistory ? parentsOf(world, first) : []), first, ...successorsOf(world, first)];
      const listing = sortedListing(line, [keyPart.time, keyPart.id], (market) => [
        timePart(createdAt(market)),
        market.id,
      ]);
      const node = (market: Market) => ({ market, proposals: [] });
      return { successorMarkets: readPageOf(listing, request, node, { message }) };
    },

    async getMarket({ marketId }) {
      return { market: existing(world.markets.get(marketIdentifier(marketId)), "failed to get market for ID") };
    },
  };
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

/** When a market came, in Unix nanoseconds. Not every market tells when it was proposed. */
function createdAt({ marketTimestamps: times }: Market): bigint {
  return times?.proposed || times?.pending || times?.open || 0n;
}
