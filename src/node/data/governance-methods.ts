import type { MessageInitShape } from "@bufbuild/protobuf";
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
import { Code } from "../../base/errors/code.js";
import { invalidArgument, requireFound } from "../api-error.js";
import type { World } from "../world/world.js";
import {
  askedIdentifier,
  canBeIdentifier,
  isWanted,
  NO_IDENTIFIER,
  type Query,
  queryError,
  withFields,
} from "./filters.js";
import { type DataMethods, listing, stream } from "./method.js";
import { byBlock, withNodes } from "./pagination.js";
import type { OpenStreams } from "./streams.js";

const PROPOSALS: Query = { message: "failed to get proposals" };

const votesOf = (proposalId = "", partyId = ""): Query => ({
  message: "failed to get votes",
  inner: (cause) => `proposalID: ${proposalId}, partyID: ${partyId}: scany: query multiple result rows: ${cause}`,
});

export function governanceMethods(world: World, streams: OpenStreams): DataMethods {
  const { records } = world;
  return {
    listGovernanceData: listing({
      query: PROPOSALS,
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
      return { data: governanceData(world, requireFound(found, query.message, id).value) };
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

function governanceData({ records }: World, proposal: Proposal): MessageInitShape<typeof GovernanceDataSchema> {
  const votes = [...records.vote.latest.values()]
    .map(({ value }) => value)
    .filter(({ proposalId }) => proposalId === proposal.id);
  return {
    proposal,
    yes: votes.filter(({ value }) => value === Vote_Value.YES),
    no: votes.filter(({ value }) => value === Vote_Value.NO),
    proposalType: GovernanceData_Type.SINGLE_OR_UNSPECIFIED,
  };
}

/** The kinds of proposals that the local node decides on. */
const CHANGES = new Map<ListGovernanceDataRequest_Type, string>([
  [ListGovernanceDataRequest_Type.NEW_MARKET, "newMarket"],
  [ListGovernanceDataRequest_Type.UPDATE_MARKET, "updateMarket"],
  [ListGovernanceDataRequest_Type.NETWORK_PARAMETERS, "updateNetworkParameter"],
]);

function proposalFilter(request: ListGovernanceDataRequest): (proposal: Proposal) => boolean {
  const { proposalState, proposalType = ListGovernanceDataRequest_Type.UNSPECIFIED } = request;
  const proposer = askedIdentifier(request.proposerPartyId, PROPOSALS);
  const isAll = proposalType <= ListGovernanceDataRequest_Type.ALL;
  return ({ state, partyId, reference, terms }) =>
    isWanted(proposalState, state) &&
    isWanted(proposer, partyId) &&
    isWanted(request.proposalReference, reference) &&
    (isAll || terms?.change.case === CHANGES.get(proposalType));
}
