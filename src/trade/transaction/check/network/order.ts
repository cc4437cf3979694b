import {
  Order_TimeInForce,
  Order_Type,
  PeggedReference,
  Side,
  StopOrder_ExpiryStrategy,
  StopOrder_SizeOverrideSetting,
} from "../../../../../gen/client/vega/vega_pb.js";
import type {
  BatchMarketInstructions,
  OrderAmendment,
  OrderSubmission,
  StopOrderSetup,
  StopOrdersCancellation,
  StopOrdersSubmission,
} from "../../../../../gen/vega/commands/v1/commands_pb.js";
import { compare, type Decimal, integer, signOf } from "./go-numbers.js";
import {
  above0To1,
  atMostBytes,
  decimalRule,
  Field,
  isId,
  knownEnum,
  MESSAGE,
  type NetworkProblem,
  type NetworkProblems,
  ONE,
  positiveInteger,
  required,
  requiredEnum,
  requiredId,
  requiredInteger,
} from "./network-rules.js";

/** The largest size of an order. */
const MAX_SIZE = (2n ** 63n - 1n) / 2n;

/** Orders of these kinds never rest on the book. */
const NON_PERSISTENT: readonly Order_TimeInForce[] = [Order_TimeInForce.IOC, Order_TimeInForce.FOK];

/** Pegged orders are of these kinds. */
const PEGGED: readonly Order_TimeInForce[] = [Order_TimeInForce.GTT, Order_TimeInForce.GTC, Order_TimeInForce.GFN];

/** Checks an order (`commands/order_submission.go`). */
export function* orderProblems(order: OrderSubmission, at: Field): NetworkProblems {
  yield* atMostBytes(at.field("reference"), order.reference, 100, MESSAGE.referenceTooLong);
  yield* requiredId(at.field("marketId"), order.marketId);
  yield* requiredEnum(at.field("side"), order.side, Side);
  yield* requiredEnum(at.field("type"), order.type, Order_Type);
  if (order.type === Order_Type.NETWORK) {
    yield at.field("type").problem("is unauthorised");
  }
  yield* requiredEnum(at.field("timeInForce"), order.timeInForce, Order_TimeInForce);
  if (order.size === 0n) {
    yield at.field("size").problem(MESSAGE.positive);
  } else if (order.size > MAX_SIZE) {
    yield at.field("size").problem("size is too large");
  }
  if (order.timeInForce !== Order_TimeInForce.GTT && order.expiresAt !== 0n) {
    yield at.field("expiresAt").problem("is only available when the time in force is of type GTT");
  } else if (order.timeInForce === Order_TimeInForce.GTT && order.expiresAt <= 0n) {
    yield at.field("expiresAt").problem(MESSAGE.positive);
  }
  yield* executionProblems(order, at);
  yield* icebergProblems(order, at);
  if (order.peggedOrder !== undefined) {
    yield* peggedProblems(order, order.peggedOrder, at);
  } else {
    yield* priceProblems(order, at);
  }
}

function* executionProblems(
  { postOnly, reduceOnly, type, timeInForce, peggedOrder }: OrderSubmission,
  at: Field,
): NetworkProblems {
  const isPersistent = !NON_PERSISTENT.includes(timeInForce);
  if (postOnly && reduceOnly) {
    yield at.field("postOnly").problem("cannot be true at the same time as order_submission.reduce_only");
  } else if (postOnly) {
    if (type !== Order_Type.LIMIT) {
      yield at.field("postOnly").problem("only valid for limit orders");
    }
    if (!isPersistent) {
      yield at.field("postOnly").problem("only valid for persistent orders");
    }
  } else if (reduceOnly) {
    if (isPersistent) {
      yield at.field("reduceOnly").problem("only valid for non-persistent orders");
    }
    if (peggedOrder !== undefined) {
      yield at.field("reduceOnly").problem("cannot be pegged");
    }
  }
}

function* icebergProblems(
  { icebergOpts, size, type, timeInForce, reduceOnly }: OrderSubmission,
  at: Field,
): NetworkProblems {
  if (icebergOpts === undefined) {
    return;
  }
  const { peakSize, minimumVisibleSize } = icebergOpts;
  const iceberg = at.field("icebergOpts");
  if (peakSize < minimumVisibleSize) {
    yield iceberg.field("peakSize").problem("must be >= order_submission.iceberg_opts.minimum_visible_size");
  }
  if (minimumVisibleSize <= 0n) {
    yield iceberg.field("minimumVisibleSize").problem(MESSAGE.positive);
  }
  if (peakSize > size) {
    yield iceberg.field("peakSize").problem("must be <= order_submission.size");
  }
  if (type !== Order_Type.LIMIT) {
    yield at.field("type").problem("iceberg order must be of type LIMIT");
  }
  if (NON_PERSISTENT.includes(timeInForce)) {
    yield at.field("timeInForce").problem("iceberg order must be a persistent order");
  }
  if (reduceOnly) {
    yield at.field("reduceOnly").problem("iceberg order must not be reduce-only");
  }
}

