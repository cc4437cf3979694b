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
  type Vote,
  Vote_Value,
  VoteSchema,
} from "../../../gen/vega/governance_pb.js";
import { Market_State } from "../../../gen/vega/markets_pb.js";
import { NetworkParameterSchema } from "../../../gen/vega/vega_pb.js";
import { ASSET_ACCOUNTS, networkAccount, openAccount } from "./collateral.js";
import { isBelow, ONE, parseFixedPoint } from "./decimal.js";
import type { ActiveProposal, ExecutionContext, MarketState } from "./engine-state.js";
import {
  addProposedMarket,
  changeMarketFields,
  rejectMarket,
  resumeMarket,
  startOpeningAuction,
  suspendMarket,
  updateMarket,
} from "./market-lifecycle.js";
import {
  marketOf,
  type ProposalRejection,
  type ProposedChange,
  parameterRejection,
  proposalRejection,
  proposalRules,
  strictestRules,
} from "./proposal-validation.js";

/** Total supply of the governance token, in units of its last decimal. */
export const TOKEN_SUPPLY: bigint = 65_000_000n * 10n ** 18n;

/** Number of decimals of vote weights. */
const WEIGHT_DECIMALS = 16;

const SECOND = 1_000_000_000n;

/** Result of a vote. */
export interface VoteTally {
  readonly state: Proposal_State.PASSED | Proposal_State.DECLINED;
  readonly reason: ProposalError;
  /** The votes and their weights, by party. */
  readonly votes: readonly Vote[];
}

/**
 * Submits a proposal (`core/governance/engine.go`, SubmitProposal). It opens for votes, or is emitted as rejected. A
 * proposed market exists immediately and awaits the vote.
 *
 * @param context the block
 * @param partyId the proposer
 * @param command the proposal
 * @param id its identifier
 * @returns the error if it is rejected
 */
export function submitProposal(
  context: ExecutionContext,
  partyId: string,
  command: ProposalSubmission,
  id: string,
): string | undefined {
  const { parameters, proposals } = context.state;
  const change: ProposedChange = command.terms?.change ?? { case: undefined };
  const rules = proposalRules(parameters, change.case);
  if (rules === undefined || unsupportedReason(change) !== undefined) {
    return unsupportedReason(change) ?? "unsupported proposal type";
  }
  const { reference, terms, rationale } = command;
  const proposal = withRules(create(ProposalSchema, { id, reference, partyId, timestamp: context.block.time }), rules);
  const opened = {
    ...proposal,
    ...(terms !== undefined && { terms: create(ProposalTermsSchema, terms) }),
    ...(rationale !== undefined && { rationale }),
  };
  const rejection = proposalRejection(context, opened, rules);
  if (rejection !== undefined) {
    emitProposal(context, asRejected(opened, rejection));
    return rejection.details;
  }
  const state = change.case === "newAsset" ? Proposal_State.WAITING_FOR_NODE_VOTE : Proposal_State.OPEN;
  const submitted = { ...opened, state };
  proposals.set(id, { proposal: submitted, members: [], rules, votes: [] });
  proposeAsset(context, submitted);
  emitProposal(context, submitted);
  proposeMarket(context, submitted);
  return undefined;
}

/**
 * Submits a batch of proposals, which have one vote (`core/governance/engine_batch.go`).
 *
 * @param context the block
 * @param partyId the proposer
 * @param command the proposals
 * @param next returns the identifier of the batch, then of each proposal
 * @returns the error if the batch is rejected
 */
