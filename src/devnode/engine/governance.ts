import { create } from "@bufbuild/protobuf";
import { Asset_Status, AssetSchema } from "../../../gen/vega/assets_pb.js";
import type {
  BatchProposalSubmission,
  ProposalSubmission,
  VoteSubmission,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  BatchProposalTermsSchema,
  MarketStateUpdateType,
  type Proposal,
  Proposal_State,
  ProposalError,
  type ProposalParameters,
  ProposalSchema,
  ProposalTermsSchema,
  VoteSchema,
} from "../../../gen/vega/governance_pb.js";
import { openMarket } from "./governed-market.js";
import { type Change, isBelow, joinRules, marketOf, proposalRejection, rulesFor } from "./proposal-rules.js";
import type { Rejection } from "./proposed-market.js";
import type { ActiveProposal } from "./registers.js";
import type { Work } from "./state.js";

/**
 * Submit a proposal (`core/governance/engine.go`, SubmitProposal). It opens for votes, or is emitted as rejected. The market of
 * one for a new market is there at once, and waits for the vote.
 *
 * @param work the block
 * @param partyId who proposes
 * @param command the proposal
 * @param id its identifier
 * @returns why it was rejected, if so
 */
export function submitProposal(
  work: Work,
  partyId: string,
  command: ProposalSubmission,
  id: string,
): string | undefined {
  const { parameters, proposals } = work.state.registers;
  const change: Change = command.terms?.change ?? { case: undefined };
  const rules = rulesFor(parameters, change.case);
  if (rules === undefined || lacks(change) !== undefined) {
    return lacks(change) ?? "unsupported proposal type";
  }
  const { reference, terms, rationale } = command;
  const proposal = withRules(create(ProposalSchema, { id, reference, partyId, timestamp: work.block.time }), rules);
  const opened = {
    ...proposal,
    ...(terms !== undefined && { terms: create(ProposalTermsSchema, terms) }),
    ...(rationale !== undefined && { rationale }),
  };
  const rejection = proposalRejection(work, opened, rules);
  if (rejection !== undefined) {
    emitProposal(work, rejected(opened, rejection));
    return rejection.details;
  }
  const state = change.case === "newAsset" ? Proposal_State.WAITING_FOR_NODE_VOTE : Proposal_State.OPEN;
  const begun = { ...opened, state };
  proposals.set(id, { proposal: begun, members: [], rules, votes: [] });
  proposeAsset(work, begun);
  emitProposal(work, begun);
  proposeMarket(work, begun);
  return undefined;
}

/**
 * Submit a batch of proposals, which are voted on together (`core/governance/engine_batch.go`).
 *
 * @param work the block
 * @param partyId who proposes
 * @param command the proposals
 * @param next gives the identifiers: that of the batch, then one for each proposal
 * @returns why the batch was rejected, if so
 */
export function submitBatchProposal(
  work: Work,
  partyId: string,
  { reference, terms, rationale }: BatchProposalSubmission,
  next: () => string,
): string | undefined {
  const id = next();
  const { closingTimestamp = 0n, changes = [] } = terms ?? {};
  const lacking = changes.map(({ change }) => lacks(change)).find((text) => text !== undefined);
  const each = changes.map(({ change }) => rulesFor(work.state.registers.parameters, change.case));
  const known = each.filter((rules) => rules !== undefined);
  if (lacking !== undefined || known.length === 0 || known.length < each.length) {
    return lacking ?? "unsupported proposal type";
  }
  const rules = joinRules(known);
  const about = { reference, partyId, timestamp: work.block.time, state: Proposal_State.OPEN };
  const members = changes.map(({ enactmentTimestamp, validationTimestamp, change }) => {
    const member = create(ProposalSchema, {
      ...about,
      id: next(),
      batchId: id,
      terms: { closingTimestamp, enactmentTimestamp, validationTimestamp, change },
    });
    return { ...withRules(member, rules), ...(rationale !== undefined && { rationale }) };
  });
  const batch: Proposal = {
    ...create(ProposalSchema, { ...about, id }),
    ...(rationale !== undefined && { rationale }),
    reason: ProposalError.UNSPECIFIED,
    errorDetails: "",
    batchTerms: create(BatchProposalTermsSchema, { closingTimestamp, proposalParams: rules, changes }),
  };
  const rejections = members.map((member, index) => {
    const { minEnact = 0n, maxEnact = 0n } = known[index] ?? {};
    return proposalRejection(work, member, { ...rules, minEnact, maxEnact });
  });
  if (rejections.some((rejection) => rejection !== undefined)) {
    return rejectBatch(work, batch, members, rejections);
  }
  const isValidated = changes.some(({ change }) => change.case === "newAsset");
  const state = isValidated ? Proposal_State.WAITING_FOR_NODE_VOTE : Proposal_State.OPEN;
  const opened = members.map((member) => ({ ...member, state }));
  work.state.registers.proposals.set(id, { proposal: { ...batch, state }, members: opened, rules, votes: [] });
  for (const member of opened) {
    proposeAsset(work, member);
  }
  for (const proposal of [{ ...batch, state }, ...opened]) {
    emitProposal(work, proposal);
  }
  for (const member of opened) {
    proposeMarket(work, member);
  }
  return undefined;
}

