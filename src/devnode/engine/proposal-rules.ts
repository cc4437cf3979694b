import { create } from "@bufbuild/protobuf";
import {
  type Proposal,
  ProposalError,
  type ProposalParameters,
  ProposalParametersSchema,
  type ProposalTerms,
} from "../../../gen/vega/governance_pb.js";
import { Market_State } from "../../../gen/vega/markets_pb.js";
import { larger, parseDecimal, smaller } from "./decimal.js";
import { formatDuration, formatTime, parseDuration } from "./go-text.js";
import { newMarketRejection, type Rejection } from "./proposed-market.js";
import type { Work } from "./state.js";

/** What a proposal asks to change. */
export type Change = ProposalTerms["change"];

const SECOND = 1_000_000_000n;

/** What the names of the network parameters begin with that rule proposals of a kind (`core/governance/netparams.go`). */
const PREFIX = {
  newMarket: "market",
  newSpotMarket: "market",
  updateMarket: "updateMarket",
  updateSpotMarket: "updateMarket",
  updateMarketState: "updateMarket",
  newAsset: "asset",
  updateAsset: "updateAsset",
  updateNetworkParameter: "updateNetParam",
  newFreeform: "freeform",
  newTransfer: "transfer",
  cancelTransfer: "transfer",
  updateReferralProgram: "referralProgram",
  updateVolumeDiscountProgram: "VolumeDiscountProgram",
  updateVolumeRebateProgram: "VolumeRebateProgram",
} as const;

/**
 * Read the rules for proposals of a kind from the network's parameters.
 *
 * @param parameters the parameters by key
 * @param kind what the proposal changes
 * @returns the rules: times in nanoseconds, balances in units of the token's last decimal; `undefined` for no kind
 */
export function rulesFor(
  parameters: ReadonlyMap<string, string>,
  kind: Change["case"],
): ProposalParameters | undefined {
  if (kind === undefined) {
    return undefined;
  }
  const text = (name: string, fallback = "0") =>
    parameters.get(`governance.proposal.${PREFIX[kind]}.${name}`) ?? fallback;
  const time = (name: string) => parseDuration(text(name)) ?? 0n;
  return create(ProposalParametersSchema, {
    minClose: time("minClose"),
    maxClose: time("maxClose"),
    minEnact: kind === "newFreeform" ? 0n : time("minEnact"),
    maxEnact: kind === "newFreeform" ? 0n : time("maxEnact"),
    requiredParticipation: text("requiredParticipation"),
    requiredMajority: text("requiredMajority"),
    minProposerBalance: text("minProposerBalance"),
    minVoterBalance: text("minVoterBalance"),
    requiredParticipationLp: text("requiredParticipationLP"),
    requiredMajorityLp: text("requiredMajorityLP"),
    minEquityLikeShare: text("minProposerEquityLikeShare"),
  });
}

/**
 * Join the rules of a batch: the strictest of each counts (`core/types/governance_proposal.go`, SetProposalParams).
 *
 * @param all the rules of the batch's proposals, at least one
 * @returns the rules, without times of enactment, which each proposal has its own for
 */
export function joinRules(all: readonly ProposalParameters[]): ProposalParameters {
  const joined = all.reduce((strict, rules) => {
    const next = create(ProposalParametersSchema, strict);
    next.maxClose = smaller(strict.maxClose, rules.maxClose);
    next.minClose = larger(strict.minClose, rules.minClose);
    for (const name of TEXTS) {
      next[name] = isBelow(strict[name], rules[name]) ? rules[name] : strict[name];
    }
    return next;
  });
  return { ...joined, minEnact: 0n, maxEnact: 0n };
}

const TEXTS = [
  ...(["requiredParticipation", "requiredMajority", "minProposerBalance", "minVoterBalance"] as const),
  ...(["requiredParticipationLp", "requiredMajorityLp", "minEquityLikeShare"] as const),
] as const;

