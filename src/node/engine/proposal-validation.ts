import { create } from "@bufbuild/protobuf";
import {
  type NewMarketConfiguration,
  type Proposal,
  ProposalError,
  type ProposalParameters,
  ProposalParametersSchema,
  type ProposalTerms,
} from "../../../gen/vega/governance_pb.js";
import type { ExecutionContext, State } from "./engine-state.js";
import { isBelow } from "./fixed-point.js";

export interface ProposalRejection {
  readonly reason: ProposalError;
  /** The network's error text. */
  readonly details: string;
}

/** The change that a proposal asks for. */
export type ProposedChange = ProposalTerms["change"];

const SECOND = 1_000_000_000n;

/** Network parameter prefixes of the rules for each kind of proposal (`core/governance/netparams.go`). */
const PREFIX: Readonly<Partial<Record<NonNullable<ProposedChange["case"]>, string>>> = {
  newMarket: "market",
  updateMarket: "updateMarket",
  updateNetworkParameter: "updateNetParam",
};

export function proposalRules(
  parameters: ReadonlyMap<string, string>,
  kind: ProposedChange["case"],
): ProposalParameters | undefined {
  const prefix = kind && PREFIX[kind];
  if (prefix === undefined) {
    return undefined;
  }
  const text = (name: string) => parameters.get(`governance.proposal.${prefix}.${name}`) ?? "0";
  const time = (name: string) => parseDuration(text(name)) ?? 0n;
  return create(ProposalParametersSchema, {
    minClose: time("minClose"),
    maxClose: time("maxClose"),
    minEnact: time("minEnact"),
    maxEnact: time("maxEnact"),
    requiredParticipation: text("requiredParticipation"),
    requiredMajority: text("requiredMajority"),
    minProposerBalance: text("minProposerBalance"),
    minVoterBalance: text("minVoterBalance"),
    requiredParticipationLp: text("requiredParticipationLP"),
    requiredMajorityLp: text("requiredMajorityLP"),
    minEquityLikeShare: text("minProposerEquityLikeShare"),
  });
}

/** Validates a proposal before it opens (`core/governance/engine.go`, validateOpenProposal). */
export function proposalRejection(
  context: ExecutionContext,
  proposal: Proposal,
  rules: ProposalParameters,
): ProposalRejection | undefined {
  const { terms } = proposal;
  if (terms === undefined) {
    return undefined;
  }
  return (
    timeRejection(context.block.time, terms, rules) ??
    updateRejection(context, terms.change) ??
    tokenRejection(context, proposal, rules) ??
    changeRejection(context, terms)
  );
}

function timeRejection(now: bigint, terms: ProposalTerms, rules: ProposalParameters): ProposalRejection | undefined {
  const { CLOSE_TIME_TOO_SOON, CLOSE_TIME_TOO_LATE, ENACT_TIME_TOO_SOON, ENACT_TIME_TOO_LATE } = ProposalError;
  const { INCOMPATIBLE_TIMESTAMPS } = ProposalError;
  const [close, enact] = [terms.closingTimestamp * SECOND, terms.enactmentTimestamp * SECOND];
  const [minClose, maxClose] = [now + rules.minClose, now + rules.maxClose];
  const [minEnact, maxEnact] = [now + rules.minEnact, now + rules.maxEnact];
  const bounds = [
    [close < minClose, CLOSE_TIME_TOO_SOON, "closing time too soon", `> ${formatTime(minClose)},`, close],
    [close > maxClose, CLOSE_TIME_TOO_LATE, "closing time too late", `< ${formatTime(maxClose)},`, close],
    [enact < minEnact, ENACT_TIME_TOO_SOON, "enactment time too soon", `> ${formatTime(minEnact)},`, enact],
    [enact > maxEnact, ENACT_TIME_TOO_LATE, "enactment time too late", `< ${formatTime(maxEnact)},`, enact],
    [
      enact < close,
      INCOMPATIBLE_TIMESTAMPS,
      "enactment time cannot be before closing time",
      `> ${formatTime(close)}`,
      enact,
    ],
  ] as const;
  const broken = bounds.find(([isBroken]) => isBroken);
  if (broken === undefined) {
    return undefined;
  }
  const [, reason, what, bound, got] = broken;
  return { reason, details: `proposal ${what}, expected ${bound} got ${formatTime(got)}` };
}

