import type { OrderAmendment } from "../../../gen/vega/commands/v1/commands_pb.js";
import { type Order, Order_Status, Order_TimeInForce, OrderError } from "../../../gen/vega/vega_pb.js";
import { keepOrder, openSize, removeOrder } from "./book.js";
import { endOrders } from "./cancel.js";
import { larger, smaller, wholeMicroseconds } from "./decimal.js";
import { coverOrder } from "./margins.js";
import { overflowReason, peggedReason, sizeReason, tickReason } from "./order-checks.js";
import { MARGIN_CHECK_FAILED, orderErrorText, TRADING_NOT_ALLOWED } from "./order-errors.js";
import { repricePegged } from "./pegs.js";
import { isOpen, type MarketState, noteExpiry, type Work } from "./state.js";
import { enterBook, placePegged, wouldTradeAgainstPostOnly } from "./submit.js";

const { IOC, FOK, GTC, GTT, GFA, GFN } = Order_TimeInForce;

/**
 * Amends an order that rests or is parked (v0.78.0, `core/execution/future/market.go`, amendOrder). It keeps its priority,
 * unless its price changes or it grows: then it enters the book anew, and may trade. One that has nothing left is cancelled,
 * and one whose new time has come expires.
 *
 * @param work the block
 * @param partyId who amends it
 * @param amendment the amendment
 * @returns why the order stays as it is, if so: also where it is post-only and would trade
 */
export function amendOrder(work: Work, partyId: string, amendment: OrderAmendment): string | undefined {
  const market = work.state.markets.get(amendment.marketId.toLowerCase());
  if (market === undefined) {
    return orderErrorText(OrderError.INVALID_MARKET_ID);
  }
  if (!isOpen(market)) {
    return TRADING_NOT_ALLOWED;
  }
  const order = market.orders.get(amendment.orderId.toLowerCase());
  if (order === undefined) {
    return orderErrorText(OrderError.INVALID_ORDER_ID);
  }
  if (order.partyId !== partyId) {
    return orderErrorText(OrderError.INVALID_PARTY_ID);
  }
  const reason = amendmentReason(order, amendment);
  if (reason !== undefined) {
    return orderErrorText(reason);
  }
  const amended = amendedOrder(work, order, amendment);
  const wrong = peggedReason(amended) ?? (amendment.price === undefined ? undefined : tickReason(market, amended));
  return wrong === undefined
    ? (overflowReason(market, amended) ?? applyAmendment(work, market, order, amended))
    : orderErrorText(wrong);
}

/** Put an amendment that is well-formed into effect. */
function applyAmendment(work: Work, market: MarketState, order: Order, amended: Order): string | undefined {
  const { expiresAt, remaining, size } = amended;
  if (remaining === 0n) {
    endOrders(work, market, [order], Order_Status.CANCELLED);
    return undefined;
  }
  if (expiresAt !== 0n && expiresAt < order.createdAt) {
    return orderErrorText(OrderError.INVALID_EXPIRATION_DATETIME);
  }
  if (expiresAt !== 0n && expiresAt < work.block.time) {
    // Unlike an order that expires by itself, the network tells this one as an order.
    removeOrder(market, order);
    work.emit({ case: "order", value: { ...amended, status: Order_Status.EXPIRED } });
    repricePegged(work, market);
    return undefined;
  }
  const tooLarge = sizeReason(size);
  if (tooLarge !== undefined) {
    return orderErrorText(tooLarge);
  }
  if (isChanged(order, amended) && amended.peggedOrder === undefined && !coverOrder(work, market, amended)) {
    return MARGIN_CHECK_FAILED;
  }
  return replaceOrder(work, market, order, amended);
}

/** Whether an amendment changes anything that margin depends on, or the time; one that does not only counts a version. */
function isChanged(order: Order, amended: Order): boolean {
  return (["price", "size", "expiresAt", "timeInForce"] as const).some((field) => order[field] !== amended[field]);
}