export function submitBatchProposal(
  context: ExecutionContext,
  partyId: string,
  { reference, terms, rationale }: BatchProposalSubmission,
  next: () => string,
): string | undefined {
  const id = next();
  const { closingTimestamp = 0n, changes = [] } = terms ?? {};
  const lacking = changes.map(({ change }) => unsupportedReason(change)).find((text) => text !== undefined);
  const each = changes.map(({ change }) => proposalRules(context.state.parameters, change.case));
  const known = each.filter((rules) => rules !== undefined);
  if (lacking !== undefined || known.length === 0 || known.length < each.length) {
    return lacking ?? "unsupported proposal type";
  }
  const rules = strictestRules(known);
  const about = { reference, partyId, timestamp: context.block.time, state: Proposal_State.OPEN };
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
    return proposalRejection(context, member, { ...rules, minEnact, maxEnact });
  });
  if (rejections.some((rejection) => rejection !== undefined)) {
    return rejectBatch(context, batch, members, rejections);
  }
  const isValidated = changes.some(({ change }) => change.case === "newAsset");
  const state = isValidated ? Proposal_State.WAITING_FOR_NODE_VOTE : Proposal_State.OPEN;
  const opened = members.map((member) => ({ ...member, state }));
  context.state.proposals.set(id, { proposal: { ...batch, state }, members: opened, rules, votes: [] });
  for (const member of opened) {
    proposeAsset(context, member);
  }
  for (const proposal of [{ ...batch, state }, ...opened]) {
    emitProposal(context, proposal);
  }
  for (const member of opened) {
    proposeMarket(context, member);
  }
  return undefined;
}

/**
 * Casts or changes a vote (`core/governance/engine.go`, AddVote).
 *
 * @param context the block
 * @param partyId the voter
 * @param command the vote
 * @returns the error if the vote is rejected
 */
export function vote(context: ExecutionContext, partyId: string, command: VoteSubmission): string | undefined {
  const { proposals, stakes } = context.state;
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
    ...{ partyId, proposalId, value: command.value, timestamp: context.block.time },
    ...{ totalGovernanceTokenBalance: String(stake), totalGovernanceTokenWeight: "0", totalEquityLikeShareWeight: "0" },
  });
  const others = active.votes.filter((other) => other.partyId !== partyId);
  proposals.set(proposalId, { ...active, votes: [...others, cast] });
  context.emit({ case: "vote", value: cast });
  return undefined;
}

/** Emits a proposal. */
export function emitProposal({ emit }: ExecutionContext, value: Proposal): void {
  emit({ case: "proposal", value });
}

/** Returns a proposal as rejected. */
function asRejected(proposal: Proposal, { reason, details }: ProposalRejection): Proposal {
  return { ...proposal, state: Proposal_State.REJECTED, reason, errorDetails: details };
}

/** Adds the asset that a proposal asks for. */
function proposeAsset({ state, emit }: ExecutionContext, { id, terms }: Proposal): void {
  const change = terms?.change;
  if (change?.case === "newAsset" && change.value.changes !== undefined) {
    const asset = create(AssetSchema, { id, details: change.value.changes, status: Asset_Status.PROPOSED });
    state.assets.set(id, asset);
    emit({ case: "asset", value: asset });
  }
}

/** Adds the market that a proposal asks for. */
function proposeMarket(context: ExecutionContext, proposal: Proposal): void {
  const change = proposal.terms?.change;
  if (change?.case === "newMarket" && change.value.changes !== undefined) {
    addProposedMarket(context, proposal, change.value.changes);
  }
}

/** Sets what a proposal requires. Liquidity provider requirements apply to market updates only. */
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
  context: ExecutionContext,
  batch: Proposal,
  members: readonly Proposal[],
  rejections: readonly (ProposalRejection | undefined)[],
): string {
  const inBatch = { reason: ProposalError.PROPOSAL_IN_BATCH_REJECTED, details: "" };
  emitProposal(context, { ...asRejected(batch, inBatch), errorDetails: "" });
  for (const [index, member] of members.entries()) {
    emitProposal(context, asRejected(member, rejections[index] ?? inBatch));
  }
  return rejections.flatMap((rejection) => rejection?.details ?? []).join(", ");
}

