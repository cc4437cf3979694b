import { create } from "@bufbuild/protobuf";
import type { OrderCancellation } from "../../../gen/vega/commands/v1/commands_pb.js";
import { CancelledOrdersSchema, ExpiredOrdersSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { type Order, Order_Status, OrderError } from "../../../gen/vega/vega_pb.js";
import { removeOrder } from "./book.js";
import { emitMarginLevels, releaseMargin } from "./margins.js";
import { ORDER_NOT_FOUND, orderErrorText, TRADING_NOT_ALLOWED } from "./order-errors.js";
import { repricePegged } from "./pegs.js";
import { isOpen, type MarketState, type Work } from "./state.js";

/**
 * Cancels a party's orders: one of them, those on a market, or all (v0.78.0, `core/execution/engine.go`, CancelOrder). The
 * orders of a market are cancelled in the order of their identifiers.
 *
 * @param work the block
 * @param partyId the party
 * @param cancellation the cancellation; an empty identifier stands for any, but one order is cancelled on a named market only
 * @returns why nothing was done, if so; where there is no order among those on a market, or among all, nothing had to be
 */
export function cancelOrders(work: Work, partyId: string, cancellation: OrderCancellation): string | undefined {
  const [marketId, orderId] = [cancellation.marketId.toLowerCase(), cancellation.orderId.toLowerCase()];
  if (marketId !== "") {
    const market = work.state.markets.get(marketId);
    if (market === undefined) {
      return orderErrorText(OrderError.INVALID_MARKET_ID);
    }
    if (!isOpen(market)) {
      return TRADING_NOT_ALLOWED;
    }
    return orderId === "" ? cancelAll(work, market, partyId) : cancelOne(work, market, partyId, orderId);
  }
  if (orderId !== "") {
    return "invalid order cancellation";
  }
  for (const market of work.state.markets.values()) {
    if (isOpen(market)) {
      cancelAll(work, market, partyId);
    }
  }
  return undefined;
}

function cancelOne(work: Work, market: MarketState, partyId: string, orderId: string): string | undefined {
  const order = market.orders.get(orderId);
  if (order === undefined) {
    return ORDER_NOT_FOUND;
  }
  if (order.partyId !== partyId) {
    return orderErrorText(OrderError.INVALID_PARTY_ID);
  }
  endOrders(work, market, [order], Order_Status.CANCELLED);
  return undefined;
}

function cancelAll(work: Work, market: MarketState, partyId: string): undefined {
  const own = [...market.orders.values()].filter((order) => order.partyId === partyId);
  const sorted = own.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  endOrders(work, market, sorted, Order_Status.CANCELLED);
}

/**
 * Ends orders that rest or are parked. The bus has one event for all of them, with their identifiers. Pegged orders follow.
 *
 * @param work the block
 * @param market their market, whose book changes
 * @param orders the orders; those that are cancelled are of one party
 * @param status their status from then on
 */
export function endOrders(
  work: Work,
  market: MarketState,
  orders: readonly Order[],
  status: Order_Status.CANCELLED | Order_Status.EXPIRED,
): void {
  const [first] = orders;
  if (first === undefined) {
    return;
  }
  const named = { marketId: market.market.id, orderIds: orders.map(({ id }) => id) };
  work.emit(
    status === Order_Status.CANCELLED
      ? { case: "cancelledOrders", value: create(CancelledOrdersSchema, { ...named, partyId: first.partyId }) }
      : { case: "expiredOrders", value: create(ExpiredOrdersSchema, named) },
  );
  for (const order of orders) {
    removeOrder(market, order);
    work.emit({ case: "endedOrder", value: { ...order, status, updatedAt: work.block.time } });
  }
  if (status === Order_Status.CANCELLED) {
    releaseMargin(work, market, first.partyId);
    emitMarginLevels(work);
  }
  repricePegged(work, market);
}

/**
 * Expires the orders of a market whose time has come, the earliest first.
 *
 * @param work the block
 * @param market the market, whose book changes
 */
export function expireOrders(work: Work, market: MarketState): void {
  const expired = [...market.orders.values()]
    .filter(({ expiresAt }) => expiresAt > 0n && expiresAt <= work.block.time)
    .toSorted((a, b) => Number(a.expiresAt - b.expiresAt));
  endOrders(work, market, expired, Order_Status.EXPIRED);
}
