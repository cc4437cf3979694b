import {
  Order_TimeInForce,
  Order_Type,
  PeggedReference,
  Side,
  StopOrder_ExpiryStrategy,
  StopOrder_SizeOverrideSetting,
} from "../../../../gen/client/vega/vega_pb.js";
import type {
  OrderAmendment,
  OrderCancellation,
  OrderSubmission,
  StopOrderSetup,
  StopOrdersCancellation,
  StopOrdersSubmission,
} from "../../../../gen/vega/commands/v1/commands_pb.js";
import {
  betweenZeroAndOne,
  both,
  fieldProblems,
  identifier,
  known,
  nonEmpty,
  optional,
  type Problem,
  positive,
  positiveDecimal,
  positiveWhole,
  reference,
  specified,
  whereSet,
  whole,
} from "./field-rules.js";

/** The largest size of an order. */
const MAX_SIZE = (2n ** 63n - 1n) / 2n;

/** Orders of these kinds never rest on the book. */
const NON_PERSISTENT: readonly Order_TimeInForce[] = [Order_TimeInForce.IOC, Order_TimeInForce.FOK];

export function* orderProblems(order: OrderSubmission, at: string): Generator<Problem> {
  yield* orderProblemsWithoutSize(order, at);
  yield* fieldProblems(order, { size: both(positive, notTooLarge) }, at);
  const peakSize = order.icebergOpts?.peakSize ?? 0n;
  if (peakSize > order.size) {
    yield { path: `${at}.icebergOpts.peakSize`, message: `must not exceed size, ${order.size}` };
  }
}

function notTooLarge(size: bigint): string | undefined {
  return size > MAX_SIZE ? `must be at most ${MAX_SIZE} (got ${size})` : undefined;
}

/** Checks an order without its size, for a stop order whose size is a share of the position. */
function* orderProblemsWithoutSize(order: OrderSubmission, at: string): Generator<Problem> {
  const wrong = (field: string, message: string): Problem => ({ path: `${at}.${field}`, message });
  const { type, timeInForce, price, expiresAt, peggedOrder, icebergOpts } = order;
  const isPersistent = !NON_PERSISTENT.includes(timeInForce);
  yield* fieldProblems(order, { marketId: identifier, side: specified, timeInForce: specified, type: specified }, at);
  yield* fieldProblems(
    order,
    { side: known(Side), timeInForce: known(Order_TimeInForce), type: known(Order_Type), reference },
    at,
  );
  if (type === Order_Type.NETWORK) {
    yield wrong("type", "must not be TYPE_NETWORK, which parties cannot submit");
  }
  if (price !== "") {
    yield* fieldProblems(order, { price: positiveWhole }, at);
  } else if (type === Order_Type.LIMIT && peggedOrder === undefined) {
    yield wrong("price", "is required for a limit order");
  }
  if (timeInForce === Order_TimeInForce.GTT) {
    if (expiresAt <= 0n) {
      yield wrong("expiresAt", "is required with TIME_IN_FORCE_GTT, in Unix nanoseconds");
    }
  } else if (expiresAt !== 0n) {
    yield wrong("expiresAt", "must be set only with TIME_IN_FORCE_GTT");
  }
  if (order.postOnly && type !== Order_Type.LIMIT) {
    yield wrong("postOnly", "is valid only for limit orders");
  }
  if (order.reduceOnly && isPersistent) {
    yield wrong("reduceOnly", "is valid only for non-persistent orders: TIME_IN_FORCE_IOC or TIME_IN_FORCE_FOK");
  }
  if (icebergOpts !== undefined) {
    const iceberg = `${at}.icebergOpts`;
    yield* fieldProblems(icebergOpts, { peakSize: positive, minimumVisibleSize: positive }, iceberg);
    if (icebergOpts.minimumVisibleSize > icebergOpts.peakSize) {
      yield { path: `${iceberg}.minimumVisibleSize`, message: `must not exceed peakSize, ${icebergOpts.peakSize}` };
    }
    if (type !== Order_Type.LIMIT || !isPersistent) {
      yield wrong("icebergOpts", "is valid only for limit orders that rest on the book");
    }
  }
  if (peggedOrder !== undefined) {
    const pegged = `${at}.peggedOrder`;
    yield* fieldProblems(
      peggedOrder,
      {
        reference: both(specified, known(PeggedReference)),
        // An order may be pegged to the best price of its own side without an offset.
        offset: peggedOrder.reference === PeggedReference.MID ? positiveWhole : both(nonEmpty, whole),
      },
      pegged,
    );
    if (type !== Order_Type.LIMIT || !isPersistent) {
      yield wrong("peggedOrder", "is valid only for limit orders that rest on the book");
    }
    const { BEST_ASK, BEST_BID } = PeggedReference;
    const other = order.side === Side.BUY ? BEST_ASK : order.side === Side.SELL ? BEST_BID : undefined;
    if (peggedOrder.reference === other) {
      yield {
        path: `${pegged}.reference`,
        message: "must not be the best price of the other side, with which the order would trade",
      };
    }
  }
}

export function orderCancellationProblems(cancellation: OrderCancellation, at: string): Iterable<Problem> {
  return fieldProblems(cancellation, { orderId: optional(identifier), marketId: optional(identifier) }, at);
}

