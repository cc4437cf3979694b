import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Position } from "../../../gen/vega/vega_pb.js";
import type { World } from "../world/world.js";
import { identifier, identifiers } from "./conditions.js";
import { keyPart, sortedListing } from "./listing.js";
import { type Streams, snapshotPages } from "./observe.js";
import { readPage } from "./page.js";

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
      const matches = positionFilter([identifier(partyId)], marketId === "" ? [] : [marketId]);
      return { positions: readPage(listed(matches), pagination, (position) => position) };
    },

    async listAllPositions({ filter, pagination }) {
      const matches = positionFilter(filter?.partyIds, filter?.marketIds);
      return { positions: readPage(listed(matches), pagination, (position) => position) };
    },

    async *observePositions({ partyId = "", marketId = "" }, { signal }) {
      const matches = positionFilter(partyId === "" ? [] : [partyId], marketId === "" ? [] : [marketId]);
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

function positionFilter(
  partyIds: readonly string[] = [],
  marketIds: readonly string[] = [],
): (position: Position) => boolean {
  const isOfParty = identifiers(partyIds);
  const isOnMarket = identifiers(marketIds);
  return ({ partyId, marketId }) => isOfParty(partyId) && isOnMarket(marketId);
}