function amendmentReason(order: Order, amendment: OrderAmendment): OrderError | undefined {
  const { timeInForce, expiresAt, price, peggedOffset, peggedReference } = amendment;
  if (timeInForce === GTT && expiresAt === undefined) {
    return OrderError.CANNOT_AMEND_TO_GTT_WITHOUT_EXPIRYAT;
  }
  if (timeInForce === GTC && expiresAt !== undefined) {
    return OrderError.CANNOT_HAVE_GTC_AND_EXPIRYAT;
  }
  if (timeInForce === IOC || timeInForce === FOK) {
    return OrderError.CANNOT_AMEND_TO_FOK_OR_IOC;
  }
  if (timeInForce === GTT && expiresAt !== undefined && expiresAt <= order.createdAt) {
    return OrderError.EXPIRYAT_BEFORE_CREATEDAT;
  }
  if (timeInForce !== 0 && timeInForce !== order.timeInForce) {
    if (timeInForce === GFA || timeInForce === GFN) {
      return OrderError.CANNOT_AMEND_TO_GFA_OR_GFN;
    }
    if (order.timeInForce === GFA || order.timeInForce === GFN) {
      return OrderError.CANNOT_AMEND_FROM_GFA_OR_GFN;
    }
  }
  if (order.peggedOrder === undefined) {
    const isPegged = peggedOffset !== "" || peggedReference !== 0;
    return isPegged ? OrderError.CANNOT_AMEND_PEGGED_ORDER_DETAILS_ON_NON_PEGGED_ORDER : undefined;
  }
  return price === undefined ? undefined : OrderError.UNABLE_TO_AMEND_PRICE_ON_PEGGED_ORDER;
}

/** The order as the amendment leaves it, before it trades. */
function amendedOrder({ block }: Work, order: Order, amendment: OrderAmendment): Order {
  const { timeInForce, expiresAt, price, peggedOffset, peggedReference, size, sizeDelta } = amendment;
  const { peggedOrder } = order;
  const kept = timeInForce === 0 || timeInForce === GTT ? order.expiresAt : 0n;
  return {
    ...resized(order, size === undefined ? sizeDelta : size - order.size),
    price: String(BigInt(price ?? order.price)),
    timeInForce: timeInForce === 0 ? order.timeInForce : timeInForce,
    expiresAt: expiresAt === undefined ? kept : wholeMicroseconds(expiresAt),
    ...(peggedOrder && {
      peggedOrder: {
        ...peggedOrder,
        reference: peggedReference === 0 ? peggedOrder.reference : peggedReference,
        offset: String(BigInt(peggedOffset === "" ? peggedOrder.offset : peggedOffset)),
      },
    }),
    version: order.version + 1n,
    updatedAt: block.time,
  };
}

/** Change the size of an order, and what it has left. What an iceberg hides grows and goes first. */
function resized(order: Order, delta: bigint): Order {
  const { icebergOrder, remaining } = order;
  const size = order.size + delta;
  if (icebergOrder === undefined) {
    return { ...order, size, remaining: larger(remaining + delta, 0n) };
  }
  const hidden = icebergOrder.reservedRemaining + delta;
  return {
    ...order,
    size,
    remaining: larger(remaining + smaller(hidden, 0n), 0n),
    icebergOrder: { ...icebergOrder, reservedRemaining: larger(hidden, 0n) },
  };
}

function replaceOrder(work: Work, market: MarketState, order: Order, amended: Order): string | undefined {
  const isRepegged =
    amended.peggedOrder?.offset !== order.peggedOrder?.offset ||
    amended.peggedOrder?.reference !== order.peggedOrder?.reference;
  const isNew = isRepegged || BigInt(amended.price) !== BigInt(order.price) || openSize(amended) > openSize(order);
  if (!isNew) {
    keepOrder(market, amended);
    noteExpiry(market, amended.expiresAt);
    work.emit({ case: "order", value: amended });
  } else if (amended.peggedOrder !== undefined) {
    removeOrder(market, order);
    placePegged(work, market, amended);
  } else if (wouldTradeAgainstPostOnly(market, amended)) {
    return "couldn't insert order in book";
  } else {
    removeOrder(market, order);
    enterBook(work, market, amended);
  }
  return undefined;
}
