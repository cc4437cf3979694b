import { AccountType, type Position } from "../../../gen/vega/vega_pb.js";
import { NO_RESOURCE, requireFound } from "../api-error.js";
import { accountId } from "../engine/collateral.js";
import { divideRounded, FIXED_POINT_DECIMALS } from "../engine/fixed-point.js";
import { riskFactorsOf } from "../engine/risk-factors.js";
import type { World } from "../world/world.js";
import { canBeIdentifier, identifiers, oneOf, type Query, queryIdentifier, withFields } from "./filters.js";
import { marketIdentifier } from "./market-methods.js";
import { type DataMethods, listing, stream } from "./method.js";
import { keyPart, sorted, timePart } from "./pagination.js";
import { type OpenStreams, snapshotPages } from "./streams.js";

const POSITIONS: Query = { message: "failed to get positions for party" };
const MARGINS: Query = {
  message: "failed to get margin levels",
  inner: (cause) => (cause.startsWith("decoding") ? `scany: query multiple result rows: ${cause}` : cause),
};

/** The data node's error if the snapshot of a stream of positions cannot be created. */
const snapshotQuery = (what: "market" | "party"): Query => ({
  message: "failed to send positions snapshot",
  inner: (cause) => `getting initial positions by ${what}: scany: query multiple result rows: ${cause}`,
});

/** Implements the methods for positions and their margin levels (datanode/sqlstore/margin_levels.go). */
export function positionMethods(
  { committed: world, world: current }: { readonly committed: World; readonly world: World },
  streams: OpenStreams,
): DataMethods {
  const positions = () =>
    sorted(world.positions.values(), [keyPart.party, keyPart.id], ({ partyId, marketId }) => [partyId, marketId]);
  return {
    listPositions: listing({
      query: POSITIONS,
      from: positions,
      where: ({ partyId, marketId }) => positionFilter({ partyIds: queried(partyId), marketIds: queried(marketId) }),
      answer: (page) => ({ positions: page }),
    }),

    listAllPositions: listing({
      check: ({ filter }) => positionFilter(filter),
      query: POSITIONS,
      from: positions,
      where: ({ filter }) => positionFilter(filter),
      answer: (page) => ({ positions: page }),
    }),

    observePositions: stream(streams, {
      subject: "position",
      records: (event) => (event.case === "position" ? [event.value] : []),
      where({ partyId = "", marketId = "" }) {
        const isOfParty = oneOf(partyId === "" ? [] : [queryIdentifier(partyId, snapshotQuery("party"))]);
        const isOnMarket = oneOf(marketId === "" ? [] : [queryIdentifier(marketId, snapshotQuery("market"))]);
        return (position) => isOfParty(position.partyId) && isOnMarket(position.marketId);
      },
      snapshot(matches, { partyId = "", marketId = "" }) {
        const { positions: all } = partyId !== "" && marketId !== "" ? current : world;
        return snapshotPages([...all.values()].filter(matches)).map(({ records, lastPage }) => ({
          response: { case: "snapshot" as const, value: { positions: [...records], lastPage } },
        }));
      },
      messages: (changed) => [{ response: { case: "updates" as const, value: { positions: [...changed] } } }],
    }),

    listMarginLevels: listing({
      query: MARGINS,
      from: () =>
        sorted(
          world.marginLevels.values(),
          [keyPart.time, keyPart.id],
          ({ timestamp, partyId: owner, asset, marketId }) => [
            timePart(timestamp),
            accountId({ owner, asset, marketId, type: AccountType.MARGIN }),
          ],
        ),
      where: ({ partyId, marketId }) =>
        withFields({ partyId: queryIdentifier(partyId, MARGINS), marketId: queryIdentifier(marketId, MARGINS) }),
      answer: (marginLevels) => ({ marginLevels }),
    }),

    observeMarginLevels: stream(streams, {
      subject: "marginLevels",
      records: (event) => (event.case === "marginLevels" ? [event.value] : []),
      where: ({ partyId, marketId }) => withFields({ partyId, marketId }),
      messages: (levels) => levels.map((marginLevels) => ({ marginLevels })),
    }),
  };
}

/** Returns the filter of the deprecated listing. As on deployed nodes, it ignores malformed identifiers. */
function queried(id: string): string[] {
  return id !== "" && canBeIdentifier(id) ? [id] : [];
}

interface PositionFilter {
  readonly partyIds: readonly string[];
  readonly marketIds: readonly string[];
}

function positionFilter(filter: PositionFilter | undefined): (position: Position) => boolean {
  const isOfParty = identifiers(filter?.partyIds ?? [], "party");
  const isOnMarket = identifiers(filter?.marketIds ?? [], "market");
  return ({ partyId, marketId }) => isOfParty(partyId) && isOnMarket(marketId);
}

/** Implements the method for risk factors (datanode/api/trading_data_v2.go). */
export function riskMethods(world: World): DataMethods {
  return {
    async getRiskFactors({ marketId }) {
      const id = marketIdentifier(marketId);
      const market = requireFound(
        world.markets.get(id),
        "failed to get risk factor",
        `marketID: ${marketId}: ${NO_RESOURCE}`,
      );
      const { long, short } = riskFactorsOf(market);
      return { riskFactor: { market: id, long: factorText(long), short: factorText(short) } };
    },
  };
}

/** Formats a factor as the network's database does: with up to 16 decimals. */
function factorText(factor: bigint): string {
  const digits = String(divideRounded(factor, 10n ** BigInt(FIXED_POINT_DECIMALS - 16))).padStart(17, "0");
  return `${digits.slice(0, -16)}.${digits.slice(-16)}`.replace(/\.?0+$/, "");
}
