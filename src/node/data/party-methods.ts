import { create } from "@bufbuild/protobuf";
import {
  type StakeLinking,
  StakeLinking_Status,
  StakeLinking_Type,
  StakeLinkingSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
import { Code } from "../../base/errors/code.js";
import { requireFound } from "../api-error.js";
import { hashOf } from "../generated-history/seeded-values.js";
import type { PartyRecord, World } from "../world/world.js";
import {
  askedIdentifier,
  canBeIdentifier,
  identifier,
  NETWORK_PARTY,
  NO_IDENTIFIER,
  type Query,
  queryError,
  queryIdentifiers,
  withFields,
} from "./filters.js";
import { type DataMethods, listing } from "./method.js";
import {
  byBlock,
  firstPageOnly,
  keyPart,
  readPageOf,
  readPagination,
  sorted,
  sortedListing,
  timePart,
  withNodes,
} from "./pagination.js";

const PARTIES: Query = { message: "failed to get parties" };
const MODES: Query = {
  message: "failed to list parties margin modes",
  inner: (cause) => `scany: query multiple result rows: ${cause}`,
};
const PROFILES: Query = { message: "failed to get parties' profiles" };
const PROFILES_OF: Query = { ...PROFILES, inner: (cause) => `invalid party ID found: ${cause}` };

/** The latest time that a key of a listing can hold, in Unix nanoseconds. */
const LATEST = 8_999_999_999_999_999_999n;

/**
 * Implements the methods for parties and their governance tokens (datanode/sqlstore/stake_linking.go). A public key becomes
 * a party with its first executed command.
 */
export function partyMethods(world: World): DataMethods {
  /** The network is a party without a time, which the database sorts last (datanode/sqlstore/parties.go). */
  const network: PartyRecord = { id: NETWORK_PARTY, createdAt: LATEST };
  const find = (id: string) => (id === NETWORK_PARTY ? network : world.parties.get(id.toLowerCase()));
  return {
    listParties: listing({
      query: PARTIES,
      from: ({ partyId }) =>
        sorted(
          partyId === "" ? [network, ...world.parties.values()] : [single(partyId)],
          [keyPart.time, keyPart.party],
          ({ createdAt, id }) => [timePart(createdAt), id],
        ),
      answer: (parties) => ({ parties: withNodes(parties, partyOf) }),
    }),

    async getParty({ partyId }) {
      const id = identifier(partyId, "missing party id", "invalid party id");
      return { party: partyOf(requireFound(find(id), "failed to get party for ID")) };
    },

    async getStake({ partyId, pagination }) {
      const party = identifier(partyId, "missing party id", "invalid party id");
      const page = readPagination(pagination);
      const links = sortedListing(stakeLinkings(world, party), [keyPart.id], ({ id }) => [id]);
      return {
        currentStakeAvailable: String(world.stakes.get(party) ?? 0n),
        stakeLinkings: readPageOf(links, page, { message: "failed to get stake linking" }),
      };
    },
  };

  function single(partyId: string): PartyRecord {
    if (!canBeIdentifier(partyId)) {
      throw queryError(PARTIES, NO_IDENTIFIER, Code.InvalidArgument);
    }
    return requireFound(find(partyId), PARTIES.message);
  }
}

function partyOf({ id }: PartyRecord): { id: string } {
  return { id };
}

/** Implements the methods for the settings of parties: profiles and margin modes. */
export function partyChoiceMethods({ records }: World): DataMethods {
  return {
    listPartiesProfiles: listing({
      query: PROFILES,
      // The network has a defect: the second page of profiles cannot be read.
      from: () =>
        firstPageOnly(byBlock(records.partyProfileUpdated), () =>
          queryError(PROFILES, "building cursor predicate: no field matching column name id"),
        ),
      where({ parties }) {
        const isAsked = queryIdentifiers(parties, PROFILES_OF);
        return ({ updatedProfile }) => isAsked(updatedProfile?.partyId ?? "");
      },
      answer: (page) => ({ profiles: withNodes(page, ({ updatedProfile }) => updatedProfile ?? {}) }),
    }),

    listPartyMarginModes: listing({
      query: MODES,
      from: () => byBlock(records.partyMarginModeUpdated),
      where: ({ marketId, partyId }) =>
        withFields({ marketId: askedIdentifier(marketId, MODES), partyId: askedIdentifier(partyId, MODES) }),
      answer: (page) => ({ partyMarginModes: withNodes(page, ({ $typeName: _, ...mode }) => mode) }),
    }),
  };
}

/** Returns the stake linkings of a party. It received all its governance tokens at once, before the first block. */
export function stakeLinkings({ stakes, blockAt }: World, party: string): StakeLinking[] {
  const amount = stakes.get(party);
  const time = blockAt(1n)?.time ?? 0n;
  const linking = {
    ...{ id: hashOf(`stake:${party}`), party, amount: String(amount), ts: time, finalizedAt: time },
    ...{ type: StakeLinking_Type.LINK, status: StakeLinking_Status.ACCEPTED },
    ...{ txHash: `0x${hashOf(`stake:${party}:ethereum`)}`, ethereumAddress: `0x${hashOf(party).slice(0, 40)}` },
  };
  return amount === undefined ? [] : [create(StakeLinkingSchema, linking)];
}