/** Whether a decimal number is below another one. */
export function isBelow(a: string, b: string): boolean {
  return parseDecimal(a, 18) < parseDecimal(b, 18);
}

/**
 * Check a proposal as the network does before it opens (`core/governance/engine.go`, validateOpenProposal).
 *
 * @param work the block
 * @param proposal the proposal
 * @param rules the rules for it
 * @returns why it is rejected, if so
 */
export function proposalRejection(work: Work, proposal: Proposal, rules: ProposalParameters): Rejection | undefined {
  const { terms } = proposal;
  if (terms === undefined) {
    return undefined;
  }
  return (
    timeRejection(work.block.time, terms, rules) ??
    updateRejection(work, terms.change) ??
    tokenRejection(work, proposal, rules) ??
    changeRejection(work, terms)
  );
}

function timeRejection(now: bigint, terms: ProposalTerms, rules: ProposalParameters): Rejection | undefined {
  const { CLOSE_TIME_TOO_SOON, CLOSE_TIME_TOO_LATE, ENACT_TIME_TOO_SOON, ENACT_TIME_TOO_LATE } = ProposalError;
  const [close, enact] = [terms.closingTimestamp * SECOND, terms.enactmentTimestamp * SECOND];
  const validation = terms.validationTimestamp * SECOND;
  const isEnacted = terms.change.case !== "newFreeform";
  const [minClose, maxClose] = [now + rules.minClose, now + rules.maxClose];
  const [minEnact, maxEnact] = [now + rules.minEnact, now + rules.maxEnact];
  const reason = ProposalError.INCOMPATIBLE_TIMESTAMPS;
  if (close < minClose) {
    return {
      reason: CLOSE_TIME_TOO_SOON,
      details: expected("closing time too soon", `> ${formatTime(minClose)},`, close),
    };
  }
  if (close > maxClose) {
    return {
      reason: CLOSE_TIME_TOO_LATE,
      details: expected("closing time too late", `< ${formatTime(maxClose)},`, close),
    };
  }
  if (isEnacted && enact < minEnact) {
    return {
      reason: ENACT_TIME_TOO_SOON,
      details: expected("enactment time too soon", `> ${formatTime(minEnact)},`, enact),
    };
  }
  if (isEnacted && enact > maxEnact) {
    return {
      reason: ENACT_TIME_TOO_LATE,
      details: expected("enactment time too late", `< ${formatTime(maxEnact)},`, enact),
    };
  }
  if (terms.change.case === "newAsset" && close < validation) {
    const what = "closing time cannot be before validation time";
    return { reason, details: expected(what, `> ${formatTime(validation)}`, close) };
  }
  return isEnacted && enact < close
    ? { reason, details: expected("enactment time cannot be before closing time", `> ${formatTime(close)}`, enact) }
    : undefined;
}

const expected = (what: string, bound: string, got: bigint): string =>
  `proposal ${what}, expected ${bound} got ${formatTime(got)}`;

/** Why a proposal about a market cannot be: it is not there, or its own proposal is still open. */
function updateRejection({ state }: Work, change: Change): Rejection | undefined {
  const id = marketOf(change);
  if (id === undefined) {
    return undefined;
  }
  const reason = ProposalError.INVALID_MARKET;
  if (!state.markets.has(id)) {
    return { reason, details: "market does not exist" };
  }
  return state.registers.proposals.has(id) ? { reason, details: "original market proposal is still open" } : undefined;
}

/**
 * Find the market that a change is about.
 *
 * @param change the change
 * @returns the market's identifier, in lower case; `undefined` for changes of anything else
 */
export function marketOf(change: Change): string | undefined {
  switch (change.case) {
    case "updateMarket":
    case "updateSpotMarket":
      return change.value.marketId.toLowerCase();
    case "updateMarketState":
      return change.value.changes?.marketId.toLowerCase() ?? "";
    default:
      return undefined;
  }
}