function* peggedProblems(
  { side, type, timeInForce }: OrderSubmission,
  { reference, offset }: NonNullable<OrderSubmission["peggedOrder"]>,
  at: Field,
): NetworkProblems {
  const { BEST_ASK, BEST_BID, MID } = PeggedReference;
  const pegged = at.field("peggedOrder");
  yield* requiredEnum(pegged.field("reference"), reference, PeggedReference);
  if (type !== Order_Type.LIMIT) {
    yield at.field("type").problem("is expected to be an order of type LIMIT when the order is pegged");
  }
  if (!PEGGED.includes(timeInForce)) {
    const message = "is expected to have a time in force of type GTT, GTC or GFN when the order is pegged";
    yield at.field("timeInForce").problem(message);
  }
  const isBuy = side === Side.BUY;
  if (reference === (isBuy ? BEST_ASK : BEST_BID)) {
    const [name, word] = isBuy ? ["BEST_ASK", "BUY"] : ["BEST_BID", "SELL"];
    yield pegged.field("reference").problem(`cannot have a reference of type ${name} when on ${word} side`);
  } else if (reference === MID || reference === BEST_BID || reference === BEST_ASK) {
    const value = integer(offset);
    const least = reference === MID ? 1n : 0n;
    if (value === undefined) {
      yield pegged.field("offset").problem(MESSAGE.notAnInteger);
    } else if (value < least) {
      yield pegged.field("offset").problem(reference === MID ? MESSAGE.positive : MESSAGE.positiveOrZero);
    }
  }
}

function* priceProblems({ type, price, timeInForce }: OrderSubmission, at: Field): NetworkProblems {
  if (type === Order_Type.MARKET) {
    if (price !== "") {
      yield at.field("price").problem("is unavailable when the order is of type MARKET");
    }
    if (!NON_PERSISTENT.includes(timeInForce)) {
      yield at.field("timeInForce").problem("is expected to be of type FOK or IOC when order is of type MARKET");
    }
  } else if (type === Order_Type.LIMIT) {
    const value = integer(price);
    if (price === "") {
      yield at.field("price").problem("is required when the order is of type LIMIT");
    } else if (value === undefined) {
      yield at.field("price").problem(MESSAGE.notAnInteger);
    } else if (value <= 0n) {
      yield at.field("price").problem("must be positive when the order is of type LIMIT");
    }
  }
}

/** Checks the amendment of an order (`commands/order_amendment.go`). */
export function* orderAmendmentProblems(amendment: OrderAmendment, at: Field): NetworkProblems {
  const { price, size, sizeDelta, timeInForce, expiresAt, peggedOffset, peggedReference } = amendment;
  yield* requiredId(at.field("orderId"), amendment.orderId);
  yield* requiredId(at.field("marketId"), amendment.marketId);
  yield* amendedTimeProblems(amendment, at);
  if (price !== undefined) {
    const value = integer(price);
    if (value === undefined || value <= 0n) {
      yield at.field("price").problem(value === undefined ? MESSAGE.notAnInteger : MESSAGE.required);
    }
  }
  if (size !== undefined && size > MAX_SIZE) {
    yield at.field("size").problem("size is too large");
  }
  if (size !== undefined && sizeDelta !== 0n) {
    yield at.field("sizeDelta").problem('must be set to 0 if the property "order_amendment.size" is set');
  }
  yield* knownEnum(at.field("peggedReference"), peggedReference, PeggedReference);
  if (peggedOffset !== "") {
    yield* requiredInteger(at.field("peggedOffset"), peggedOffset, positiveInteger, MESSAGE.notAnInteger);
  }
  const values = [price, size, sizeDelta || undefined, timeInForce || undefined, peggedReference || undefined];
  const amends = values.some((value) => value !== undefined) || peggedOffset !== "" || (expiresAt ?? 0n) > 0n;
  if (!amends) {
    yield at.general("order_amendment does not amend anything");
  }
}

function* amendedTimeProblems({ timeInForce, expiresAt }: OrderAmendment, at: Field): NetworkProblems {
  const { GFA, GFN, GTT, UNSPECIFIED } = Order_TimeInForce;
  if (timeInForce === GFA || timeInForce === GFN) {
    yield at.field("timeInForce").problem(`cannot amend to time in force ${timeInForce === GFA ? "GFA" : "GFN"}`);
  }
  if (timeInForce === GTT && expiresAt === undefined) {
    yield at.field("timeInForce").problem("GTT order without expiry");
  }
  yield* knownEnum(at.field("timeInForce"), timeInForce, Order_TimeInForce);
  if ((expiresAt ?? 0n) > 0n && timeInForce !== GTT && timeInForce !== UNSPECIFIED) {
    yield at.field("expiresAt").problem("non GTT order with expiry");
  }
}

