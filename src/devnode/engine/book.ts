import { create } from "@bufbuild/protobuf";
import { type Order, Order_Status, type PriceLevel, PriceLevelSchema, Side } from "../../../gen/vega/vega_pb.js";
import { asUint64, smaller } from "./decimal.js";
import type { Level, MarketState } from "./state.js";

/** The levels of a side, the best first. */
export function levelsOf(market: MarketState, side: Side): Level[] {
  return side === Side.BUY ? market.buy : market.sell;
}

/** The other side. */
export function opposite(side: Side): Side {
  return side === Side.BUY ? Side.SELL : Side.BUY;
}

/** What of an order is not filled, with what an iceberg hides. */
export function openSize({ remaining, icebergOrder }: Order): bigint {
  return remaining + (icebergOrder?.reservedRemaining ?? 0n);
}

/** How much of an order was filled. */
export function filledSize(order: Order): bigint {
  return order.size - openSize(order);
}

/**
 * Set what an iceberg shows: its peak at most.
 *
 * @param order the order, with any part of what is open shown or hidden
 * @returns the order as it rests; other orders as they are
 */
export function withPeak(order: Order): Order {
  const { icebergOrder } = order;
  if (icebergOrder === undefined) {
    return order;
  }
  const open = openSize(order);
  const remaining = smaller(icebergOrder.peakSize, open);
  return { ...order, remaining, icebergOrder: { ...icebergOrder, reservedRemaining: open - remaining } };
}

/**
 * Put an order to the back of the level of its price.
 *
 * @param market the market, whose book changes
 * @param order the order, which is not on a level
 */
export function restOrder(market: MarketState, order: Order): void {
  const price = BigInt(order.price);
  const levels = levelsOf(market, order.side);
  const index = findLevel(levels, order.side, price);
  const level = levels[index];
  if (level?.price === price) {
    level.ids.add(order.id);
  } else {
    levels.splice(index, 0, { price, ids: new Set([order.id]) });
  }
  keepOrder(market, order);
}

/** Keep an order that rests or is parked, without a change of its place. */
export function keepOrder(market: MarketState, order: Order): void {
  market.isChanged = true;
  market.orders.set(order.id, order);
  if (order.peggedOrder !== undefined) {
    market.pegged.add(order.id);
  }
}

/**
 * Take an order off its level, if it is on one. It is kept otherwise.
 *
 * @param market the market, whose book changes
 * @param order the order as it rests
 */
export function liftOrder(market: MarketState, order: Order): void {
  market.isChanged = true;
  if (order.status === Order_Status.PARKED) {
    return;
  }
  const levels = levelsOf(market, order.side);
  const index = findLevel(levels, order.side, BigInt(order.price));
  const level = levels[index];
  if (level?.ids.delete(order.id) === true && level.ids.size === 0) {
    levels.splice(index, 1);
  }
}

/** Take an order off its level, and forget it. */
export function removeOrder(market: MarketState, order: Order): void {
  liftOrder(market, order);
  market.orders.delete(order.id);
  market.pegged.delete(order.id);
}

/** The index of the first level that is not better than a price. */
function findLevel(levels: readonly Level[], side: Side, price: bigint): number {
  let low = 0;
  let high = levels.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = levels[middle]?.price ?? price;
    if (side === Side.BUY ? at > price : at < price) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** The orders of a level, in the order of their priority. */
export function* ordersAt(market: MarketState, { ids }: Level): Generator<Order> {
  for (const id of ids) {
    const order = market.orders.get(id);
    if (order !== undefined) {
      yield order;
    }
  }
}

/** A price and the volume there; both 0 where a side is empty. */
export interface Best {
  readonly price: bigint;
  readonly volume: bigint;
}

/**
 * Find the best price of a side.
 *
 * @param market the market
 * @param side the side
 * @param among all orders, or those that are not pegged
 * @returns the best price and the volume there
 */
export function bestOf(market: MarketState, side: Side, among: "all" | "static"): Best {
  for (const level of levelsOf(market, side)) {
    let volume = 0n;
    for (const order of ordersAt(market, level)) {
      volume += among === "all" || order.peggedOrder === undefined ? openSize(order) : 0n;
    }
    if (volume > 0n) {
      return { price: level.price, volume };
    }
  }
  return { price: 0n, volume: 0n };
}

/**
 * Read the levels of a side.
 *
 * @param market the market
 * @param side the side
 * @param maxDepth the most levels
 * @returns the levels, the best first, with what icebergs hide
 */
export function depthOf(market: MarketState, side: Side, maxDepth: number): PriceLevel[] {
  return levelsOf(market, side)
    .slice(0, maxDepth)
    .map((level) => {
      const volume = [...ordersAt(market, level)].reduce((sum, order) => sum + openSize(order), 0n);
      const numberOfOrders = BigInt(level.ids.size);
      return create(PriceLevelSchema, { price: String(level.price), volume: asUint64(volume), numberOfOrders });
    });
}