export function* orderAmendmentProblems(amendment: OrderAmendment, at: string): Generator<Problem> {
  const wrong = (field: string, message: string): Problem => ({ path: `${at}.${field}`, message });
  const { timeInForce, expiresAt, sizeDelta, size } = amendment;
  yield* fieldProblems(
    amendment,
    {
      orderId: identifier,
      marketId: identifier,
      price: whereSet(positiveWhole),
      peggedOffset: optional(positiveWhole),
      peggedReference: known(PeggedReference),
      timeInForce: known(Order_TimeInForce),
    },
    at,
  );
  const { price, peggedOffset, peggedReference } = amendment;
  const hasValue = price !== undefined || size !== undefined || sizeDelta !== 0n || (expiresAt ?? 0n) > 0n;
  if (!hasValue && timeInForce === 0 && peggedOffset === "" && peggedReference === 0) {
    yield { path: at, message: "must change at least one field" };
  }
  if (size !== undefined && sizeDelta !== 0n) {
    yield wrong("sizeDelta", "cannot be combined with size");
  }
  if (size === 0n) {
    yield wrong("size", "must be positive (got 0)");
  }
  if (timeInForce === Order_TimeInForce.GFA || timeInForce === Order_TimeInForce.GFN) {
    yield wrong("timeInForce", "cannot be changed to TIME_IN_FORCE_GFA or TIME_IN_FORCE_GFN");
  }
  if (timeInForce === Order_TimeInForce.GTT && (expiresAt ?? 0n) <= 0n) {
    yield wrong("expiresAt", "is required with TIME_IN_FORCE_GTT, in Unix nanoseconds");
  }
  const leavesExpiry = timeInForce === Order_TimeInForce.GTT || timeInForce === Order_TimeInForce.UNSPECIFIED;
  if (expiresAt !== undefined && !leavesExpiry) {
    yield wrong("expiresAt", "must be set only with TIME_IN_FORCE_GTT");
  }
}

export function* stopOrdersProblems(submission: StopOrdersSubmission, at: string): Generator<Problem> {
  const { risesAbove, fallsBelow } = submission;
  if (risesAbove === undefined && fallsBelow === undefined) {
    yield { path: at, message: "must contain risesAbove, fallsBelow or both" };
  }
  if (risesAbove !== undefined) {
    yield* setupProblems(risesAbove, `${at}.risesAbove`);
  }
  if (fallsBelow !== undefined) {
    yield* setupProblems(fallsBelow, `${at}.fallsBelow`);
  }
  if (risesAbove !== undefined && fallsBelow !== undefined) {
    for (const [half, { expiryStrategy }] of Object.entries({ risesAbove, fallsBelow })) {
      if (expiryStrategy === StopOrder_ExpiryStrategy.SUBMIT) {
        const message = "must not be EXPIRY_STRATEGY_SUBMIT in a pair";
        yield { path: `${at}.${half}.expiryStrategy`, message };
      }
    }
  }
  const market = risesAbove?.orderSubmission?.marketId;
  const otherMarket = fallsBelow?.orderSubmission?.marketId;
  if (market !== undefined && otherMarket !== undefined && market !== otherMarket) {
    yield { path: `${at}.fallsBelow.orderSubmission.marketId`, message: "must be the market of risesAbove" };
  }
}

export function stopOrdersCancellationProblems(cancellation: StopOrdersCancellation, at: string): Iterable<Problem> {
  return fieldProblems(cancellation, { marketId: optional(identifier), stopOrderId: optional(identifier) }, at);
}

function* setupProblems(setup: StopOrderSetup, at: string): Generator<Problem> {
  const { orderSubmission, trigger, expiresAt, expiryStrategy, sizeOverrideSetting, sizeOverrideValue } = setup;
  const wrong = (field: string, message: string): Problem => ({ path: `${at}.${field}`, message });
  const fromPosition = sizeOverrideSetting === StopOrder_SizeOverrideSetting.POSITION;
  if (orderSubmission === undefined) {
    yield wrong("orderSubmission", "is required");
  } else {
    yield* (fromPosition ? orderProblemsWithoutSize : orderProblems)(orderSubmission, `${at}.orderSubmission`);
  }
  if (trigger.case === undefined) {
    yield wrong("price", "is required without trailingPercentOffset");
  } else {
    const message = (trigger.case === "price" ? positiveWhole : betweenZeroAndOne)(trigger.value);
    if (message !== undefined) {
      yield wrong(trigger.case, message);
    }
  }
  const strategies = { expiryStrategy: known(StopOrder_ExpiryStrategy) };
  yield* fieldProblems(setup, { ...strategies, sizeOverrideSetting: known(StopOrder_SizeOverrideSetting) }, at);
  if (expiresAt !== undefined) {
    if (expiresAt <= 0n) {
      yield wrong("expiresAt", `must be a time in Unix nanoseconds (got ${expiresAt})`);
    }
    if ((expiryStrategy ?? StopOrder_ExpiryStrategy.UNSPECIFIED) === StopOrder_ExpiryStrategy.UNSPECIFIED) {
      yield wrong("expiryStrategy", "is required with expiresAt");
    }
  }
  if (fromPosition && sizeOverrideValue === undefined) {
    yield wrong("sizeOverrideValue", "is required with SIZE_OVERRIDE_SETTING_POSITION");
  }
  if (sizeOverrideValue !== undefined) {
    if (!fromPosition) {
      yield wrong("sizeOverrideValue", "must be set only with SIZE_OVERRIDE_SETTING_POSITION");
    }
    yield* fieldProblems(sizeOverrideValue, { percentage: positiveDecimal }, `${at}.sizeOverrideValue`);
  }
}
