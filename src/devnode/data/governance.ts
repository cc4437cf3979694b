import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  type ListGovernanceDataRequest,
  ListGovernanceDataRequest_Type,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import {
  GovernanceData_Type,
  type GovernanceDataSchema,
  type Proposal,
  Vote_Value,
} from "../../../gen/vega/governance_pb.js";
import { existing, invalidArgument } from "../api-error.js";
import type { World } from "../world/world.js";
import {
  askedIdentifier,
  canBeIdentifier,
  isWanted,
  NO_IDENTIFIER,
  type Query,
  queryError,
  withFields,
} from "./conditions.js";
import { byBlock } from "./listing.js";
import { type DataMethods, listing, stream } from "./method.js";
import type { Streams } from "./observe.js";
import { withNodes } from "./page.js";

const LIST: Query = { message: "failed to get proposals" };

const votesOf = (proposalId = "", partyId = ""): Query => ({
  message: "failed to get votes",
  inner: (cause) => `proposalID: ${proposalId}, partyID: ${partyId}: scany: query multiple result rows: ${cause}`,
});

/**
 * Implements the methods for proposals and votes that blocks brought.
 *
 * @param world how things stand
 * @param streams keeps streams open
 * @returns the methods of the data service that list, get and stream proposals and votes
 */
export function governanceMethods(world: World, streams: Streams): DataMethods {
  const { records } = world;
  return {
    listGovernanceData: listing({
      query: LIST,
      from: () => byBlock(records.proposal),
      where: proposalFilter,
      answer: (page) => ({ connection: withNodes(page, (proposal) => governanceData(world, proposal)) }),
    }),

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

    observeGovernance: stream(streams, {
      subject: "governance",
      records: (event) => (event.case === "proposal" ? [event.value] : []),
      where: ({ partyId }) => withFields({ partyId }),
      messages: (proposals) => proposals.map((proposal) => ({ data: { proposal } })),
    }),

    listVotes: listing({
      check({ partyId, proposalId }) {
        if (partyId === undefined && proposalId === undefined) {
          throw invalidArgument("missing proposal id and party id");
        }
      },
      query: ({ partyId, proposalId }) => votesOf(proposalId, partyId),
      from: () => byBlock(records.vote),
      where: ({ partyId, proposalId }, query) =>
        withFields({ partyId: askedIdentifier(partyId, query), proposalId: askedIdentifier(proposalId, query) }),
      answer: (votes) => ({ votes }),
    }),

    observeVotes: stream(streams, {
      subject: "vote",
      records: (event) => (event.case === "vote" ? [event.value] : []),
      where: ({ partyId, proposalId }) => withFields({ partyId, proposalId }),
      messages: (votes) => votes.map((vote) => ({ vote })),
    }),
  };
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
  const proposer = askedIdentifier(request.proposerPartyId, LIST);
  const isAll = proposalType <= ListGovernanceDataRequest_Type.ALL;
  return ({ batchId, state, partyId, reference, terms }) =>
    batchId === undefined &&
    isWanted(proposalState, state) &&
    isWanted(proposer, partyId) &&
    isWanted(request.proposalReference, reference) &&
    (isAll || terms?.change.case === CHANGES.get(proposalType));
}