function tokenRejection(
  { state }: Work,
  { partyId, terms }: Proposal,
  rules: ProposalParameters,
): Rejection | undefined {
  const isUpdate = terms !== undefined && marketOf(terms.change) !== undefined;
  // Nobody has a share of a market's liquidity on the local node. Where none is needed, no tokens are either.
  if (isUpdate && !isBelow("0", rules.minEquityLikeShare)) {
    return undefined;
  }
  const reason = ProposalError.INSUFFICIENT_TOKENS;
  const tokens = state.registers.stakes.get(partyId);
  if (tokens === undefined) {
    return { reason, details: "no balance for party" };
  }
  return tokens < BigInt(rules.minProposerBalance)
    ? {
        reason,
        details: `proposer have insufficient governance token, expected >= ${rules.minProposerBalance} got ${tokens}`,
      }
    : undefined;
}

function changeRejection({ state }: Work, terms: ProposalTerms): Rejection | undefined {
  const { change } = terms;
  const { parameters } = state.registers;
  switch (change.case) {
    case "newMarket":
      return newMarketRejection(state, change.value.changes) ?? auctionRejection(parameters, terms);
    case "updateNetworkParameter": {
      const { key = "", value = "" } = change.value.changes ?? {};
      return parameterRejection(parameters, key, value);
    }
    case "updateMarketState": {
      const market = state.markets.get(marketOf(change) ?? "");
      return market !== undefined && FIXED.includes(market.market.state)
        ? { reason: ProposalError.INVALID_MARKET, details: "market state does not allow for state update" }
        : undefined;
    }
    default:
      return undefined;
  }
}

/** The states of markets that no proposal about the state changes. */
const FIXED: readonly Market_State[] = [
  Market_State.CANCELLED,
  Market_State.CLOSED,
  Market_State.TRADING_TERMINATED,
  Market_State.SETTLED,
  Market_State.PROPOSED,
];

function auctionRejection(parameters: ReadonlyMap<string, string>, terms: ProposalTerms): Rejection | undefined {
  const duration = (terms.enactmentTimestamp - terms.closingTimestamp) * SECOND;
  const bound = (name: string) => parseDuration(parameters.get(`market.auction.${name}Duration`) ?? "");
  const [least, most] = [bound("minimum"), bound("maximum")];
  const got = formatDuration(duration);
  if (least !== undefined && duration < least) {
    const details = `proposal opening auction duration is too short, expected > ${formatDuration(least)}, got ${got}`;
    return { reason: ProposalError.OPENING_AUCTION_DURATION_TOO_SMALL, details };
  }
  if (most !== undefined && duration > most) {
    const details = `proposal opening auction duration is too long, expected < ${formatDuration(most)}, got ${got}`;
    return { reason: ProposalError.OPENING_AUCTION_DURATION_TOO_LARGE, details };
  }
  return undefined;
}

/**
 * Check the value of a network parameter. The local node tells durations and numbers by the value that the parameter has;
 * other texts are taken as they are.
 *
 * @param parameters the parameters by key
 * @param key the parameter
 * @param value its new value
 * @returns why it cannot have the value, if so
 */
export function parameterRejection(
  parameters: ReadonlyMap<string, string>,
  key: string,
  value: string,
): Rejection | undefined {
  const current = parameters.get(key);
  if (current === undefined) {
    return { reason: ProposalError.NETWORK_PARAMETER_INVALID_KEY, details: "unknown key" };
  }
  const reason = ProposalError.NETWORK_PARAMETER_INVALID_VALUE;
  const isNumber = /^-?\d+(\.\d+)?$/.test(current);
  if (isNumber && !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(value)) {
    return { reason, details: `unable to validate ${key}: can't convert ${value} to decimal` };
  }
  if (!isNumber && parseDuration(current) !== undefined && parseDuration(value) === undefined) {
    return { reason, details: `unable to validate ${key}: time: invalid duration ${JSON.stringify(value)}` };
  }
  return undefined;
}
