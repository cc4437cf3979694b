import { create } from "@bufbuild/protobuf";
import type { ProposalSubmission, VoteSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import {
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
import { NetworkParameterSchema } from "../../../gen/vega/vega_pb.js";
import type { ActiveProposal, ExecutionContext } from "./engine-state.js";
import { isBelow, ONE, parseFixedPoint } from "./fixed-point.js";
import {
  addProposedMarket,
  changeMarketFields,
  rejectMarket,
  startOpeningAuction,
  updateMarket,
} from "./market-lifecycle.js";
import {
  marketOf,
  type ProposalRejection,
  type ProposedChange,
  parameterRejection,
  proposalRejection,
  proposalRules,
} from "./proposal-validation.js";

/** Total supply of the governance token, in units of its last decimal. */
const TOKEN_SUPPLY: bigint = 65_000_000n * 10n ** 18n;

/** Number of decimals of vote weights. */
const WEIGHT_DECIMALS = 16;

const SECOND = 1_000_000_000n;

interface VoteTally {
  readonly state: Proposal_State.PASSED | Proposal_State.DECLINED;
  readonly reason: ProposalError;
  /** The votes and their weights, by party. */
  readonly votes: readonly Vote[];
}

/**
 * Submits a proposal (`core/governance/engine.go`, SubmitProposal). It opens for votes, or is emitted as rejected. A
 * proposed market exists immediately and awaits the vote.
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
  if (rules === undefined) {
    return "unsupported proposal type";
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
  proposals.set(id, { proposal: opened, rules, votes: [] });
  emitProposal(context, opened);
  proposeMarket(context, opened);
  return undefined;
}

/** Casts or changes a vote (`core/governance/engine.go`, AddVote). */
export function vote(context: ExecutionContext, partyId: string, command: VoteSubmission): string | undefined {
  const { proposals, stakes } = context.state;
  const proposalId = command.proposalId.toLowerCase();
  const active = proposals.get(proposalId);
  if (active === undefined) {
    return "proposal does not exist";
  }
  if (active.proposal.state !== Proposal_State.OPEN) {
    return "proposal is not open for votes";
  }
  const stake = stakes.get(partyId);
  if (stake === undefined) {
    return "no balance for party";
  }
  if (stake < BigInt(active.rules.minVoterBalance)) {
    return active.proposal.terms?.change.case === "updateMarket" && stake === 0n
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

function emitProposal({ emit }: ExecutionContext, value: Proposal): void {
  emit({ case: "proposal", value });
}

function asRejected(proposal: Proposal, { reason, details }: ProposalRejection): Proposal {
  return { ...proposal, state: Proposal_State.REJECTED, reason, errorDetails: details };
}

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

/**
 * Closes the votes that have ended and enacts the proposals that are due, at the start of a block
 * (`core/governance/engine.go`, OnTick). Times are whole seconds, and have passed one second later.
 */
export function advanceProposals(context: ExecutionContext): void {
  const { proposals } = context.state;
  const now = context.block.time / SECOND;
  const closed: Proposal[] = [];
  const passed: Proposal[] = [];
  const hasClosed = ({ proposal }: ActiveProposal) =>
    proposal.state === Proposal_State.OPEN && (proposal.terms?.closingTimestamp ?? now) < now;
  for (const active of [...proposals.values()]) {
    const proposal = hasClosed(active) ? closeProposal(context, active) : active.proposal;
    if (hasClosed(active)) {
      closed.push(proposal);
    }
    if (proposal.state === Proposal_State.PASSED && (proposal.terms?.enactmentTimestamp ?? now) < now) {
      proposals.delete(proposal.id);
      passed.push(proposal);
    }
  }
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
  }
  return proposal;
}

function withDecision(proposal: Proposal, state: Proposal_State, reason: ProposalError): Proposal {
  return { ...proposal, state, ...(reason !== ProposalError.UNSPECIFIED && { reason }) };
}

/** Starts the opening auction of a market whose proposal has passed, or rejects the market. */
function applyDecisionToMarket(context: ExecutionContext, proposal: Proposal): void {
  const market = context.state.markets.get(proposal.id);
  if (proposal.terms?.change.case === "newMarket" && market !== undefined) {
    (proposal.state === Proposal_State.PASSED ? startOpeningAuction : rejectMarket)(context, market);
  }
}

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

/**
 * Tallies the votes on a proposal by their tokens (`core/governance/proposal.go`, Close). It passes with the required
 * majority and participation. The local node has no equity-like shares, so tokens alone count for market updates too.
 */
function tallyVotes(
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
