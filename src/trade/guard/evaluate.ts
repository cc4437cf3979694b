import type {
  BatchMarketInstructions,
  OrderAmendment,
  OrderSubmission,
  StopOrdersSubmission,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { Order_Type, Side } from "../../../gen/vega/vega_pb.js";
import { PolicyError } from "../../base/errors/index.js";
import { formatDecimal } from "../market/decimal.js";
import {
  growthOf,
  type MarketLimits,
  type MarketRules,
  type Observed,
  openVolume,
  type UnseenPart,
} from "./guard-state.js";
import { type GuardMode, isNamed, type Policy } from "./policy.js";

/** The state against which a command is checked. */
export interface Situation {
  readonly policy: Policy;
  readonly mode: GuardMode;
  /** The state that the node reported, unless it is too old. */
  readonly knowledge:
    | { readonly kind: "known"; readonly observed: Observed }
    | { readonly kind: "unknown"; readonly why: string };
  /** The effects of signed transactions that the node does not show yet. */
  readonly unseen: readonly UnseenPart[];
  /** The rules of the markets of the command; those that the policy does not allow are missing. */
  readonly rules: ReadonlyMap<string, MarketRules>;
  /** The number of orders, amendments and stop orders that were signed in the last 60 seconds. */
  readonly signedInMinute: number;
}

/** The effects of an allowed command. */
export interface Effects {
  readonly parts: readonly UnseenPart[];
  /** How many orders, amendments and stop orders it has. */
  readonly orders: number;
}

type Violation = Pick<PolicyError, "rule" | "limit" | "value"> & { readonly what: string; readonly advice?: string };

/** The check of one command: its parts so far, and the command's name for errors. */
interface Checking extends Situation {
  readonly command: string;
  readonly parts: UnseenPart[];
  orders: number;
}

/** What may trade on a market: a price and a size, in units. */
interface Amount {
  readonly marketId: string;
  readonly limits: MarketLimits;
  readonly side: Side;
  readonly size: bigint;
  /** `undefined` without a limit price of its own. */
  readonly price: bigint | undefined;
}

/**
 * Checks a command against a policy. Nothing is changed.
 *
 * @throws {@link PolicyError} if the policy does not allow it
 */
export function evaluate(command: InputData["command"], situation: Situation): Effects {
  const checking: Checking = { ...situation, command: command.case ?? "", parts: [], orders: 0 };
  switch (command.case) {
    case "orderCancellation":
    case "stopOrdersCancellation":
      break; // It can only lower what may be traded.
    case "orderSubmission":
      checkOrder(checking, command.value);
      break;
    case "orderAmendment":
      checkAmendment(checking, command.value);
      break;
    case "stopOrdersSubmission":
      checkStopOrders(checking, command.value);
      break;
    case "batchMarketInstructions":
      checkBatch(checking, command.value);
      break;
    default:
      checkNamed(checking, command.case);
  }
  const { maxOrdersPerMinute } = checking.policy;
  const inMinute = checking.signedInMinute + checking.orders;
  if (checking.orders > 0 && inMinute > maxOrdersPerMinute) {
    throw violation(checking, {
      rule: "maxOrdersPerMinute",
      limit: String(maxOrdersPerMinute),
      value: String(inMinute),
      what: `this would be order ${inMinute} within 60 seconds`,
      advice: "Send fewer orders, or raise the limit.",
    });
  }
  return { parts: checking.parts, orders: checking.orders };
}

/**
 * The parts of a batch are executed in the order of cancellations, amendments, submissions (v0.78.0, `ProcessBatch` in
 * core/processor/batch_market_instructions_processor.go). A cancellation gives no credit: it fails if the order was filled.
 */
function checkBatch(checking: Checking, batch: BatchMarketInstructions): void {
  if (batch.updateMarginMode.length > 0) {
    checkNamed(checking, "updateMarginMode");
  }
  for (const amendment of batch.amendments) {
    checkAmendment(checking, amendment);
  }
  for (const [index, submission] of batch.submissions.entries()) {
    checkOrder(checking, submission, index);
  }
  for (const [index, stopOrders] of batch.stopOrdersSubmission.entries()) {
    checkStopOrders(checking, stopOrders, index);
  }
}

function checkNamed(checking: Checking, name: string | undefined): void {
  requireMode(checking, "active");
  if (name === undefined || !isNamed(checking.policy, name)) {
    throw violation(checking, {
      rule: "commands",
      limit: checking.policy.commands.join(", "),
      value: name ?? "",
      what: `${name ?? "a command of an unknown type"} is not allowed`,
      advice: "If the command is safe, add its name to `commands`.",
    });
  }
}

function checkOrder(checking: Checking, order: OrderSubmission, index = 0): void {
  const { marketId, side, size, reduceOnly, type, peggedOrder } = order;
  const limits = limitsFor(checking, marketId);
  const isPegged = peggedOrder !== undefined;
  const price = type === Order_Type.LIMIT && !isPegged ? BigInt(order.price) : undefined;
  checking.orders += 1;
  checkSize(checking, limits, size);
  checkAmount(checking, { marketId, limits, side, size, price }, reduceOnly);
  const shared = { marketId, side, size, price: price ?? 0n, isPegged };
  checking.parts.push({ kind: "order", id: undefined, lookups: 0, index, ...shared, isReduceOnly: reduceOnly });
  if (reduceOnly) {
    requireMode(checking, "reducing");
  } else {
    checkVolume(checking, limits, marketId, side);
  }
}

function checkAmendment(checking: Checking, amendment: OrderAmendment): void {
  const { marketId, orderId, size, sizeDelta } = amendment;
  const limits = limitsFor(checking, marketId);
  const known = observedFor(checking).orders.get(orderId);
  const own = checking.unseen.find((part) => part.kind === "order" && part.id === orderId);
  const order = known ?? (own?.kind === "order" ? own : undefined);
  if (order === undefined || order.marketId !== marketId) {
    const what = `the key has no live order ${orderId} on market ${marketId}`;
    throw unknownState(checking, what, "Amend an order only after the node lists it.", orderId);
  }
  checking.orders += 1;
  const before = [...checking.unseen, ...checking.parts];
  const price = amendment.price === undefined ? undefined : BigInt(amendment.price);
  const pending = before.filter((part) => part.kind === "amendment" && part.orderId === orderId);
  const seenFrom = known === undefined || known.isPegged ? undefined : known.version + BigInt(pending.length) + 1n;
  checking.parts.push({ kind: "amendment", orderId, marketId, size, sizeDelta, price, seenFrom });
  const after = [...before, ...checking.parts.slice(-1)];
  const grown = order.size + growthOf(orderId, order.size, after);
  const isLarger = grown > order.size + growthOf(orderId, order.size, before);
  const movesPeg = amendment.peggedOffset !== "" || amendment.peggedReference !== 0;
  if (isLarger || price !== undefined || movesPeg) {
    checkSize(checking, limits, grown);
    const prices = after.flatMap((part) =>
      part.kind === "amendment" && part.orderId === orderId && part.price !== undefined ? [part.price] : [],
    );
    const [highest = 0n] = [price ?? order.price, ...prices].sort((a, b) => (a > b ? -1 : 1));
    const { side } = order;
    const amount = { marketId, limits, side, size: grown, price: order.isPegged ? undefined : highest };
    checkAmount(checking, amount, false);
    if (price !== undefined) {
      checkDistance(checking, marketId, limits, price);
    }
    checkVolume(checking, limits, marketId, side);
  } else {
    requireMode(checking, "reducing");
  }
}

/**
 * The order of a stop order must be reduce-only, also if it is submitted by its expiry (v0.78.0,
 * `SubmitStopOrdersWithIDGeneratorAndOrderIDs` in core/execution/future/market.go), so it opens no position. Its own size is
 * checked also if the network is to take the size of the position: it takes the order's own if the price is reached already.
 */
function checkStopOrders(checking: Checking, stopOrders: StopOrdersSubmission, index = 0): void {
  requireMode(checking, "reducing");
  for (const half of ["fallsBelow", "risesAbove"] as const) {
    const setup = stopOrders[half];
    if (setup === undefined) {
      continue;
    }
    const order = setup.orderSubmission;
    const limits = limitsFor(checking, order?.marketId ?? "");
    if (order === undefined || !order.reduceOnly) {
      throw violation(checking, {
        rule: "reduceOnly",
        limit: "true",
        value: "false",
        what: "the order of a stop order must be reduce-only",
        advice: "Set reduceOnly.",
      });
    }
    checking.orders += 1;
    const { marketId, side, size } = order;
    checkSize(checking, limits, size);
    const price = order.type === Order_Type.LIMIT ? BigInt(order.price) : undefined;
    checkNotional(checking, { marketId, limits, side, size, price });
    checking.parts.push({ kind: "stopOrder", id: undefined, lookups: 0, index, half });
  }
}

function checkSize(checking: Checking, { maxSize, sizeDecimals }: MarketLimits, size: bigint): void {
  if (size > maxSize) {
    const [limit, value] = [formatDecimal(maxSize, sizeDecimals), formatDecimal(size, sizeDecimals)];
    throw violation(checking, { rule: "maxSize", limit, value, what: `the size ${value} exceeds ${limit}` });
  }
}

/** Checks the notional of an order, and where it may trade. */
function checkAmount(checking: Checking, amount: Amount, reduceOnly: boolean): void {
  const { marketId, limits, price } = amount;
  checkNotional(checking, amount);
  if (price !== undefined) {
    checkDistance(checking, marketId, limits, price);
  } else if (limits.maxDistance !== undefined && !reduceOnly) {
    throw violation(checking, {
      rule: "maxDistance",
      limit: fractionText(limits.maxDistance),
      value: "",
      what: "a market order or a pegged order has no price of its own",
      advice: "Use a limit order with TIME_IN_FORCE_IOC instead of a market order.",
    });
  }
}

/** A sell order below the mark price trades at the market's price, not at its own. */
function checkNotional(checking: Checking, { marketId, limits, side, size, price }: Amount): void {
  const needsMark = price === undefined || side !== Side.BUY;
  const mark = needsMark ? markFor(checking, marketId) : 0n;
  const notional = size * (price !== undefined && price > mark ? price : mark);
  if (notional > limits.maxNotional) {
    const decimals = limits.priceDecimals + limits.sizeDecimals;
    const [limit, value] = [formatDecimal(limits.maxNotional, decimals), formatDecimal(notional, decimals)];
    throw violation(checking, { rule: "maxNotional", limit, value, what: `the notional ${value} exceeds ${limit}` });
  }
}

function checkDistance(checking: Checking, marketId: string, limits: MarketLimits, price: bigint): void {
  if (limits.maxDistance === undefined) {
    return;
  }
  const mark = markFor(checking, marketId);
  const [numerator, denominator] = limits.maxDistance;
  const distance = price > mark ? price - mark : mark - price;
  if (distance * denominator > numerator * mark) {
    const [of, at] = [formatDecimal(mark, limits.priceDecimals), formatDecimal(price, limits.priceDecimals)];
    const limit = fractionText(limits.maxDistance);
    const value = formatDecimal((distance * 10n ** 6n + mark - 1n) / mark, 6);
    const what = `the price ${at} is ${value} away from the mark price ${of}, which exceeds ${limit}`;
    throw violation(checking, { rule: "maxDistance", limit, value, what });
  }
}

/** Checks the worst case of a side: the position, and everything that may be filled, with the parts of this command. */
function checkVolume(checking: Checking, limits: MarketLimits, marketId: string, side: Side): void {
  const observed = observedFor(checking);
  const volume = openVolume(observed, [...checking.unseen, ...checking.parts], { marketId, side });
  const position = observed.positions.get(marketId) ?? 0n;
  const onSide = side === Side.BUY ? position : -position;
  if (checking.mode !== "active") {
    requireMode(checking, "reducing");
    const reducible = onSide < 0n ? -onSide : 0n;
    if (volume > reducible) {
      const { sizeDecimals } = limits;
      const [limit, value] = [formatDecimal(reducible, sizeDecimals), formatDecimal(volume, sizeDecimals)];
      throw violation(checking, {
        rule: "mode",
        limit,
        value,
        what: `the mode is reducing, and orders for ${value} would exceed the opposite position of ${limit}`,
        advice: "Use an order on the opposite side of the position, or a reduce-only order.",
      });
    }
  }
  const worst = (onSide > 0n ? onSide : 0n) + volume;
  if (worst > limits.maxPosition) {
    const { sizeDecimals, maxPosition } = limits;
    const [limit, value] = [formatDecimal(maxPosition, sizeDecimals), formatDecimal(worst, sizeDecimals)];
    const what = `the ${side === Side.BUY ? "long" : "short"} position could become ${value}, which exceeds ${limit}`;
    throw violation(checking, { rule: "maxPosition", limit, value, what });
  }
}

/** Requires that the mode is at most as strict as `mode`. */
function requireMode(checking: Checking, strictest: "active" | "reducing"): void {
  const { mode } = checking;
  if (mode === "halted" || (mode === "reducing" && strictest === "active")) {
    throw violation(checking, {
      rule: "mode",
      limit: strictest,
      value: mode,
      what: `the mode is ${mode}`,
      advice: mode === "halted" ? "Only cancellations are allowed." : "Only orders that reduce a position are allowed.",
    });
  }
}

function limitsFor(checking: Checking, marketId: string): MarketLimits {
  if (checking.mode === "halted") {
    requireMode(checking, "reducing");
  }
  const rules = checking.rules.get(marketId);
  switch (rules?.kind) {
    case "known":
      return rules.limits;
    case "missing":
      throw violation(checking, {
        rule: "markets",
        limit: "",
        value: marketId,
        what: `the node has no market ${marketId}`,
        advice: "Check the market ID.",
      });
    case "unknown": {
      const what = `the decimals of market ${marketId} are unknown: ${rules.why}`;
      throw unknownState(checking, what, "Try again when the node is reachable.", marketId);
    }
    default:
      throw violation(checking, {
        rule: "markets",
        limit: Object.keys(checking.policy.markets).join(", "),
        value: marketId,
        what: `market ${marketId} is not in the policy`,
        advice: "Add it to `markets`.",
      });
  }
}

function observedFor(checking: Checking): Observed {
  const { knowledge } = checking;
  if (knowledge.kind === "unknown") {
    throw unknownState(checking, knowledge.why, "Try again when the node is reachable.");
  }
  return knowledge.observed;
}

function markFor(checking: Checking, marketId: string): bigint {
  const mark = observedFor(checking).marks.get(marketId);
  if (mark === undefined) {
    throw unknownState(checking, `market ${marketId} has no mark price`, "Wait until the market has traded.");
  }
  return mark;
}

const fractionText = ([numerator, denominator]: readonly [bigint, bigint]) =>
  formatDecimal(numerator, String(denominator).length - 1);

function unknownState(checking: Checking, what: string, advice: string, value = ""): PolicyError {
  return violation(checking, { rule: "state", limit: "", value, what, advice });
}

function violation({ command }: Checking, { rule, limit, value, what, advice }: Violation): PolicyError {
  return new PolicyError({
    rule,
    limit,
    value,
    command,
    headline: `the policy does not allow ${command === "" ? "the command" : command}: ${what} (${rule})`,
    advice: `${advice ?? "Use a smaller value, or change the policy."} Nothing was signed.`,
  });
}
