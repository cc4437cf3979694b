import type { OrderCancellation } from "../../../gen/vega/commands/v1/commands_pb.js";
import { type Order, Order_Status, OrderError } from "../../../gen/vega/vega_pb.js";
import { removeOrder } from "./book.js";
import { repricePegged } from "./pegs.js";
import type { MarketState, Work } from "./state.js";
import { reasonName } from "./submit.js";

/**
 * Cancel a party's orders: one of them, those on a market, or all.
 *
 * @param work the block
 * @param partyId the party
 * @param cancellation the cancellation; an empty identifier stands for any
 * @returns why nothing was done, if so; where there is no order among those on a market, or among all, nothing had to be
 */
export function cancelOrders(work: Work, partyId: string, cancellation: OrderCancellation): string | undefined {
  const [marketId, orderId] = [cancellation.marketId.toLowerCase(), cancellation.orderId.toLowerCase()];
  const { markets } = work.state;
  const market = markets.get(marketId);
  if (marketId !== "" && market === undefined) {
    return reasonName(OrderError.INVALID_MARKET_ID);
  }
  const among = market === undefined ? [...markets.values()] : [market];
  if (orderId === "") {
    for (const each of among) {
      const own = [...each.orders.values()].filter((order) => order.partyId === partyId);
      endOrders(work, each, own, Order_Status.CANCELLED);
    }
    return undefined;
  }
  const at = among.find(({ orders }) => orders.has(orderId));
  const order = at?.orders.get(orderId);
  if (at === undefined || order === undefined) {
    return reasonName(OrderError.NOT_FOUND);
  }
  if (order.partyId !== partyId) {
    return reasonName(OrderError.INVALID_PARTY_ID);
  }
  endOrders(work, at, [order], Order_Status.CANCELLED);
  return undefined;
}

/**
 * End orders that rest or are parked. Pegged orders follow.
 *
 * @param work the block
 * @param market their market, whose book changes
 * @param orders the orders
 * @param status their status from then on
 */
export function endOrders(work: Work, market: MarketState, orders: readonly Order[], status: Order_Status): void {
  for (const order of orders) {
    removeOrder(market, order);
    work.emit({ case: "order", value: { ...order, status, updatedAt: work.block.time } });
  }
  if (orders.length > 0) {
    repricePegged(work, market);
  }
}

/**
 * Let the orders of a market expire whose time has come, the earliest first.
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
