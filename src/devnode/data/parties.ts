import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { PartyRecord, World } from "../world/world.js";
import { identifier } from "./conditions.js";
import { existing } from "./existing.js";
import { keyPart, sortedListing, timePart } from "./listing.js";
import { readPage } from "./page.js";

/**
 * Implement the methods for parties. A key becomes a party with its first command that is carried out.
 *
 * @param world how things stand
 * @returns the methods of the data service that list parties and get one
 */
export function partyMethods(world: World): Pick<ServiceImpl<typeof TradingDataService>, "listParties" | "getParty"> {
  const find = (id: string) => world.parties.get(identifier(id));
  return {
    async listParties({ partyId, pagination }) {
      const found = partyId === "" ? world.parties.values() : [find(partyId)].filter((party) => party !== undefined);
      const listing = sortedListing(found, [keyPart.time, keyPart.id], ({ createdAt, id }) => [
        timePart(createdAt),
        id,
      ]);
      return { parties: readPage(listing, pagination, partyOf) };
    },

    async getParty({ partyId }) {
      return { party: partyOf(existing(find(partyId), `party ${partyId}`)) };
    },
  };
}

/**
 * Convert a party to its message.
 *
 * @param party the party
 * @returns its identifier
 */
export function partyOf({ id }: PartyRecord): { id: string } {
  return { id };
}