function isUpdate({ proposal, members }: ActiveProposal): boolean {
  const changes = [proposal, ...members].map(({ terms }) => terms?.change);
  return changes.some((change) => change !== undefined && marketOf(change) !== undefined);
}

/** Returns an error for a change that the local node does not support. */
function unsupportedReason(change: ProposedChange): string | undefined {
  const isTerminated =
    change.case === "updateMarketState" && change.value.changes?.updateType === MarketStateUpdateType.TERMINATE;
  return isTerminated || (change.case !== undefined && UNSUPPORTED_CHANGES.includes(change.case))
    ? `the local node does not execute ${isTerminated ? "terminations of markets" : `${change.case} proposals`}`
    : undefined;
}

const UNSUPPORTED_CHANGES: readonly string[] = ["newSpotMarket", "updateSpotMarket", "newTransfer", "cancelTransfer"];

/**
 * Closes the votes that have ended and enacts the proposals that are due, at the start of a block
 * (`core/governance/engine.go`, OnTick). Times are whole seconds, and have passed one second later.
 *
 * @param context the block
 */
export function advanceProposals(context: ExecutionContext): void {
  const { proposals } = context.state;
  const now = context.block.time / SECOND;
  const before = [...proposals.values()];
  const closed: Proposal[] = [];
  const passed: Proposal[] = [];
  const hasClosed = ({ proposal }: ActiveProposal) => {
    const { closingTimestamp = now } = proposal.terms ?? proposal.batchTerms ?? {};
    return proposal.state === Proposal_State.OPEN && closingTimestamp < now;
  };
  for (const batch of before
    .filter(({ members }) => members.length > 0)
    .filter(hasClosed)
    .toSorted(byId)) {
    closed.push(...closeBatch(context, batch));
  }
  for (const single of before.filter(({ members }) => members.length === 0)) {
    const proposal = hasClosed(single) ? closeProposal(context, single) : single.proposal;
    if (hasClosed(single)) {
      closed.push(proposal);
    }
    const { change, enactmentTimestamp = now } = proposal.terms ?? {};
    if (proposal.state === Proposal_State.PASSED && (change?.case === "newFreeform" || enactmentTimestamp < now)) {
      proposals.delete(proposal.id);
      passed.push(proposal);
    }
  }
  openValidatedProposals(context, before);
  for (const proposal of closed) {
    applyDecisionToMarket(context, proposal);
  }
  for (const proposal of passed) {
    const failure = enact(context, proposal);
    emitProposal(context, {
      ...proposal,
      state: failure === undefined ? Proposal_State.ENACTED : Proposal_State.FAILED,
      ...(failure !== undefined && { reason: failure.reason, errorDetails: failure.details }),
    });
  }
}

const byId = (a: ActiveProposal, b: ActiveProposal) => (a.proposal.id < b.proposal.id ? -1 : 1);

/** Tallies the votes on a proposal and emits the result. A passed proposal awaits its enactment. */
function closeProposal(context: ExecutionContext, active: ActiveProposal): Proposal {
  const { proposals, stakes } = context.state;
  const ballot = tallyVotes(active.proposal, active.votes, stakes);
  const proposal = withDecision(active.proposal, ballot.state, ballot.reason);
  emitProposal(context, proposal);
  for (const value of ballot.votes) {
    context.emit({ case: "vote", value });
  }
  if (proposal.state === Proposal_State.PASSED) {
    proposals.set(proposal.id, { ...active, proposal });
  } else {
    proposals.delete(proposal.id);
    rejectAsset(context, proposal);
  }
  return proposal;
}

