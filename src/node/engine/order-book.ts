import { create } from "@bufbuild/protobuf";
import { type Order, Order_Status, type PriceLevel, PriceLevelSchema, Side } from "../../../gen/vega/vega_pb.js";
import { min } from "../../base/bigints.js";
import type { Level, MarketState } from "./engine-state.js";
import { clampUint64 } from "./fixed-point.js";

/** Returns the price levels of a side, best price first. */
export function levelsOf(market: MarketState, side: Side): Level[] {
  return side === Side.BUY ? market.buy : market.sell;
}

export function opposite(side: Side): Side {
  return side === Side.BUY ? Side.SELL : Side.BUY;
}

/** Returns the remaining size of an order, including the hidden reserve of an iceberg order. */
export function trueRemaining({ remaining, icebergOrder }: Order): bigint {
  return remaining + (icebergOrder?.reservedRemaining ?? 0n);
}

export function filledSize(order: Order): bigint {
  return order.size - trueRemaining(order);
}

/** Refreshes the visible part of an iceberg order up to its peak size. */
export function refreshIceberg(order: Order): Order {
  const { icebergOrder } = order;
  if (icebergOrder === undefined) {
    return order;
  }
  const open = trueRemaining(order);
  const remaining = min(icebergOrder.peakSize, open);
  return { ...order, remaining, icebergOrder: { ...icebergOrder, reservedRemaining: open - remaining } };
}

export function addToBook(market: MarketState, order: Order): void {
  const price = BigInt(order.price);
  const levels = levelsOf(market, order.side);
  const index = findLevel(levels, order.side, price);
  const level = levels[index];
  if (level?.price === price) {
    level.ids.add(order.id);
  } else {
    levels.splice(index, 0, { price, ids: new Set([order.id]) });
  }
  storeOrder(market, order);
}

/** Stores an active or parked order without changing its priority. */
export function storeOrder(market: MarketState, order: Order): void {
  market.isChanged = true;
  market.orders.set(order.id, order);
  if (order.peggedOrder !== undefined) {
    market.pegged.add(order.id);
  }
}

/** Removes an order from its price level, if it is on one. The order stays stored. */
export function removeFromBook(market: MarketState, order: Order): void {
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

export function deleteOrder(market: MarketState, order: Order): void {
  removeFromBook(market, order);
  market.orders.delete(order.id);
  market.pegged.delete(order.id);
}

/** Returns the index of the first level that is not better than a price. */
function findLevel(levels: readonly Level[], side: Side, price: bigint): number {
  let low = 0;
  let high = levels.length;
  while (low < high) {
    const midPrice = (low + high) >> 1;
    const at = levels[midPrice]?.price ?? price;
    if (side === Side.BUY ? at > price : at < price) {
      low = midPrice + 1;
    } else {
      high = midPrice;
    }
  }
  return low;
}

/** Iterates over the orders of a level, by time priority. */
export function* ordersAt(market: MarketState, { ids }: Level): Generator<Order> {
  for (const id of ids) {
    const order = market.orders.get(id);
    if (order !== undefined) {
      yield order;
    }
  }
}

/** Best price of a side and the volume there; both 0 for an empty side. */
export interface Best {
  readonly price: bigint;
  readonly volume: bigint;
}

export function bestOf(market: MarketState, side: Side, among: "all" | "static"): Best {
  for (const level of levelsOf(market, side)) {
    let volume = 0n;
    for (const order of ordersAt(market, level)) {
      volume += among === "all" || order.peggedOrder === undefined ? trueRemaining(order) : 0n;
    }
    if (volume > 0n) {
      return { price: level.price, volume };
    }
  }
  return { price: 0n, volume: 0n };
}

export function depthOf(market: MarketState, side: Side, maxDepth: number): PriceLevel[] {
  return levelsOf(market, side)
    .slice(0, maxDepth)
    .map((level) => {
      const volume = [...ordersAt(market, level)].reduce((sum, order) => sum + trueRemaining(order), 0n);
      const numberOfOrders = BigInt(level.ids.size);
      return create(PriceLevelSchema, { price: String(level.price), volume: clampUint64(volume), numberOfOrders });
    });
}

/** A match of an incoming order with a resting one. */
export interface Fill {
  readonly maker: Order;
  readonly price: bigint;
  readonly size: bigint;
}

/** The matches of an incoming order. */
export interface MatchResult {
  readonly fills: readonly Fill[];
  /** Unmatched size. */
  readonly left: bigint;
  /** Whether matching stopped at an order of the same party. */
  readonly isSelfTrade: boolean;
}

/** An incoming order. */
export interface Taker {
  readonly partyId: string;
  readonly side: Side;
  /** Limit price; `undefined` for a market order. */
  readonly limit: bigint | undefined;
  readonly size: bigint;
}

/**
 * Matches an order by price-time priority, without changing the book. If the visible volume of a price level does not
 * suffice, the hidden reserves of its iceberg orders are shared in proportion to their size.
 */
export function findFills(market: MarketState, { partyId, side, limit, size }: Taker): MatchResult {
  const fills: Fill[] = [];
  let left = size;
  let isSelfTrade = false;
  for (const level of levelsOf(market, opposite(side))) {
    if (left === 0n || isSelfTrade || !isWithinLimit(side, limit, level.price)) {
      break;
    }
    const taken = fillsAtLevel(market, level, partyId, left);
    fills.push(...taken.fills);
    ({ left, isSelfTrade } = taken);
  }
  return { fills, left, isSelfTrade };
}

function isWithinLimit(side: Side, limit: bigint | undefined, price: bigint): boolean {
  return limit === undefined || (side === Side.BUY ? price <= limit : price >= limit);
}

function fillsAtLevel(market: MarketState, level: Level, partyId: string, wanted: bigint): MatchResult {
  const { price } = level;
  const fills: Fill[] = [];
  let left = wanted;
  for (const maker of ordersAt(market, level)) {
    if (left === 0n) {
      break;
    }
    if (maker.partyId === partyId) {
      return { fills, left, isSelfTrade: true };
    }
    const size = min(maker.remaining, left);
    fills.push({ maker, price, size });
    left -= size;
  }
  return left === 0n ? { fills, left, isSelfTrade: false } : fillFromReserves(fills, left);
}

/** Fills from the hidden reserves of iceberg orders, after all visible volume of the price level. */
function fillFromReserves(visibleFills: readonly Fill[], wanted: bigint): MatchResult {
  const hidden = visibleFills.map(({ maker }) => trueRemaining(maker) - maker.remaining);
  const total = hidden.reduce((sum, size) => sum + size, 0n);
  const taken = min(wanted, total);
  const shares = hidden.map((size) => (total === 0n ? 0n : (size * taken) / total));
  let rest = shares.reduce((sum, share) => sum - share, taken);
  const fills = visibleFills.map((fill, index) => {
    const share = shares[index] ?? 0n;
    const more = min(rest, (hidden[index] ?? 0n) - share); // The rounding remainder goes by time priority.
    rest -= more;
    return { ...fill, size: fill.size + share + more };
  });
  return { fills, left: wanted - taken, isSelfTrade: false };
}