/** Rejects a proposal about a market that does not exist, or whose own proposal is still open. */
function updateRejection({ state }: ExecutionContext, change: ProposedChange): ProposalRejection | undefined {
  const id = marketOf(change);
  if (id === undefined) {
    return undefined;
  }
  const reason = ProposalError.INVALID_MARKET;
  if (!state.markets.has(id)) {
    return { reason, details: "market does not exist" };
  }
  return state.proposals.has(id) ? { reason, details: "original market proposal is still open" } : undefined;
}

export function marketOf(change: ProposedChange): string | undefined {
  return change.case === "updateMarket" ? change.value.marketId.toLowerCase() : undefined;
}

function tokenRejection(
  { state }: ExecutionContext,
  { partyId, terms }: Proposal,
  rules: ProposalParameters,
): ProposalRejection | undefined {
  const isUpdate = terms !== undefined && marketOf(terms.change) !== undefined;
  // The local node has no equity-like shares. A proposer who needs none needs no tokens either.
  if (isUpdate && !isBelow("0", rules.minEquityLikeShare)) {
    return undefined;
  }
  const reason = ProposalError.INSUFFICIENT_TOKENS;
  const tokens = state.stakes.get(partyId);
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

function changeRejection({ state }: ExecutionContext, terms: ProposalTerms): ProposalRejection | undefined {
  const { change } = terms;
  const { parameters } = state;
  switch (change.case) {
    case "newMarket":
      return newMarketRejection(state, change.value.changes) ?? auctionRejection(parameters, terms);
    case "updateNetworkParameter": {
      const { key = "", value = "" } = change.value.changes ?? {};
      return parameterRejection(parameters, key, value);
    }
    default:
      return undefined;
  }
}

/**
 * Validates a proposed market (`core/governance/market.go`, validateNewMarketChange): its product, asset, decimals and
 * parent market.
 */
function newMarketRejection(state: State, changes: NewMarketConfiguration | undefined): ProposalRejection | undefined {
  const product = changes?.instrument?.product;
  if (changes === undefined || product?.case === undefined) {
    return { reason: ProposalError.NO_PRODUCT, details: "missing product" };
  }
  if (product.case === "spot") {
    return { reason: ProposalError.UNSUPPORTED_PRODUCT, details: "product type is not supported" };
  }
  const asset = state.assets.get(product.value.settlementAsset.toLowerCase());
  if (asset === undefined) {
    return { reason: ProposalError.INVALID_ASSET, details: "asset does not exist" };
  }
  if (changes.decimalPlaces + changes.positionDecimalPlaces > (asset.details?.decimals ?? 0n)) {
    const details = "market decimal + position decimals must be less than or equal to asset decimals";
    return { reason: ProposalError.TOO_MANY_MARKET_DECIMAL_PLACES, details };
  }
  return parentRejection(state, changes);
}

function parentRejection(
  state: State,
  { successor, instrument }: NewMarketConfiguration,
): ProposalRejection | undefined {
  if (successor === undefined) {
    return undefined;
  }
  const reason = ProposalError.INVALID_SUCCESSOR_MARKET;
  const parent = state.markets.get(successor.parentMarketId.toLowerCase())?.market;
  if (parent === undefined) {
    return { reason, details: "market to succeed does not exist" };
  }
  if (parent.successorMarketId !== undefined) {
    return { reason, details: "the parent market was already succeeded by a prior proposal" };
  }
  const old = parent.tradableInstrument?.instrument?.product;
  const product = instrument?.product;
  if (old?.case !== "future" || product?.case !== "future") {
    return { reason, details: "parent and successor markets must both be future markets" };
  }
  if (product.value.settlementAsset.toLowerCase() !== old.value.settlementAsset) {
    return { reason, details: `successor market must use asset ${old.value.settlementAsset}` };
  }
  return product.value.quoteName === old.value.quoteName
    ? undefined
    : { reason, details: `successor market must use quote name ${old.value.quoteName}` };
}

function auctionRejection(
  parameters: ReadonlyMap<string, string>,
  terms: ProposalTerms,
): ProposalRejection | undefined {
  const duration = (terms.enactmentTimestamp - terms.closingTimestamp) * SECOND;
  const bound = (name: string) => parseDuration(parameters.get(`market.auction.${name}Duration`) ?? "");
  const [minimum, maximum] = [bound("minimum"), bound("maximum")];
  const got = formatDuration(duration);
  if (minimum !== undefined && duration < minimum) {
    const details = `proposal opening auction duration is too short, expected > ${formatDuration(minimum)}, got ${got}`;
    return { reason: ProposalError.OPENING_AUCTION_DURATION_TOO_SMALL, details };
  }
  if (maximum !== undefined && duration > maximum) {
    const details = `proposal opening auction duration is too long, expected < ${formatDuration(maximum)}, got ${got}`;
    return { reason: ProposalError.OPENING_AUCTION_DURATION_TOO_LARGE, details };
  }
  return undefined;
}

/**
 * Validates the value of a network parameter. The type follows from the current value: a duration, a number, or
 * text, which may have any value.
 */
export function parameterRejection(
  parameters: ReadonlyMap<string, string>,
  key: string,
  value: string,
): ProposalRejection | undefined {
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

/** Units of durations, in nanoseconds. */
const UNITS = new Map([
  ["h", 3_600_000_000_000n],
  ["m", 60_000_000_000n],
  ["s", 1_000_000_000n],
  ["ms", 1_000_000n],
  ["us", 1000n],
  ["ns", 1n],
]);

/** Parses a duration in Go's format, as network parameters have it. */
function parseDuration(text: string): bigint | undefined {
  if (text === "0") {
    return 0n;
  }
  if (!/^(\d+(\.\d+)?(h|ms|us|ns|m|s))+$/.test(text)) {
    return undefined;
  }
  let sum = 0n;
  for (const [, whole = "", , fraction = "", unit = ""] of text.matchAll(/(\d+)(\.(\d+))?(h|ms|us|ns|m|s)/g)) {
    const scale = 10n ** BigInt(fraction.length);
    sum += ((UNITS.get(unit) ?? 0n) * BigInt(whole + fraction)) / scale;
  }
  return sum;
}

function formatDuration(nanoseconds: bigint): string {
  const sign = nanoseconds < 0n ? "-" : "";
  const seconds = (nanoseconds < 0n ? -nanoseconds : nanoseconds) / SECOND;
  const [hours, minutes, rest] = [seconds / 3600n, (seconds / 60n) % 60n, seconds % 60n];
  const head = hours > 0n ? `${hours}h${minutes}m` : minutes > 0n ? `${minutes}m` : "";
  return `${sign}${head}${rest}s`;
}

/** The last time that a `Date` can have, in Unix milliseconds. */
const LAST_DATE_MS = 8.64e15;

function formatTime(nanoseconds: bigint): string {
  const date = new Date(Math.min(Number(nanoseconds / 1_000_000n), LAST_DATE_MS));
  const fraction = String(nanoseconds % SECOND)
    .padStart(9, "0")
    .replace(/0+$/, "");
  const [day = "", clock = ""] = date.toISOString().split("T");
  return `${day} ${clock.slice(0, 8)}${fraction === "" ? "" : `.${fraction}`} +0000 UTC`;
}