/** Tallies the votes on a batch. Its proposals pass or are declined together, and are enacted each at its own time. */
function closeBatch(context: ExecutionContext, batch: ActiveProposal): readonly Proposal[] {
  const { proposals, stakes } = context.state;
  const ballot = tallyVotes(batch.rules, batch.votes, stakes);
  const inBatch = ProposalError.PROPOSAL_IN_BATCH_DECLINED;
  const isPassed = ballot.state === Proposal_State.PASSED;
  proposals.delete(batch.proposal.id);
  emitProposal(context, withDecision(batch.proposal, ballot.state, isPassed ? ballot.reason : inBatch));
  return batch.members.map((member) => {
    const proposal = withDecision(member, ballot.state, ballot.reason);
    emitProposal(context, proposal);
    for (const value of ballot.votes) {
      context.emit({ case: "vote", value });
    }
    if (isPassed) {
      proposals.set(proposal.id, { ...batch, proposal, members: [] });
    } else {
      rejectAsset(context, proposal);
    }
    return proposal;
  });
}

function withDecision(proposal: Proposal, state: Proposal_State, reason: ProposalError): Proposal {
  return { ...proposal, state, ...(reason !== ProposalError.UNSPECIFIED && { reason }) };
}

/**
 * Opens the proposals that awaited the validation of an asset. The local node has no validators to wait for, and
 * accepts every asset.
 */
function openValidatedProposals(context: ExecutionContext, all: readonly ActiveProposal[]): void {
  const open = (proposal: Proposal): Proposal => ({ ...proposal, state: Proposal_State.OPEN });
  for (const active of all) {
    if (active.proposal.state === Proposal_State.WAITING_FOR_NODE_VOTE) {
      const opened = { ...active, proposal: open(active.proposal), members: active.members.map(open) };
      context.state.proposals.set(active.proposal.id, opened);
      for (const proposal of [opened.proposal, ...opened.members]) {
        emitProposal(context, proposal);
      }
    }
  }
}

/** Starts the opening auction of a market whose proposal has passed, or rejects the market. */
function applyDecisionToMarket(context: ExecutionContext, proposal: Proposal): void {
  const market = context.state.markets.get(proposal.id);
  if (proposal.terms?.change.case === "newMarket" && market !== undefined) {
    (proposal.state === Proposal_State.PASSED ? startOpeningAuction : rejectMarket)(context, market);
  }
}

function rejectAsset({ state, emit }: ExecutionContext, { id, terms }: Proposal): void {
  const asset = state.assets.get(id);
  if (terms?.change.case === "newAsset" && asset !== undefined) {
    const value = { ...asset, status: Asset_Status.REJECTED };
    state.assets.set(id, value);
    emit({ case: "asset", value });
  }
}

/** Enacts a proposal. A change without an effect on the local node counts as enacted. */
function enact(context: ExecutionContext, { id, terms }: Proposal): ProposalRejection | undefined {
  const { state, emit } = context;
  const change = terms?.change;
  const market = state.markets.get((change && marketOf(change)) ?? "");
  switch (change?.case) {
    case "updateNetworkParameter": {
      const { key = "", value = "" } = change.value.changes ?? {};
      const failure = parameterRejection(state.parameters, key, value);
      if (failure === undefined) {
        state.parameters.set(key, value);
        emit({ case: "networkParameter", value: create(NetworkParameterSchema, { key, value }) });
      }
      return failure;
    }
    case "newMarket":
      setSuccessor(context, id);
      return undefined;
    case "updateMarket":
      if (market !== undefined && change.value.changes !== undefined) {
        updateMarket(context, market, change.value.changes);
      }
      return undefined;
    case "updateMarketState":
      return market && updateState(context, market, change.value.changes?.updateType);
    case "newAsset": {
      const asset = state.assets.get(id);
      if (asset !== undefined) {
        // A contract on Ethereum lists an asset. The local node has none.
        const isBuiltin = asset.details?.source.case === "builtinAsset";
        const value = { ...asset, status: isBuiltin ? Asset_Status.ENABLED : Asset_Status.PENDING_LISTING };
        state.assets.set(id, value);
        emit({ case: "asset", value });
        for (const type of isBuiltin ? ASSET_ACCOUNTS : []) {
          openAccount(context, networkAccount(type, id, ""));
        }
      }
      return undefined;
    }
    default:
      return undefined;
  }
}

