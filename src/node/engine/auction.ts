import { type Order, Order_Status, Side, type Trade } from "../../../gen/vega/vega_pb.js";
import { max, min } from "../../base/bigints.js";
import type { ExecutionContext, MarketState } from "./engine-state.js";
import { applyTradeToPosition, emitPosition } from "./open-positions.js";
import { deleteOrder, levelsOf, opposite, ordersAt, storeOrder, trueRemaining } from "./order-book.js";
import { updateTrailingPrices } from "./stop-orders.js";
import { newTrade } from "./trades.js";

export interface Uncrossing {
  /** Price of all its trades. */
  readonly price: bigint;
  readonly volume: bigint;
  /** The side whose orders are all filled. */
  readonly side: Side;
}

/**
 * Finds the indicative uncrossing: the maximum tradable volume, at the middle of the prices that reach it
 * (`core/matching/orderbook.go`, GetIndicativePriceAndVolume).
 */
export function indicativeUncrossing(market: MarketState): Uncrossing | undefined {
  const levels = (side: Side) =>
    levelsOf(market, side).map((level) => ({
      price: level.price,
      volume: [...ordersAt(market, level)].reduce((sum, order) => sum + trueRemaining(order), 0n),
    }));
  const [buys, sells] = [levels(Side.BUY), levels(Side.SELL)];
  const [bestBid, bestAsk] = [buys[0]?.price ?? 0n, sells[0]?.price ?? 0n];
  if (buys.length === 0 || sells.length === 0 || bestBid < bestAsk) {
    return undefined;
  }
  const total = (some: typeof buys) => some.reduce((sum, { volume }) => sum + volume, 0n);
  const tradable = [...buys, ...sells]
    .filter(({ price }) => price >= bestAsk && price <= bestBid)
    .map(({ price }) => {
      const bought = total(buys.filter((level) => level.price >= price));
      return { price, volume: min(bought, total(sells.filter((level) => level.price <= price))) };
    });
  const volume = tradable.reduce((maximum, level) => max(level.volume, maximum), 0n);
  const prices = tradable.filter((level) => level.volume === volume).map(({ price }) => price);
  const lowest = prices.reduce(min);
  const highest = prices.reduce((a, b) => max(a, b));
  return { price: (lowest + highest) / 2n, volume, side: fillsExactly(buys, volume) ? Side.BUY : Side.SELL };
}

/** Returns whether the volume of levels, best price first, adds up to exactly the wanted volume at some level. */
function fillsExactly(levels: readonly { readonly volume: bigint }[], wanted: bigint): boolean {
  let left = wanted;
  for (const { volume } of levels) {
    left -= volume;
    if (left <= 0n) {
      break;
    }
  }
  return left === 0n;
}

/** Trades all crossing orders of a market, without fees. The orders of the filled side trade by priority. */
export function uncross(context: ExecutionContext, market: MarketState): void {
  const uncrossing = indicativeUncrossing(market);
  if (uncrossing === undefined) {
    return;
  }
  const { price, side } = uncrossing;
  let left = uncrossing.volume;
  for (const level of [...levelsOf(market, side)]) {
    for (const order of [...ordersAt(market, level)]) {
      if (left > 0n) {
        left -= trueRemaining(order);
        uncrossOrder(context, market, order, price);
      }
    }
  }
  market.lastPrice = price;
  updateTrailingPrices(market, price);
  market.isTraded = true;
  market.hasNewPrice = true;
  for (const partyId of market.positions.keys()) {
    emitPosition(context, market, partyId);
  }
}

function uncrossOrder(context: ExecutionContext, market: MarketState, taker: Order, price: bigint): void {
  const { block, emit } = context;
  const makers: Order[] = [];
  const trades: Trade[] = [];
  let left = trueRemaining(taker);
  deleteOrder(market, taker);
  for (const level of [...levelsOf(market, opposite(taker.side))]) {
    for (const maker of left > 0n ? [...ordersAt(market, level)] : []) {
      const size = min(left, trueRemaining(maker));
      if (size > 0n) {
        trades.push(newTrade(context, market, taker, { maker, size, price }, Side.UNSPECIFIED));
        makers.push(fillRestingOrder(context, market, maker, size));
        left -= size;
      }
    }
  }
  emit({ case: "order", value: { ...fullyFilled(taker), status: Order_Status.FILLED, updatedAt: block.time } });
  for (const value of trades) {
    emit({ case: "trade", value });
    applyTradeToPosition(market, value.buyer, value.size, price);
    applyTradeToPosition(market, value.seller, -value.size, price);
  }
  for (const value of makers) {
    emit({ case: "order", value });
  }
}

/** Fills a part of a resting order, its visible part first. */
function fillRestingOrder({ block }: ExecutionContext, market: MarketState, maker: Order, size: bigint): Order {
  const hidden = maker.icebergOrder?.reservedRemaining ?? 0n;
  const fromHidden = size > maker.remaining ? size - maker.remaining : 0n;
  const filled: Order = {
    ...maker,
    remaining: maker.remaining - (size - fromHidden),
    updatedAt: block.time,
    ...(maker.icebergOrder && { icebergOrder: { ...maker.icebergOrder, reservedRemaining: hidden - fromHidden } }),
  };
  if (trueRemaining(filled) > 0n) {
    storeOrder(market, filled);
    return filled;
  }
  deleteOrder(market, maker);
  return { ...filled, status: Order_Status.FILLED };
}

const fullyFilled = (order: Order): Order => ({
  ...order,
  remaining: 0n,
  ...(order.icebergOrder && { icebergOrder: { ...order.icebergOrder, reservedRemaining: 0n } }),
});
