import { create } from "@bufbuild/protobuf";
import { Market_State } from "../../../gen/vega/markets_pb.js";
import { type Position, PositionSchema, PositionStatus } from "../../../gen/vega/vega_pb.js";
import type { Block } from "../world/event.js";
import { COUNT, marketId, partyId } from "./chain.js";
import { marketState } from "./markets.js";
import { pick, scatter } from "./numbers.js";

/** After so many blocks every position has been told once. */
export const POSITIONS = COUNT.market * COUNT.party;

/**
 * Make the position that a block tells. Its volume stays, so that the volumes of a market always add up to 0.
 *
 * @param block when it is told
 * @param k the number of the block that the position is of, from 0; it chooses the market and the party
 * @returns the position
 */
export function madeUpPosition({ time }: Pick<Block, "time">, k: number): Position {
  const market = k % COUNT.market;
  const party = k % COUNT.party;
  const openVolume = volume(market, party);
  return create(PositionSchema, {
    marketId: marketId(market),
    partyId: partyId(party),
    openVolume: BigInt(openVolume),
    realisedPnl: String(scatter(-450_000, 900_000, k)),
    unrealisedPnl: openVolume === 0 ? "0" : String(scatter(-400_000, 800_000, k)),
    averageEntryPrice: openVolume === 0 ? "0" : String(scatter(2_650_000, 40_000, k)),
    updatedAt: time,
    lossSocialisationAmount: String(scatter(0, 500, k)),
    positionStatus: pick([PositionStatus.UNSPECIFIED, PositionStatus.ORDERS_CLOSED], k),
  });
}

/** Two neighbours hold opposite volumes; the last party, which has no neighbour, and all of a settled market hold none. */
function volume(market: number, party: number): number {
  const alone = party === COUNT.party - 1;
  if (alone || marketState(market) === Market_State.SETTLED) {
    return 0;
  }
  const size = scatter(1, 1000, COUNT.market * Math.floor(party / 2) + market);
  return (party + market) % 2 === 0 ? size : -size;
}

/**
 * Add up what the parties of a market hold long.
 *
 * @param market the market's number
 * @returns the open interest
 */
export function openInterest(market: number): bigint {
  const known = interests.get(market);
  if (known !== undefined) {
    return known;
  }
  const volumes = Array.from({ length: COUNT.party }, (_, party) => Math.max(volume(market, party), 0));
  const sum = BigInt(volumes.reduce((a, b) => a + b, 0));
  interests.set(market, sum);
  return sum;
}

const interests = new Map<number, bigint>();