/** Sets a market as the successor of its parent market, if it has one. */
function setSuccessor(context: ExecutionContext, id: string): void {
  const parent = context.state.markets.get(context.state.markets.get(id)?.market.parentMarketId ?? "");
  if (parent !== undefined) {
    changeMarketFields(context, parent, { successorMarketId: id });
  }
}

/** Suspends or resumes a market (`core/execution/engine.go`, VerifyUpdateMarketState). */
function updateState(
  context: ExecutionContext,
  market: MarketState,
  type: MarketStateUpdateType | undefined,
): ProposalRejection | undefined {
  const isSuspended = market.market.state === Market_State.SUSPENDED_VIA_GOVERNANCE;
  const isSuspension = type === MarketStateUpdateType.SUSPEND;
  if (isSuspended === isSuspension) {
    const problem = isSuspension ? "Market for suspend is already suspended" : "Market for resume is not suspended";
    const details = `invalid state update request. ${problem}`;
    return { reason: ProposalError.INVALID_MARKET_STATE_UPDATE, details };
  }
  (isSuspension ? suspendMarket : resumeMarket)(context, market);
  return undefined;
}

/**
 * Tallies the votes on a proposal by their tokens (`core/governance/proposal.go`, Close). It passes with the required
 * majority and participation. The local node has no equity-like shares, so tokens alone count for market updates too.
 *
 * @param proposal the requirements
 * @param votes the votes
 * @param stakes governance tokens by party
 * @returns the result
 */
export function tallyVotes(
  { requiredMajority, requiredParticipation }: Pick<Proposal, "requiredMajority" | "requiredParticipation">,
  votes: readonly Vote[],
  stakes: ReadonlyMap<string, bigint>,
): VoteTally {
  const tokensOf = ({ partyId }: Vote) => stakes.get(partyId) ?? 0n;
  const sum = (some: readonly Vote[]) => some.reduce((total, vote) => total + tokensOf(vote), 0n);
  const [all, yes] = [sum(votes), sum(votes.filter(({ value }) => value === Vote_Value.YES))];
  const weighted = votes
    .map((vote) => ({
      ...vote,
      totalGovernanceTokenBalance: String(tokensOf(vote)),
      totalGovernanceTokenWeight: all === 0n ? "0" : quotient(tokensOf(vote), all),
    }))
    .toSorted((a, b) => (a.partyId < b.partyId ? -1 : 1));
  const takesPart = all > 0n && all * ONE >= TOKEN_SUPPLY * parseFixedPoint(requiredParticipation);
  const hasMajority = yes * ONE >= all * parseFixedPoint(requiredMajority);
  if (takesPart && hasMajority) {
    return { state: Proposal_State.PASSED, reason: ProposalError.UNSPECIFIED, votes: weighted };
  }
  const { PARTICIPATION_THRESHOLD_NOT_REACHED, MAJORITY_THRESHOLD_NOT_REACHED } = ProposalError;
  const reason = takesPart ? MAJORITY_THRESHOLD_NOT_REACHED : PARTICIPATION_THRESHOLD_NOT_REACHED;
  return { state: Proposal_State.DECLINED, reason, votes: weighted };
}

/** Divides and formats a weight from 0 to 1 as the network does: at most 16 decimals, rounded. */
function quotient(dividend: bigint, divisor: bigint): string {
  const scale = 10n ** BigInt(WEIGHT_DECIMALS);
  const scaled = (2n * dividend * scale + divisor) / (2n * divisor);
  const fraction = String(scaled % scale)
    .padStart(WEIGHT_DECIMALS, "0")
    .replace(/0+$/, "");
  return fraction === "" ? String(scaled / scale) : `${scaled / scale}.${fraction}`;
}
