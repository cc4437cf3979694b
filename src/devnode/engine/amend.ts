import type { OrderAmendment } from "../../../gen/vega/commands/v1/commands_pb.js";
import { type Order, Order_Status, Order_TimeInForce, OrderError } from "../../../gen/vega/vega_pb.js";
import { keepOrder, openSize, removeOrder } from "./book.js";
import { endOrders } from "./cancel.js";
import { larger, smaller, wholeMicroseconds } from "./decimal.js";
import { overflowReason, peggedReason, priceReason, sizeReason } from "./order-checks.js";
import { isOpen, type MarketState, noteExpiry, type Work } from "./state.js";
import { enterBook, placePegged, reasonName, wouldTradeAgainstPostOnly } from "./submit.js";

const { IOC, FOK, GTC, GTT, GFA, GFN } = Order_TimeInForce;

/**
 * Change an order that rests or is parked. It keeps its priority, unless its price changes or it grows: then it comes to the
 * book anew, and may trade. One that has nothing left is cancelled, and one whose new time has come expires.
 *
 * @param work the block
 * @param partyId who changes it
 * @param amendment the change
 * @returns the name of the reason for which the order stays as it is, if so: also where it is post-only and would trade
 */
export function amendOrder(work: Work, partyId: string, amendment: OrderAmendment): string | undefined {
  const market = work.state.markets.get(amendment.marketId.toLowerCase());
  const order = market?.orders.get(amendment.orderId.toLowerCase());
  const reason = refusal(market, order, partyId) ?? (order && amendmentReason(order, amendment));
  if (market === undefined || order === undefined || reason !== undefined) {
    return reasonName(reason ?? OrderError.INVALID_ORDER_ID);
  }
  const amended = amendedOrder(work, order, amendment);
  const wrong = priceReason(market, amended) ?? peggedReason(amended);
  if (wrong !== undefined) {
    return reasonName(wrong);
  }
  const ended =
    amended.remaining === 0n ? Order_Status.CANCELLED : hasExpired(work, amended) ? Order_Status.EXPIRED : 0;
  if (ended !== 0) {
    const { version, timeInForce, expiresAt } = amended;
    endOrders(work, market, [{ ...order, version, timeInForce, expiresAt }], ended);
    return undefined;
  }
  const tooLarge = sizeReason(amended.size);
  if (tooLarge !== undefined) {
    return reasonName(tooLarge);
  }
  return overflowReason(market, amended) ?? replaceOrder(work, market, order, amended);
}

function refusal(market: MarketState | undefined, order: Order | undefined, partyId: string): OrderError | undefined {
  if (market === undefined) {
    return OrderError.INVALID_MARKET_ID;
  }
  if (!isOpen(market)) {
    return OrderError.MARKET_CLOSED;
  }
  if (order === undefined) {
    return OrderError.INVALID_ORDER_ID;
  }
  return order.partyId === partyId ? undefined : OrderError.INVALID_PARTY_ID;
}

function amendmentReason(order: Order, amendment: OrderAmendment): OrderError | undefined {
  const { timeInForce, expiresAt, price, peggedOffset, peggedReference } = amendment;
  if (timeInForce === GTT && expiresAt === undefined) {
    return OrderError.CANNOT_AMEND_TO_GTT_WITHOUT_EXPIRYAT;
  }
  if (timeInForce === IOC || timeInForce === FOK) {
    return OrderError.CANNOT_AMEND_TO_FOK_OR_IOC;
  }
  if (timeInForce !== 0 && timeInForce !== order.timeInForce) {
    if (timeInForce === GFA || timeInForce === GFN) {
      return OrderError.CANNOT_AMEND_TO_GFA_OR_GFN;
    }
    if (order.timeInForce === GFA || order.timeInForce === GFN) {
      return OrderError.CANNOT_AMEND_FROM_GFA_OR_GFN;
    }
  }
  if (expiresAt !== undefined) {
    if ((timeInForce === 0 ? order.timeInForce : timeInForce) !== GTT) {
      return OrderError.CANNOT_HAVE_GTC_AND_EXPIRYAT;
    }
    if (expiresAt <= order.createdAt) {
      return OrderError.EXPIRYAT_BEFORE_CREATEDAT;
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
  const becomesGtc = timeInForce === GTC;
  return {
    ...resized(order, size === undefined ? sizeDelta : size - order.size),
    price: String(BigInt(price ?? order.price)),
    timeInForce: timeInForce === 0 ? order.timeInForce : timeInForce,
    expiresAt: becomesGtc ? 0n : expiresAt === undefined ? order.expiresAt : wholeMicroseconds(expiresAt),
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

function hasExpired({ block }: Work, { expiresAt }: Order): boolean {
  return expiresAt > 0n && expiresAt <= block.time;
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
    return reasonName(OrderError.POST_ONLY_ORDER_WOULD_TRADE);
  } else {
    removeOrder(market, order);
    enterBook(work, market, amended);
  }
  return undefined;
}
