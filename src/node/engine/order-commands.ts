import { create } from "@bufbuild/protobuf";
import type { OrderAmendment, OrderCancellation, OrderSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import { CancelledOrdersSchema, ExpiredOrdersSchema } from "../../../gen/vega/events/v1/events_pb.js";
import {
  IcebergOrderSchema,
  type Order,
  Order_Status,
  Order_TimeInForce,
  Order_Type,
  OrderError,
  OrderSchema,
  PeggedOrderSchema,
} from "../../../gen/vega/vega_pb.js";
import { max, min } from "../../base/bigints.js";
import { openGeneralAccount } from "./collateral.js";
import { type ExecutionContext, isContinuous, isOpen, type MarketState, trackExpiry } from "./engine-state.js";
import { truncateToMicroseconds } from "./fixed-point.js";
import {
  collectOrderMargin,
  emitMarginLevels,
  enterMarket,
  recheckMargin,
  reducesExposure,
  releaseMargin,
} from "./margins.js";
import {
  addToBook,
  deleteOrder,
  filledSize,
  findFills,
  type MatchResult,
  refreshIceberg,
  storeOrder,
  trueRemaining,
} from "./order-book.js";
import {
  isPersistent,
  MARGIN_CHECK_FAILED,
  ORDER_NOT_FOUND,
  orderErrorText,
  orderRejection,
  overflowError,
  peggedOrderError,
  sizeError,
  TRADING_NOT_ALLOWED,
  tickSizeError,
  tradableSize,
} from "./order-validation.js";
import { parkedOrder, peggedPrice, referencesOf, repricePegged } from "./pegged-orders.js";
import { canPayFees, executeTrades, feesOf } from "./trades.js";

/**
 * Submits an order. It trades as much as it can, and the rest stays on the book or is stopped. Rejected orders are
 * emitted with their reason, and so are orders that are stopped before they reach the book: post-only orders that
 * would trade, and reduce-only orders that would not reduce a position.
 */
export function submitOrder(
  context: ExecutionContext,
  partyId: string,
  submission: OrderSubmission,
  id: string,
): string | undefined {
  const order = orderOf(context, partyId, submission, id);
  const market = context.state.markets.get(order.marketId);
  if (market === undefined) {
    return orderErrorText(OrderError.INVALID_MARKET_ID); // The network creates no order in this case.
  }
  openGeneralAccount(context, partyId, market.asset);
  const rejection = orderRejection(market, order);
  if (rejection !== undefined) {
    const { reason, text } = rejection;
    context.emit({ case: "order", value: { ...order, status: Order_Status.REJECTED, ...(reason && { reason }) } });
    return text;
  }
  enterMarket(context, market, partyId);
  const overflow = overflowError(market, order);
  if (overflow !== undefined) {
    return overflow; // The network creates no order in this case.
  }
  if (order.peggedOrder !== undefined && peggedPrice(market, order, referencesOf(market)) === undefined) {
    placePeggedOrder(context, market, order);
    return undefined;
  }
  return placeValidOrder(context, market, order);
}

/** Collects the margin of a valid order and places it (submitValidatedOrder). */
function placeValidOrder(context: ExecutionContext, market: MarketState, order: Order): string | undefined {
  if (tradableSize(market, order) === 0n) {
    return rejectOrder(context, order, OrderError.REDUCE_ONLY_ORDER_WOULD_NOT_REDUCE_POSITION);
  }
  if (!order.reduceOnly && !reducesExposure(market, order) && !collectOrderMargin(context, market, order)) {
    rejectOrder(context, order, OrderError.MARGIN_CHECK_FAILED);
    return MARGIN_CHECK_FAILED;
  }
  const error = tryEnterBook(context, market, order);
  releaseMargin(context, market, order.partyId);
  return error;
}

function tryEnterBook(context: ExecutionContext, market: MarketState, order: Order): string | undefined {
  if (order.peggedOrder !== undefined) {
    placePeggedOrder(context, market, order);
    return undefined;
  }
  if (violatesPostOnly(market, order)) {
    return rejectOrder(context, order, OrderError.POST_ONLY_ORDER_WOULD_TRADE);
  }
  if (
    !canPayFees(
      context,
      market,
      order.partyId,
      fillsOf(market, order).fills.map((fill) => feesOf(market, fill)),
    )
  ) {
    rejectOrder(context, order, OrderError.INSUFFICIENT_FUNDS_TO_PAY_FEES);
    return "insufficient funds to pay fees";
  }
  enterBook(context, market, order);
  return undefined;
}

function orderOf({ block }: ExecutionContext, partyId: string, submission: OrderSubmission, id: string): Order {
  const { size, side, timeInForce, expiresAt, type, price, peggedOrder, icebergOpts } = submission;
  return create(OrderSchema, {
    id,
    marketId: submission.marketId.toLowerCase(),
    partyId,
    side,
    price: type === Order_Type.MARKET || peggedOrder !== undefined ? "0" : String(BigInt(price)),
    size,
    remaining: size,
    timeInForce,
    type,
    createdAt: block.time,
    status: Order_Status.ACTIVE,
    expiresAt: truncateToMicroseconds(expiresAt),
    reference: submission.reference.replaceAll("\0", ""), // Nodes store it as PostgreSQL text, which cannot hold NUL.
    version: 1n,
    batchId: 1n,
    ...(peggedOrder && {
      peggedOrder: create(PeggedOrderSchema, {
        reference: peggedOrder.reference,
        offset: String(BigInt(peggedOrder.offset)),
      }),
    }),
    postOnly: submission.postOnly,
    reduceOnly: submission.reduceOnly,
    ...(icebergOpts && {
      icebergOrder: create(IcebergOrderSchema, {
        peakSize: icebergOpts.peakSize,
        minimumVisibleSize: icebergOpts.minimumVisibleSize,
      }),
    }),
  });
}

/** Emits a valid order as rejected or stopped (unregisterAndReject). */
function rejectOrder({ block, emit }: ExecutionContext, order: Order, reason: OrderError): string {
  const status = STOPPING.includes(reason) ? Order_Status.STOPPED : Order_Status.REJECTED;
  emit({ case: "order", value: { ...order, status, reason, updatedAt: block.time } });
  return orderErrorText(reason);
}

/** Reasons that stop an order instead of rejecting it (v0.78.0, `core/types/matching.go`, IsStoppingOrder). */
const STOPPING: readonly OrderError[] = [
  OrderError.POST_ONLY_ORDER_WOULD_TRADE,
  OrderError.REDUCE_ONLY_ORDER_WOULD_NOT_REDUCE_POSITION,
];

/**
 * Places a pegged order at its reference price, or parks it. It never trades on arrival: its price is on its own side
 * of the mid price.
 */
function placePeggedOrder({ emit }: ExecutionContext, market: MarketState, order: Order): void {
  const placed = refreshIceberg(pricedOrder(market, order));
  (placed.status === Order_Status.PARKED ? storeOrder : addToBook)(market, placed);
  trackExpiry(market, placed.expiresAt);
  emit({ case: "order", value: placed });
}

/** Returns whether an order is post-only and would trade. */
function violatesPostOnly(market: MarketState, order: Order): boolean {
  if (!order.postOnly || !isContinuous(market)) {
    return false;
  }
  const { fills, isSelfTrade } = findFills(market, takerOf(order, trueRemaining(order)));
  return fills.length > 0 || isSelfTrade;
}

function takerOf({ partyId, side, type, price }: Order, size: bigint) {
  return { partyId, side, size, limit: type === Order_Type.MARKET ? undefined : BigInt(price) };
}

/** Matches an order and rests or stops its remainder. Pegged orders are repriced afterwards. */
function enterBook(context: ExecutionContext, market: MarketState, order: Order): void {
  const { fills, isSelfTrade } = fillsOf(market, order);
  const traded = fills.reduce((sum, { size }) => sum + size, 0n);
  const after = afterTrading({ ...order, ...fullyVisible(order, trueRemaining(order) - traded) }, isSelfTrade);
  executeTrades(context, market, order, fills, after);
  if (after.status === Order_Status.ACTIVE) {
    addToBook(market, after);
    trackExpiry(market, after.expiresAt);
  }
  repricePegged(context, market);
}

/** Matches an order. Nothing matches in an auction, or if a fill-or-kill order cannot be filled completely. */
function fillsOf(market: MarketState, order: Order): MatchResult {
  const wanted = order.reduceOnly ? tradableSize(market, order) : trueRemaining(order);
  const matches = isContinuous(market)
    ? findFills(market, takerOf(order, wanted))
    : { fills: [], left: wanted, isSelfTrade: false };
  const isKilled = order.timeInForce === Order_TimeInForce.FOK && matches.left > 0n;
  return isKilled ? { ...matches, fills: [] } : matches;
}

/** Returns the fields of an order whose remaining size is all visible. */
function fullyVisible({ icebergOrder }: Order, remaining: bigint): Partial<Order> {
  return { remaining, ...(icebergOrder && { icebergOrder: { ...icebergOrder, reservedRemaining: 0n } }) };
}

function afterTrading(order: Order, isSelfTrade: boolean): Order {
  if (order.remaining === 0n) {
    return { ...order, status: Order_Status.FILLED };
  }
  if (!isSelfTrade && isPersistent(order)) {
    return refreshIceberg({ ...order, status: Order_Status.ACTIVE });
  }
  const isFilled = filledSize(order) > 0n && !order.reduceOnly;
  const status = isFilled ? Order_Status.PARTIALLY_FILLED : Order_Status.STOPPED;
  return { ...order, status, ...(isSelfTrade && { reason: OrderError.SELF_TRADING }) };
}

/**
 * Cancels one order, all orders on a market, or all orders of a party (v0.78.0, `core/execution/engine.go`,
 * CancelOrder). The orders of a market are canceled by identifier.
 */
export function cancelOrders(
  context: ExecutionContext,
  partyId: string,
  cancellation: OrderCancellation,
): string | undefined {
  const [marketId, orderId] = [cancellation.marketId.toLowerCase(), cancellation.orderId.toLowerCase()];
  if (marketId !== "") {
    const market = context.state.markets.get(marketId);
    if (market === undefined) {
      return orderErrorText(OrderError.INVALID_MARKET_ID);
    }
    if (!isOpen(market)) {
      return TRADING_NOT_ALLOWED;
    }
    return orderId === "" ? cancelAll(context, market, partyId) : cancelOne(context, market, partyId, orderId);
  }
  if (orderId !== "") {
    return "invalid order cancellation";
  }
  for (const market of context.state.markets.values()) {
    if (isOpen(market)) {
      cancelAll(context, market, partyId);
    }
  }
  return undefined;
}

function cancelOne(
  context: ExecutionContext,
  market: MarketState,
  partyId: string,
  orderId: string,
): string | undefined {
  const order = market.orders.get(orderId);
  if (order === undefined) {
    return ORDER_NOT_FOUND;
  }
  if (order.partyId !== partyId) {
    return orderErrorText(OrderError.INVALID_PARTY_ID);
  }
  closeOrders(context, market, [order], Order_Status.CANCELLED);
  return undefined;
}

function cancelAll(context: ExecutionContext, market: MarketState, partyId: string): undefined {
  const own = [...market.orders.values()].filter((order) => order.partyId === partyId);
  const sorted = own.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  closeOrders(context, market, sorted, Order_Status.CANCELLED);
}

/**
 * Cancels or expires active and parked orders, and reprices pegged orders. The event bus has a single event with all
 * their identifiers.
 */
function closeOrders(
  context: ExecutionContext,
  market: MarketState,
  orders: readonly Order[],
  status: Order_Status.CANCELLED | Order_Status.EXPIRED,
): void {
  const [first] = orders;
  if (first === undefined) {
    return;
  }
  const named = { marketId: market.market.id, orderIds: orders.map(({ id }) => id) };
  context.emit(
    status === Order_Status.CANCELLED
      ? { case: "cancelledOrders", value: create(CancelledOrdersSchema, { ...named, partyId: first.partyId }) }
      : { case: "expiredOrders", value: create(ExpiredOrdersSchema, named) },
  );
  for (const order of orders) {
    deleteOrder(market, order);
    context.emit({ case: "endedOrder", value: { ...order, status, updatedAt: context.block.time } });
  }
  if (status === Order_Status.CANCELLED) {
    releaseMargin(context, market, first.partyId);
    emitMarginLevels(context);
  }
  repricePegged(context, market);
}

/** Expires the orders of a market that are due, earliest expiry first. */
export function expireOrders(context: ExecutionContext, market: MarketState): void {
  const expired = [...market.orders.values()]
    .filter(({ expiresAt }) => expiresAt > 0n && expiresAt <= context.block.time)
    .toSorted((a, b) => Number(a.expiresAt - b.expiresAt));
  closeOrders(context, market, expired, Order_Status.EXPIRED);
}

const { IOC, FOK, GTC, GTT, GFA, GFN } = Order_TimeInForce;

/**
 * Amends an active or parked order (v0.78.0, `core/execution/future/market.go`, amendOrder). It keeps its priority
 * unless its price changes or its size grows; then it re-enters the book and may trade. An order without a remaining
 * size is canceled, and one whose new expiry has passed expires.
 */
export function amendOrder(context: ExecutionContext, partyId: string, amendment: OrderAmendment): string | undefined {
  const market = context.state.markets.get(amendment.marketId.toLowerCase());
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
  const reason = amendmentError(order, amendment);
  if (reason !== undefined) {
    return orderErrorText(reason);
  }
  const amended = amendedOrder(context, order, amendment);
  const wrong =
    peggedOrderError(amended) ?? (amendment.price === undefined ? undefined : tickSizeError(market, amended));
  return wrong === undefined
    ? (overflowError(market, amended) ?? applyAmendment(context, market, order, amended))
    : orderErrorText(wrong);
}

function applyAmendment(
  context: ExecutionContext,
  market: MarketState,
  order: Order,
  amended: Order,
): string | undefined {
  const { expiresAt, remaining, size } = amended;
  if (remaining === 0n) {
    closeOrders(context, market, [order], Order_Status.CANCELLED);
    return undefined;
  }
  if (expiresAt !== 0n && expiresAt < order.createdAt) {
    return orderErrorText(OrderError.INVALID_EXPIRATION_DATETIME);
  }
  if (expiresAt !== 0n && expiresAt < context.block.time) {
    // The network emits this one as an order, unlike orders that expire at the start of a block.
    deleteOrder(market, order);
    context.emit({ case: "order", value: { ...amended, status: Order_Status.EXPIRED } });
    repricePegged(context, market);
    return undefined;
  }
  const tooLarge = sizeError(size);
  if (tooLarge !== undefined) {
    return orderErrorText(tooLarge);
  }
  const priced = pricedOrder(market, amended);
  const isActive = priced.status === Order_Status.ACTIVE;
  if (isActive && isChanged(order, priced) && !collectOrderMargin(context, market, priced)) {
    return MARGIN_CHECK_FAILED;
  }
  return replaceOrder(context, market, order, priced);
}

/** Returns a pegged order at its reference price, or parked. Other orders are returned as they are. */
function pricedOrder(market: MarketState, order: Order): Order {
  if (order.peggedOrder === undefined) {
    return order;
  }
  const price = peggedPrice(market, order, referencesOf(market));
  return price === undefined ? parkedOrder(order) : { ...order, status: Order_Status.ACTIVE, price: String(price) };
}

/** Returns whether an amendment changes the margin or the expiry. Others only increment the version. */
function isChanged(order: Order, amended: Order): boolean {
  return (["price", "size", "expiresAt", "timeInForce"] as const).some((field) => order[field] !== amended[field]);
}

function amendmentError(order: Order, amendment: OrderAmendment): OrderError | undefined {
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

function amendedOrder({ block }: ExecutionContext, order: Order, amendment: OrderAmendment): Order {
  const { timeInForce, expiresAt, price, peggedOffset, peggedReference, size, sizeDelta } = amendment;
  const { peggedOrder } = order;
  const unchangedExpiry = timeInForce === 0 || timeInForce === GTT ? order.expiresAt : 0n;
  return {
    ...resized(order, size === undefined ? sizeDelta : size - order.size),
    price: String(BigInt(price ?? order.price)),
    timeInForce: timeInForce === 0 ? order.timeInForce : timeInForce,
    expiresAt: expiresAt === undefined ? unchangedExpiry : truncateToMicroseconds(expiresAt),
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

/**
 * Changes the size and the remaining size of an order. The hidden reserve of an iceberg order absorbs the change
 * first.
 */
function resized(order: Order, delta: bigint): Order {
  const { icebergOrder, remaining } = order;
  const size = order.size + delta;
  if (icebergOrder === undefined) {
    return { ...order, size, remaining: max(remaining + delta, 0n) };
  }
  const hidden = icebergOrder.reservedRemaining + delta;
  return {
    ...order,
    size,
    remaining: max(remaining + min(hidden, 0n), 0n),
    icebergOrder: { ...icebergOrder, reservedRemaining: max(hidden, 0n) },
  };
}

function replaceOrder(
  context: ExecutionContext,
  market: MarketState,
  order: Order,
  amended: Order,
): string | undefined {
  const isRepegged =
    amended.peggedOrder?.offset !== order.peggedOrder?.offset ||
    amended.peggedOrder?.reference !== order.peggedOrder?.reference;
  const isNew =
    isRepegged || BigInt(amended.price) !== BigInt(order.price) || trueRemaining(amended) > trueRemaining(order);
  if (!isNew) {
    storeOrder(market, amended);
    trackExpiry(market, amended.expiresAt);
    if (amended.size < order.size) {
      recheckMargin(context, market, amended.partyId);
    }
    context.emit({ case: "order", value: amended });
  } else if (amended.peggedOrder !== undefined) {
    deleteOrder(market, order);
    placePeggedOrder(context, market, amended);
    releaseMargin(context, market, amended.partyId);
  } else if (violatesPostOnly(market, amended)) {
    return "couldn't insert order in book";
  } else {
    deleteOrder(market, order);
    enterBook(context, market, amended);
  }
  return undefined;
}
