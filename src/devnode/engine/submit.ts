import { create } from "@bufbuild/protobuf";
import type { OrderSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
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
import { filledSize, keepOrder, openSize, restOrder, withPeak } from "./book.js";
import { wholeMicroseconds } from "./decimal.js";
import { canPayFees, feesOf } from "./fees.js";
import { openGeneralAccount } from "./ledger.js";
import { coverOrder, enterMarket, reducesExposure, releaseMargin } from "./margins.js";
import { type Fills, findFills } from "./match.js";
import { isPersistent, overflowReason, rejectionOf, tradableSize } from "./order-checks.js";
import { MARGIN_CHECK_FAILED, orderErrorText } from "./order-errors.js";
import { parked, peggedPrice, referencesOf, repricePegged } from "./pegs.js";
import { isContinuous, type MarketState, noteExpiry, type Work } from "./state.js";
import { carryOut } from "./trade.js";

/**
 * Submit an order: it trades as far as it can, then rests, or is stopped. An order that is rejected is told with its
 * reason, and so is one that is stopped before it came to the book, because it would trade though it is post-only, or would
 * not reduce a position though it is reduce-only.
 *
 * @param work the block
 * @param partyId who submits it
 * @param submission the order
 * @param id the order's identifier
 * @returns why nothing was done, if so; an order that finds nothing to trade with, or meets
 *   one of its own party, was carried out
 */
export function submitOrder(work: Work, partyId: string, submission: OrderSubmission, id: string): string | undefined {
  const order = orderOf(work, partyId, submission, id);
  const market = work.state.markets.get(order.marketId);
  if (market === undefined) {
    return orderErrorText(OrderError.INVALID_MARKET_ID); // As on the network, no order comes of it.
  }
  openGeneralAccount(work, partyId, market.asset);
  const rejection = rejectionOf(market, order);
  if (rejection !== undefined) {
    const { reason, text } = rejection;
    work.emit({ case: "order", value: { ...order, status: Order_Status.REJECTED, ...(reason && { reason }) } });
    return text;
  }
  enterMarket(work, market, partyId);
  const overflow = overflowReason(market, order);
  if (overflow !== undefined) {
    return overflow; // As on the network, no order comes of it.
  }
  if (order.peggedOrder !== undefined && peggedPrice(market, order, referencesOf(market)) === undefined) {
    placePegged(work, market, order);
    return undefined;
  }
  return admitOrder(work, market, order);
}

/** Let an order trade or rest that is valid, if it may and its party can pay (submitValidatedOrder). */
function admitOrder(work: Work, market: MarketState, order: Order): string | undefined {
  if (tradableSize(market, order) === 0n) {
    return refused(work, order, OrderError.REDUCE_ONLY_ORDER_WOULD_NOT_REDUCE_POSITION);
  }
  if (!order.reduceOnly && !reducesExposure(market, order) && !coverOrder(work, market, order)) {
    refused(work, order, OrderError.MARGIN_CHECK_FAILED);
    return MARGIN_CHECK_FAILED;
  }
  const error = enterIfPossible(work, market, order);
  releaseMargin(work, market, order.partyId);
  return error;
}

function enterIfPossible(work: Work, market: MarketState, order: Order): string | undefined {
  if (order.peggedOrder !== undefined) {
    placePegged(work, market, order);
    return undefined;
  }
  if (wouldTradeAgainstPostOnly(market, order)) {
    return refused(work, order, OrderError.POST_ONLY_ORDER_WOULD_TRADE);
  }
  if (
    !canPayFees(
      work,
      market,
      order.partyId,
      fillsOf(market, order).fills.map((fill) => feesOf(market, fill)),
    )
  ) {
    refused(work, order, OrderError.INSUFFICIENT_FUNDS_TO_PAY_FEES);
    return "insufficient funds to pay fees";
  }
  enterBook(work, market, order);
  return undefined;
}

function orderOf({ block }: Work, partyId: string, submission: OrderSubmission, id: string): Order {
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
    expiresAt: wholeMicroseconds(expiresAt),
    reference: submission.reference.replaceAll("\0", ""), // PostgreSQL's text, where nodes keep it, cannot hold NUL.
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

/** Refuse an order that is valid (unregisterAndReject). */
function refused({ block, emit }: Work, order: Order, reason: OrderError): string {
  const status = STOPPING.includes(reason) ? Order_Status.STOPPED : Order_Status.REJECTED;
  emit({ case: "order", value: { ...order, status, reason, updatedAt: block.time } });
  return orderErrorText(reason);
}

/** The reasons for which an order is stopped, and not rejected (v0.78.0, `core/types/matching.go`, IsStoppingOrder). */
const STOPPING: readonly OrderError[] = [
  OrderError.POST_ONLY_ORDER_WOULD_TRADE,
  OrderError.REDUCE_ONLY_ORDER_WOULD_NOT_REDUCE_POSITION,
];

/**
 * Place a pegged order at the price that its reference gives, or park it. It trades with nothing: its price is on its own
 * side of the middle of the market.
 *
 * @param work the block
 * @param market the market, whose book changes
 * @param order the order, which is not on the book
 */
export function placePegged({ emit }: Work, market: MarketState, order: Order): void {
  const price = peggedPrice(market, order, referencesOf(market));
  const placed = withPeak(
    price === undefined ? parked(order) : { ...order, status: Order_Status.ACTIVE, price: String(price) },
  );
  (price === undefined ? keepOrder : restOrder)(market, placed);
  noteExpiry(market, placed.expiresAt);
  emit({ case: "order", value: placed });
}

/** Whether an order is post-only and would trade. */
export function wouldTradeAgainstPostOnly(market: MarketState, order: Order): boolean {
  if (!order.postOnly || !isContinuous(market)) {
    return false;
  }
  const { fills, metItself } = findFills(market, takerOf(order, openSize(order)));
  return fills.length > 0 || metItself;
}

function takerOf({ partyId, side, type, price }: Order, size: bigint) {
  return { partyId, side, size, limit: type === Order_Type.MARKET ? undefined : BigInt(price) };
}

/**
 * Let an order trade as far as it can; what is left rests or is stopped. Pegged orders follow.
 *
 * @param work the block
 * @param market the market, whose book changes
 * @param order the order, which is not on the book
 */
export function enterBook(work: Work, market: MarketState, order: Order): void {
  const { fills, metItself } = fillsOf(market, order);
  const traded = fills.reduce((sum, { size }) => sum + size, 0n);
  const after = afterTrading({ ...order, ...shown(order, openSize(order) - traded) }, metItself);
  carryOut(work, market, order, fills, after);
  if (after.status === Order_Status.ACTIVE) {
    restOrder(market, after);
    noteExpiry(market, after.expiresAt);
  }
  repricePegged(work, market);
}

/** What an order would trade with; nothing in an auction, and nothing where all or nothing is wanted and there is not all. */
function fillsOf(market: MarketState, order: Order): Fills {
  const wanted = order.reduceOnly ? tradableSize(market, order) : openSize(order);
  const found = isContinuous(market)
    ? findFills(market, takerOf(order, wanted))
    : { fills: [], left: wanted, metItself: false };
  const isKilled = order.timeInForce === Order_TimeInForce.FOK && found.left > 0n;
  return isKilled ? { ...found, fills: [] } : found;
}

/** What an order has left, all of it shown. */
function shown({ icebergOrder }: Order, remaining: bigint): Partial<Order> {
  return { remaining, ...(icebergOrder && { icebergOrder: { ...icebergOrder, reservedRemaining: 0n } }) };
}

function afterTrading(order: Order, metItself: boolean): Order {
  if (order.remaining === 0n) {
    return { ...order, status: Order_Status.FILLED };
  }
  if (!metItself && isPersistent(order)) {
    return withPeak({ ...order, status: Order_Status.ACTIVE });
  }
  const isFilled = filledSize(order) > 0n && !order.reduceOnly;
  const status = isFilled ? Order_Status.PARTIALLY_FILLED : Order_Status.STOPPED;
  return { ...order, status, ...(metItself && { reason: OrderError.SELF_TRADING }) };
}
