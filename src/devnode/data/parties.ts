import { Code, type ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { existing } from "../api-error.js";
import type { PartyRecord, World } from "../world/world.js";
import { canBeIdentifier, identifier, NETWORK_PARTY, NO_IDENTIFIER, queryError } from "./conditions.js";
import { keyPart, sortedListing, timePart } from "./listing.js";
import { readPageOf, readPagination } from "./page.js";

const LIST = { message: "failed to get parties" };

/** The last time that keys of listings hold, in Unix nanoseconds. */
const LATEST = 8_999_999_999_999_999_999n;

/**
 * Implement the methods for parties. A key becomes a party with its first command that is carried out.
 *
 * @param world how things stand
 * @returns the methods of the data service that list parties and get one
 */
export function partyMethods(world: World): Pick<ServiceImpl<typeof TradingDataService>, "listParties" | "getParty"> {
  /** The network is a party without a time, which the database takes for the latest (datanode/sqlstore/parties.go). */
  const network: PartyRecord = { id: NETWORK_PARTY, createdAt: LATEST };
  const find = (id: string) => (id === NETWORK_PARTY ? network : world.parties.get(id.toLowerCase()));
  return {
    async listParties({ partyId, pagination }) {
      const request = readPagination(pagination);
      const found = partyId === "" ? [network, ...world.parties.values()] : [single(partyId)];
      const listing = sortedListing(found, [keyPart.time, keyPart.party], ({ createdAt, id }) => [
        timePart(createdAt),
        id,
      ]);
      return { parties: readPageOf(listing, request, partyOf, LIST) };
    },

    async getParty({ partyId }) {
      const id = identifier(partyId, "missing party id", "invalid party id");
      return { party: partyOf(existing(find(id), "failed to get party for ID")) };
    },
  };

  function single(partyId: string): PartyRecord {
    if (!canBeIdentifier(partyId)) {
      throw queryError(LIST, NO_IDENTIFIER, Code.InvalidArgument);
    }
    return existing(find(partyId), LIST.message);
  }
}

function partyOf({ id }: PartyRecord): { id: string } {
  return { id };
}
