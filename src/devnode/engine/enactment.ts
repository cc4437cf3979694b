import { create } from "@bufbuild/protobuf";
import { Asset_Status } from "../../../gen/vega/assets_pb.js";
import {
  MarketStateUpdateType,
  type Proposal,
  Proposal_State,
  ProposalError,
} from "../../../gen/vega/governance_pb.js";
import { Market_State } from "../../../gen/vega/markets_pb.js";
import { NetworkParameterSchema } from "../../../gen/vega/vega_pb.js";
import { countVotes } from "./ballot.js";
import { emitProposal } from "./governance.js";
import {
  changeMarket,
  rejectMarket,
  resumeMarket,
  startOpeningAuction,
  suspendMarket,
  updateMarket,
} from "./governed-market.js";
import { marketOf, parameterRejection } from "./proposal-rules.js";
import type { Rejection } from "./proposed-market.js";
import type { ActiveProposal } from "./registers.js";
import type { MarketState, Work } from "./state.js";

const SECOND = 1_000_000_000n;

/**
 * Decide the proposals whose votes have ended, and enact those whose time has come, at the beginning of a block
 * (`core/governance/engine.go`, OnTick). Times count in whole seconds, and have passed a second later.
 *
 * @param work the block
 */
export function decideProposals(work: Work): void {
  const { proposals } = work.state.registers;
  const now = work.block.time / SECOND;
  const before = [...proposals.values()];
  const closed: Proposal[] = [];
  const passed: Proposal[] = [];
  const isOver = ({ proposal }: ActiveProposal) => {
    const { closingTimestamp = now } = proposal.terms ?? proposal.batchTerms ?? {};
    return proposal.state === Proposal_State.OPEN && closingTimestamp < now;
  };
  for (const batch of before
    .filter(({ members }) => members.length > 0)
    .filter(isOver)
    .toSorted(byId)) {
    closed.push(...closeBatch(work, batch));
  }
  for (const single of before.filter(({ members }) => members.length === 0)) {
    const proposal = isOver(single) ? closeProposal(work, single) : single.proposal;
    if (isOver(single)) {
      closed.push(proposal);
    }
    const { change, enactmentTimestamp = now } = proposal.terms ?? {};
    if (proposal.state === Proposal_State.PASSED && (change?.case === "newFreeform" || enactmentTimestamp < now)) {
      proposals.delete(proposal.id);
      passed.push(proposal);
    }
  }
  validate(work, before);
  for (const proposal of closed) {
    decideMarket(work, proposal);
  }
  for (const proposal of passed) {
    const failure = enact(work, proposal);
    emitProposal(work, {
      ...proposal,
      state: failure === undefined ? Proposal_State.ENACTED : Proposal_State.FAILED,
      ...(failure !== undefined && { reason: failure.reason, errorDetails: failure.details }),
    });
  }
}

const byId = (a: ActiveProposal, b: ActiveProposal) => (a.proposal.id < b.proposal.id ? -1 : 1);

/** Count the votes on a proposal, and emit what came of it. One that passed waits for its enactment. */
function closeProposal(work: Work, active: ActiveProposal): Proposal {
  const { proposals, stakes } = work.state.registers;
  const ballot = countVotes(active.proposal, active.votes, stakes);
  const proposal = decided(active.proposal, ballot.state, ballot.reason);
  emitProposal(work, proposal);
  for (const value of ballot.votes) {
    work.emit({ case: "vote", value });
  }
  if (proposal.state === Proposal_State.PASSED) {
    proposals.set(proposal.id, { ...active, proposal });
  } else {
    proposals.delete(proposal.id);
    rejectAsset(work, proposal);
  }
  return proposal;
}

/** Count the votes on a batch. Its proposals pass or are declined together, and are enacted each at its own time. */
function closeBatch(work: Work, batch: ActiveProposal): readonly Proposal[] {
  const { proposals, stakes } = work.state.registers;
  const ballot = countVotes(batch.rules, batch.votes, stakes);
  const inBatch = ProposalError.PROPOSAL_IN_BATCH_DECLINED;
  const isPassed = ballot.state === Proposal_State.PASSED;
  proposals.delete(batch.proposal.id);
  emitProposal(work, decided(batch.proposal, ballot.state, isPassed ? ballot.reason : inBatch));
  return batch.members.map((member) => {
    const proposal = decided(member, ballot.state, ballot.reason);
    emitProposal(work, proposal);
    for (const value of ballot.votes) {
      work.emit({ case: "vote", value });
    }
    if (isPassed) {
      proposals.set(proposal.id, { ...batch, proposal, members: [] });
    } else {
      rejectAsset(work, proposal);
    }
    return proposal;
  });
}