/**
 * Vote on a proposal, or change a vote (`core/governance/engine.go`, AddVote).
 *
 * @param work the block
 * @param partyId who votes
 * @param command the vote
 * @returns why it does not count, if so
 */
export function vote(work: Work, partyId: string, command: VoteSubmission): string | undefined {
  const { proposals, stakes } = work.state.registers;
  const proposalId = command.proposalId.toLowerCase();
  const active = proposals.get(proposalId);
  if (active === undefined) {
    return "proposal does not exist";
  }
  const { state } = active.proposal;
  if (state !== Proposal_State.OPEN && state !== Proposal_State.WAITING_FOR_NODE_VOTE) {
    return "proposal is not open for votes";
  }
  const stake = stakes.get(partyId);
  if (stake === undefined) {
    return "no balance for party";
  }
  if (stake < BigInt(active.rules.minVoterBalance)) {
    return isUpdate(active) && stake === 0n
      ? "vote requires tokens or equity-like share"
      : "vote requires more tokens than the party has";
  }
  const cast = create(VoteSchema, {
    ...{ partyId, proposalId, value: command.value, timestamp: work.block.time },
    ...{ totalGovernanceTokenBalance: String(stake), totalGovernanceTokenWeight: "0", totalEquityLikeShareWeight: "0" },
  });
  const others = active.votes.filter((other) => other.partyId !== partyId);
  proposals.set(proposalId, { ...active, votes: [...others, cast] });
  work.emit({ case: "vote", value: cast });
  return undefined;
}

/** Emit a proposal as it stands. */
export function emitProposal({ emit }: Work, value: Proposal): void {
  emit({ case: "proposal", value });
}

/** A proposal that is rejected. */
function rejected(proposal: Proposal, { reason, details }: Rejection): Proposal {
  return { ...proposal, state: Proposal_State.REJECTED, reason, errorDetails: details };
}

/** Note the asset that a proposal asks for. */
function proposeAsset({ state, emit }: Work, { id, terms }: Proposal): void {
  const change = terms?.change;
  if (change?.case === "newAsset" && change.value.changes !== undefined) {
    const asset = create(AssetSchema, { id, details: change.value.changes, status: Asset_Status.PROPOSED });
    state.assets.set(id, asset);
    emit({ case: "asset", value: asset });
  }
}

/** Add the market that a proposal asks for. */
function proposeMarket(work: Work, proposal: Proposal): void {
  const change = proposal.terms?.change;
  if (change?.case === "newMarket" && change.value.changes !== undefined) {
    openMarket(work, proposal, change.value.changes);
  }
}

/** What a proposal requires. Shares of liquidity count for updates of markets alone. */
function withRules(proposal: Proposal, rules: ProposalParameters): Proposal {
  const { requiredParticipation, requiredMajority, requiredParticipationLp, requiredMajorityLp } = rules;
  return {
    ...proposal,
    state: Proposal_State.OPEN,
    requiredParticipation,
    requiredMajority,
    ...(isBelow("0", requiredParticipationLp) && { requiredLiquidityProviderParticipation: requiredParticipationLp }),
    ...(isBelow("0", requiredMajorityLp) && { requiredLiquidityProviderMajority: requiredMajorityLp }),
  };
}

function rejectBatch(
  work: Work,
  batch: Proposal,
  members: readonly Proposal[],
  rejections: readonly (Rejection | undefined)[],
): string {
  const inBatch = { reason: ProposalError.PROPOSAL_IN_BATCH_REJECTED, details: "" };
  emitProposal(work, { ...rejected(batch, inBatch), errorDetails: "" });
  for (const [index, member] of members.entries()) {
    emitProposal(work, rejected(member, rejections[index] ?? inBatch));
  }
  return rejections.flatMap((rejection) => rejection?.details ?? []).join(", ");
}

function isUpdate({ proposal, members }: ActiveProposal): boolean {
  const changes = [proposal, ...members].map(({ terms }) => terms?.change);
  return changes.some((change) => change !== undefined && marketOf(change) !== undefined);
}

/** What the local node cannot carry out of a proposal, in words; `undefined` where it can. */
function lacks(change: Change): string | undefined {
  const isTerminated =
    change.case === "updateMarketState" && change.value.changes?.updateType === MarketStateUpdateType.TERMINATE;
  return isTerminated || (change.case !== undefined && LACKING.includes(change.case))
    ? `the local node does not carry out ${isTerminated ? "terminations of markets" : `${change.case} proposals`}`
    : undefined;
}

const LACKING: readonly string[] = ["newSpotMarket", "updateSpotMarket", "newTransfer", "cancelTransfer"];
