import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { World } from "../world/world.js";
import { type Query, queryError, queryIdentifier, queryIdentifiers } from "./conditions.js";
import type { Key } from "./listing.js";
import { readPageOf, readPagination } from "./page.js";
import { isWanted, recordListing } from "./records-listing.js";

const MODES: Query = {
  message: "failed to list parties margin modes",
  inner: (cause) => `scany: query multiple result rows: ${cause}`,
};
const PROFILES: Query = { message: "failed to get parties' profiles" };
const PROFILES_OF: Query = { ...PROFILES, inner: (cause) => `invalid party ID found: ${cause}` };
const DELEGATIONS: Query = { message: "failed to get delegation" };

/** How a query for delegations fails: its text has the party and the node, and no epoch where none was asked for. */
const delegationsOf = (partyId = "", nodeId = ""): Query => ({
  ...DELEGATIONS,
  inner: (cause) =>
    `partyID: ${partyId}, nodeID: ${nodeId}, epochID: 0: querying delegations: scany: query multiple result rows: ${cause}`,
});

/**
 * Implements the methods for what parties choose for themselves: profiles, margin modes and delegations that blocks brought.
 *
 * @param world how things stand
 * @returns the methods of the data service that list them
 */
export function partyChoiceMethods({
  records,
}: World): Pick<
  ServiceImpl<typeof TradingDataService>,
  "listPartiesProfiles" | "listPartyMarginModes" | "listDelegations"
> {
  return {
    async listPartiesProfiles({ parties, pagination }) {
      const page = readPagination(pagination);
      const isAsked = queryIdentifiers(parties, PROFILES_OF);
      const listing = recordListing(records.partyProfileUpdated.latest, ({ updatedProfile }) =>
        isAsked(updatedProfile?.partyId ?? ""),
      );
      return {
        profiles: readPageOf({ ...listing, read }, page, ({ value }) => value.updatedProfile ?? {}, PROFILES),
      };

      function read(descending: boolean, from: Key | undefined) {
        if (from !== undefined) {
          // A defect of the network's: no second page of profiles can be read.
          throw queryError(PROFILES, "building cursor predicate: no field matching column name id");
        }
        return listing.read(descending, from);
      }
    },

    async listPartyMarginModes({ marketId, partyId, pagination }) {
      const page = readPagination(pagination);
      const market = marketId && queryIdentifier(marketId, MODES);
      const party = partyId && queryIdentifier(partyId, MODES);
      const listing = recordListing(
        records.partyMarginModeUpdated.latest,
        (mode) => isWanted(market, mode.marketId) && isWanted(party, mode.partyId),
      );
      return {
        partyMarginModes: readPageOf(listing, page, ({ value: { $typeName: _, ...mode } }) => mode, MODES),
      };
    },

    async listDelegations({ partyId, nodeId, epochId, pagination }) {
      const page = readPagination(pagination);
      const query = delegationsOf(partyId, nodeId);
      const isOfParty = queryIdentifiers(partyId === undefined ? [] : [partyId], query);
      const isToNode = queryIdentifiers(nodeId === undefined ? [] : [nodeId], query);
      const listing = recordListing(
        records.delegationBalance.latest,
        ({ party, nodeId: node, epochSeq }) => isOfParty(party) && isToNode(node) && isWanted(epochId, epochSeq),
      );
      return {
        delegations: readPageOf(listing, page, ({ value: { $typeName: _, ...balance } }) => balance, DELEGATIONS),
      };
    },
  };
}
