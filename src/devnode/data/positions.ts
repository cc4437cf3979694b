import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Position } from "../../../gen/vega/vega_pb.js";
import type { World } from "../world/world.js";
import { canBeIdentifier, identifiers, oneOf, type Query, queryIdentifier } from "./conditions.js";
import { keyPart, sortedListing } from "./listing.js";
import { type Streams, snapshotPages } from "./observe.js";
import { readPageOf, readPagination } from "./page.js";

const QUERY = { message: "failed to get positions for party" };

/** How the data node words that the first messages of a stream of positions cannot be made. */
const snapshotQuery = (what: "market" | "party"): Query => ({
  message: "failed to send positions snapshot",
  inner: (cause) => `getting initial positions by ${what}: scany: query multiple result rows: ${cause}`,
});

/**
 * Implement the methods for positions.
 *
 * @param world how things stand
 * @param streams keeps streams open
 * @returns the methods of the data service that list and stream positions
 */
export function positionMethods(
  world: World,
  streams: Streams,
): Pick<ServiceImpl<typeof TradingDataService>, "listPositions" | "listAllPositions" | "observePositions"> {
  const filtered = (matches: (position: Position) => boolean) => [...world.positions.values()].filter(matches);
  const listed = (matches: (position: Position) => boolean) =>
    sortedListing(filtered(matches), [keyPart.party, keyPart.id], ({ partyId, marketId }) => [partyId, marketId]);
  return {
    async listPositions({ partyId, marketId, pagination }) {
      const request = readPagination(pagination);
      const matches = positionFilter(queried(partyId), queried(marketId));
      return { positions: readPageOf(listed(matches), request, (position) => position, QUERY) };
    },

    async listAllPositions({ filter, pagination }) {
      const matches = positionFilter(filter?.partyIds, filter?.marketIds);
      return { positions: readPageOf(listed(matches), readPagination(pagination), (position) => position, QUERY) };
    },

    async *observePositions({ partyId = "", marketId = "" }, { signal }) {
      const isOfParty = oneOf(partyId === "" ? [] : [queryIdentifier(partyId, snapshotQuery("party"))]);
      const isOnMarket = oneOf(marketId === "" ? [] : [queryIdentifier(marketId, snapshotQuery("market"))]);
      const matches = (position: Position) => isOfParty(position.partyId) && isOnMarket(position.marketId);
      yield* streams.watch({
        subject: "position",
        signal,
        snapshot: () =>
          snapshotPages(filtered(matches)).map(({ records, lastPage }) => ({
            response: { case: "snapshot" as const, value: { positions: [...records], lastPage } },
          })),
        select: (happenings) =>
          happenings.flatMap(({ event }) => (event.case === "position" && matches(event.value) ? [event.value] : [])),
        message: (positions) => ({ response: { case: "updates" as const, value: { positions: [...positions] } } }),
      });
    },
  };
}

/** What the deprecated listing filters by: as on deployed nodes, what is no identifier is not looked at. */
function queried(id: string): string[] {
  return id !== "" && canBeIdentifier(id) ? [id] : [];
}

function positionFilter(
  partyIds: readonly string[] = [],
  marketIds: readonly string[] = [],
): (position: Position) => boolean {
  const isOfParty = identifiers(partyIds, "party");
  const isOnMarket = identifiers(marketIds, "market");
  return ({ partyId, marketId }) => isOfParty(partyId) && isOnMarket(marketId);
}
