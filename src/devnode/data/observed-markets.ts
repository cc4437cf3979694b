import { invalid } from "../invalid.js";
import type { World } from "../world/world.js";
import { identifier } from "./conditions.js";

/**
 * Find the markets that a stream is about.
 *
 * @param world how things stand
 * @param marketIds the identifiers of the request; none stand for all markets that there are
 * @returns the identifiers, in lower case
 * @throws ConnectError with `InvalidArgument` if one is malformed, or there is no such market
 */
export function observedMarkets(world: World, marketIds: readonly string[]): readonly string[] {
  const wanted = marketIds.map((id) => identifier(id, "filter"));
  const unknown = wanted.find((id) => !world.markets.has(id));
  if (unknown !== undefined) {
    throw invalid("filter", `there is no market ${unknown}`);
  }
  return wanted.length === 0 ? [...world.markets.keys()] : wanted;
}