/** Checks the submission of stop orders (`commands/stop_orders_submission.go`). */
export function* stopOrdersProblems({ risesAbove, fallsBelow }: StopOrdersSubmission, at: Field): NetworkProblems {
  const isPair = risesAbove !== undefined && fallsBelow !== undefined;
  // The network names most fields of one half wrongly.
  const halves = [
    [fallsBelow, at.field("fallsBelow"), at.field("fallsBelow")],
    [risesAbove, at.field("risesAbove").named(at.field("risesBelow").property), at.field("risesAbove")],
  ] as const;
  for (const [setup, field, named] of halves) {
    if (setup === undefined) {
      continue;
    }
    yield* setupProblems(setup, field, isPair);
    const share = shareProblem(setup, named.field("sizeOverrideValue"));
    if (share !== undefined) {
      yield share;
      return;
    }
  }
  if (risesAbove === undefined && fallsBelow === undefined) {
    yield at.general("must have at least one of rises above or falls below");
  } else if (isPair && (risesAbove.orderSubmission?.marketId ?? "") !== (fallsBelow.orderSubmission?.marketId ?? "")) {
    yield at.general("market ID for falls below and rises above must be the same");
  }
}

/** Finds a problem with the share of a position that is the size of a stop order: the network stops there. */
function shareProblem(
  { orderSubmission, sizeOverrideSetting, sizeOverrideValue }: StopOrderSetup,
  at: Field,
): NetworkProblem | undefined {
  const isShare = sizeOverrideSetting === StopOrder_SizeOverrideSetting.POSITION;
  if (orderSubmission === undefined || !isShare || sizeOverrideValue === undefined) {
    return undefined;
  }
  const [problem] = decimalRule(at, sizeOverrideValue.percentage, above0To1);
  return problem;
}

function* setupProblems(setup: StopOrderSetup, at: Field, isPair: boolean): NetworkProblems {
  const { orderSubmission: order, expiresAt, expiryStrategy } = setup;
  const path = at.field("orderSubmission").path;
  const orderField = new Field(path, "order_submission"); // So does the network name it in stop orders, too.
  if (order === undefined) {
    yield orderField.problem(MESSAGE.required);
  } else {
    yield* orderProblems(order, orderField);
  }
  if (order?.timeInForce === Order_TimeInForce.GFA) {
    yield at.field("orderSubmission").field("timeInForce").problem(MESSAGE.notValid);
  }
  if (expiresAt !== undefined) {
    const strategy = at.field("expiryStrategy");
    if (expiresAt < 0n) {
      yield at.field("expiresAt").problem(MESSAGE.positive);
    }
    if (expiryStrategy === undefined) {
      yield strategy.problem("expiry strategy required when expires_at set");
    } else if (isPair && expiryStrategy === StopOrder_ExpiryStrategy.SUBMIT) {
      yield strategy.problem("is not a valid with one cancel other");
    } else {
      yield* requiredEnum(strategy, expiryStrategy, StopOrder_ExpiryStrategy);
    }
  }
  yield* triggerProblems(setup.trigger, at);
}

function* triggerProblems(trigger: StopOrderSetup["trigger"], at: Field): NetworkProblems {
  if (trigger.case === undefined) {
    yield at.field("trigger").problem("must have a stop order trigger");
    return;
  }
  const field = at.field(trigger.case).named(at.field("trigger").field(trigger.case).property);
  if (trigger.case === "price") {
    yield* requiredInteger(field, trigger.value, positiveInteger, MESSAGE.notAnInteger);
  } else if (trigger.value === "") {
    yield* required(field, trigger.value);
  } else {
    yield* decimalRule(field, trigger.value, refuseTrailingOffset, MESSAGE.notAFloat);
  }
}

function refuseTrailingOffset(offset: Decimal): string | undefined {
  if (signOf(offset) <= 0 || compare(offset, ONE) >= 0) {
    return MESSAGE.from0To1;
  }
  const decimals = Math.max(-offset.exponent, 0);
  const isThousandth = decimals <= 3 || offset.value % 10n ** BigInt(decimals - 3) === 0n;
  return isThousandth ? undefined : "trailing percent offset minimal increment must be >= 0.001";
}

/** Checks the cancellation of stop orders (`commands/stop_orders_cancellation.go`). */
export function* stopOrdersCancellationProblems(command: StopOrdersCancellation, at: Field): NetworkProblems {
  for (const name of ["marketId", "stopOrderId"] as const) {
    const id = command[name] ?? "";
    if (id !== "" && !isId(id)) {
      yield at.field(name).problem(MESSAGE.id);
    }
  }
}

/**
 * Checks a batch of instructions (`commands/batch_market_instructions.go`). Its content is checked when it is executed.
 */
export function* batchProblems(batch: BatchMarketInstructions, at: Field): NetworkProblems {
  const lists = [
    batch.cancellations,
    batch.amendments,
    batch.submissions,
    batch.stopOrdersSubmission,
    batch.stopOrdersCancellation,
    batch.updateMarginMode,
  ];
  if (lists.every(({ length }) => length === 0)) {
    yield at.problem("empty batch market instructions");
  }
}
