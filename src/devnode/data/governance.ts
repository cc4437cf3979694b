import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import {
  type ListGovernanceDataRequest,
  ListGovernanceDataRequest_Type,
  type TradingDataService,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import {
  GovernanceData_Type,
  type GovernanceDataSchema,
  type Proposal,
  type Vote,
  Vote_Value,
} from "../../../gen/vega/governance_pb.js";
import { existing, invalidArgument } from "../api-error.js";
import type { World } from "../world/world.js";
import { canBeIdentifier, NO_IDENTIFIER, type Query, queryError, queryIdentifier } from "./conditions.js";
import type { Streams } from "./observe.js";
import { readPageOf, readPagination } from "./page.js";
import { isWanted, recordListing } from "./records-listing.js";

const LIST: Query = { message: "failed to get proposals" };

type GovernanceMethods = Pick<
  ServiceImpl<typeof TradingDataService>,
  "listGovernanceData" | "getGovernanceData" | "observeGovernance" | "listVotes" | "observeVotes"
>;

/**
 * Implements the methods for proposals and votes that blocks brought.
 *
 * @param world how things stand
 * @param streams keeps streams open
 * @returns the methods of the data service that list, get and stream proposals and votes
 */
export function governanceMethods(world: World, streams: Streams): GovernanceMethods {
  const { records } = world;
  return {
    async listGovernanceData(request) {
      const page = readPagination(request.pagination);
      const listing = recordListing(records.proposal.latest, proposalFilter(request));
      return { connection: readPageOf(listing, page, ({ value }) => governanceData(world, value), LIST) };
    },

    async getGovernanceData({ proposalId, reference }) {
      if (proposalId === undefined && reference === undefined) {
        throw invalidArgument("missing proposal ID or reference");
      }
      const query: Query = {
        message: "failed to get proposal",
        inner: (cause) => `proposalID: ${proposalId ?? ""}, reference: ${reference ?? ""}: ${cause}`,
      };
      if (proposalId !== undefined && !canBeIdentifier(proposalId)) {
        throw queryError(query, NO_IDENTIFIER, Code.InvalidArgument);
      }
      const found =
        proposalId === undefined
          ? [...records.proposal.latest.values()].find(({ value }) => value.reference === reference)
          : records.proposal.latest.get(proposalId.toLowerCase());
      const id = `proposalID: ${proposalId ?? ""}`;
      return { data: governanceData(world, existing(found, query.message, id).value) };
    },

    async *observeGovernance({ partyId }, { signal }) {
      const blocks = streams.watch({
        subject: "governance",
        signal,
        select: (happenings) =>
          happenings.flatMap(({ event }) =>
            event.case === "proposal" && isWanted(partyId, event.value.partyId) ? [event.value] : [],
          ),
        message: (proposals) => proposals,
      });
      for await (const proposals of blocks) {
        for (const proposal of proposals) {
          yield { data: { proposal } };
        }
      }
    },

    async listVotes({ partyId, proposalId, pagination }) {
      if (partyId === undefined && proposalId === undefined) {
        throw invalidArgument("missing proposal id and party id");
      }
      const query: Query = {
        message: "failed to get votes",
        inner: (cause) =>
          `proposalID: ${proposalId ?? ""}, partyID: ${partyId ?? ""}: scany: query multiple result rows: ${cause}`,
      };
      const page = readPagination(pagination);
      const isAsked = voteFilter(
        partyId && queryIdentifier(partyId, query),
        proposalId && queryIdentifier(proposalId, query),
      );
      const listing = recordListing(records.vote.latest, isAsked);
      return { votes: readPageOf(listing, page, ({ value }) => value, query) };
    },

    async *observeVotes({ partyId, proposalId }, { signal }) {
      const isAsked = voteFilter(partyId, proposalId);
      const blocks = streams.watch({
        subject: "vote",
        signal,
        select: (happenings) =>
          happenings.flatMap(({ event }) => (event.case === "vote" && isAsked(event.value) ? [event.value] : [])),
        message: (votes) => votes,
      });
      for await (const votes of blocks) {
        for (const vote of votes) {
          yield { vote };
        }
      }
    },
  };
}

function voteFilter(partyId: string | undefined, proposalId: string | undefined): (vote: Vote) => boolean {
  return (vote) => isWanted(partyId, vote.partyId) && isWanted(proposalId, vote.proposalId);
}

/** A proposal with its votes, and with its members where it is a batch. */
function governanceData({ records }: World, proposal: Proposal): MessageInitShape<typeof GovernanceDataSchema> {
  const votes = [...records.vote.latest.values()]
    .map(({ value }) => value)
    .filter(({ proposalId }) => proposalId === proposal.id);
  const isBatch = proposal.batchTerms !== undefined;
  const members = isBatch ? [...records.proposal.latest.values()].map(({ value }) => value) : [];
  return {
    proposal,
    yes: votes.filter(({ value }) => value === Vote_Value.YES),
    no: votes.filter(({ value }) => value === Vote_Value.NO),
    proposalType: isBatch ? GovernanceData_Type.BATCH : GovernanceData_Type.SINGLE_OR_UNSPECIFIED,
    proposals: members.filter(({ batchId }) => batchId === proposal.id),
  };
}

const CHANGES = new Map<ListGovernanceDataRequest_Type, string>([
  [ListGovernanceDataRequest_Type.NEW_MARKET, "newMarket"],
  [ListGovernanceDataRequest_Type.UPDATE_MARKET, "updateMarket"],
  [ListGovernanceDataRequest_Type.NETWORK_PARAMETERS, "updateNetworkParameter"],
  [ListGovernanceDataRequest_Type.NEW_ASSET, "newAsset"],
  [ListGovernanceDataRequest_Type.NEW_FREE_FORM, "newFreeform"],
  [ListGovernanceDataRequest_Type.UPDATE_ASSET, "updateAsset"],
  [ListGovernanceDataRequest_Type.UPDATE_MARKET_STATE, "updateMarketState"],
  [ListGovernanceDataRequest_Type.UPDATE_REFERRAL_PROGRAM, "updateReferralProgram"],
  [ListGovernanceDataRequest_Type.UPDATE_VOLUME_DISCOUNT_PROGRAM, "updateVolumeDiscountProgram"],
]);

/** The condition of a request. The proposals of a batch are listed with the batch alone. */
function proposalFilter(request: ListGovernanceDataRequest): (proposal: Proposal) => boolean {
  const { proposalState, proposalType = ListGovernanceDataRequest_Type.UNSPECIFIED } = request;
  const proposer = request.proposerPartyId && queryIdentifier(request.proposerPartyId, LIST);
  const isAll = proposalType <= ListGovernanceDataRequest_Type.ALL;
  return ({ batchId, state, partyId, reference, terms }) =>
    batchId === undefined &&
    isWanted(proposalState, state) &&
    isWanted(proposer, partyId) &&
    isWanted(request.proposalReference, reference) &&
    (isAll || terms?.change.case === CHANGES.get(proposalType));
}
