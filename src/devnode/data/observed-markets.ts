import { Code } from "@connectrpc/connect";
import { apiError } from "../api-error.js";
import type { World } from "../world/world.js";

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