function decided(proposal: Proposal, state: Proposal_State, reason: ProposalError): Proposal {
  return { ...proposal, state, ...(reason !== ProposalError.UNSPECIFIED && { reason }) };
}

/** Open what waited for the validators to look at an asset. The local node has none, and takes every asset for good. */
function validate(work: Work, all: readonly ActiveProposal[]): void {
  const open = (proposal: Proposal): Proposal => ({ ...proposal, state: Proposal_State.OPEN });
  for (const active of all) {
    if (active.proposal.state === Proposal_State.WAITING_FOR_NODE_VOTE) {
      const opened = { ...active, proposal: open(active.proposal), members: active.members.map(open) };
      work.state.registers.proposals.set(active.proposal.id, opened);
      for (const proposal of [opened.proposal, ...opened.members]) {
        emitProposal(work, proposal);
      }
    }
  }
}

/** Begin the opening auction of the market of a proposal that passed, or reject the market. */
function decideMarket(work: Work, proposal: Proposal): void {
  const market = work.state.markets.get(proposal.id);
  if (proposal.terms?.change.case === "newMarket" && market !== undefined) {
    (proposal.state === Proposal_State.PASSED ? startOpeningAuction : rejectMarket)(work, market);
  }
}

function rejectAsset({ state, emit }: Work, { id, terms }: Proposal): void {
  const asset = state.assets.get(id);
  if (terms?.change.case === "newAsset" && asset !== undefined) {
    const value = { ...asset, status: Asset_Status.REJECTED };
    state.assets.set(id, value);
    emit({ case: "asset", value });
  }
}

/** Enact a proposal. What of it has no effect on the local node counts as enacted. */
function enact(work: Work, { id, terms }: Proposal): Rejection | undefined {
  const { state, emit } = work;
  const change = terms?.change;
  const market = state.markets.get((change && marketOf(change)) ?? "");
  switch (change?.case) {
    case "updateNetworkParameter": {
      const { key = "", value = "" } = change.value.changes ?? {};
      const failure = parameterRejection(state.registers.parameters, key, value);
      if (failure === undefined) {
        state.registers.parameters.set(key, value);
        emit({ case: "networkParameter", value: create(NetworkParameterSchema, { key, value }) });
      }
      return failure;
    }
    case "newMarket":
      succeed(work, id);
      return undefined;
    case "updateMarket":
      if (market !== undefined && change.value.changes !== undefined) {
        updateMarket(work, market, change.value.changes);
      }
      return undefined;
    case "updateMarketState":
      return market && updateState(work, market, change.value.changes?.updateType);
    case "newAsset": {
      const asset = state.assets.get(id);
      if (asset !== undefined) {
        // What lists an asset is its contract on Ethereum, which the local node has not.
        const isBuiltin = asset.details?.source.case === "builtinAsset";
        const value = { ...asset, status: isBuiltin ? Asset_Status.ENABLED : Asset_Status.PENDING_LISTING };
        state.assets.set(id, value);
        emit({ case: "asset", value });
      }
      return undefined;
    }
    default:
      return undefined;
  }
}

/** Name a market as the successor of its parent, if it has one. */
function succeed(work: Work, id: string): void {
  const parent = work.state.markets.get(work.state.markets.get(id)?.market.parentMarketId ?? "");
  if (parent !== undefined) {
    changeMarket(work, parent, { successorMarketId: id });
  }
}

/** Suspend a market, or let it go on (`core/execution/engine.go`, VerifyUpdateMarketState). */
function updateState(work: Work, market: MarketState, type: MarketStateUpdateType | undefined): Rejection | undefined {
  const isSuspended = market.market.state === Market_State.SUSPENDED_VIA_GOVERNANCE;
  const isSuspension = type === MarketStateUpdateType.SUSPEND;
  if (isSuspended === isSuspension) {
    const problem = isSuspension ? "Market for suspend is already suspended" : "Market for resume is not suspended";
    const details = `invalid state update request. ${problem}`;
    return { reason: ProposalError.INVALID_MARKET_STATE_UPDATE, details };
  }
  (isSuspension ? suspendMarket : resumeMarket)(work, market);
  return undefined;
}
