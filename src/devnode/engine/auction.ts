import { create } from "@bufbuild/protobuf";
import { type Order, Order_Status, Side, type Trade, Trade_Type, TradeSchema } from "../../../gen/vega/vega_pb.js";
import { keepOrder, levelsOf, openSize, opposite, ordersAt, removeOrder } from "./book.js";
import { larger, smaller, timesPowerOfTen } from "./decimal.js";
import { noFees } from "./fees.js";
import { tellPosition, tradePosition } from "./positions.js";
import type { MarketState, Work } from "./state.js";
import { followPrice } from "./trailing.js";

/** What trades when an auction ends. */
export interface Crossing {
  /** The price of all of it. */
  readonly price: bigint;
  readonly volume: bigint;
  /** The side whose orders trade whole. */
  readonly side: Side;
}

/**
 * Find what would trade if an auction ended now: the most volume, at the middle of the prices at which that much trades
 * (`core/matching/orderbook.go`, GetIndicativePriceAndVolume).
 *
 * @param market the market
 * @returns what would trade; `undefined` where no orders cross
 */
export function crossing(market: MarketState): Crossing | undefined {
  const levels = (side: Side) =>
    levelsOf(market, side).map((level) => ({
      price: level.price,
      volume: [...ordersAt(market, level)].reduce((sum, order) => sum + openSize(order), 0n),
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
      return { price, volume: smaller(bought, total(sells.filter((level) => level.price <= price))) };
    });
  const volume = tradable.reduce((most, level) => larger(level.volume, most), 0n);
  const prices = tradable.filter((level) => level.volume === volume).map(({ price }) => price);
  const lowest = prices.reduce(smaller);
  const highest = prices.reduce((a, b) => larger(a, b));
  return { price: (lowest + highest) / 2n, volume, side: fillsExactly(buys, volume) ? Side.BUY : Side.SELL };
}

/** Whether levels, the best first, have exactly a volume down to one of them. */
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

/**
 * Trade what crosses on a market, without fees: the orders of the side that trades whole, in the order of their priority.
 *
 * @param work the block
 * @param market the market, whose book and positions change; nothing happens where no orders cross
 */
export function uncross(work: Work, market: MarketState): void {
  const found = crossing(market);
  if (found === undefined) {
    return;
  }
  const { price, side } = found;
  let left = found.volume;
  for (const level of [...levelsOf(market, side)]) {
    for (const order of [...ordersAt(market, level)]) {
      if (left > 0n) {
        left -= openSize(order);
        tradeWhole(work, market, order, price);
      }
    }
  }
  market.lastPrice = price;
  followPrice(market, price);
  market.isTraded = true;
  market.isWatched = true;
  for (const partyId of market.holdings.keys()) {
    tellPosition(work, market, partyId);
  }
}

function tradeWhole(work: Work, market: MarketState, taker: Order, price: bigint): void {
  const { block, emit } = work;
  const makers: Order[] = [];
  const trades: Trade[] = [];
  let left = openSize(taker);
  removeOrder(market, taker);
  for (const level of [...levelsOf(market, opposite(taker.side))]) {
    for (const maker of left > 0n ? [...ordersAt(market, level)] : []) {
      const size = smaller(left, openSize(maker));
      if (size > 0n) {
        trades.push(tradeBetween(work, market, { taker, maker, size, price, id: work.nextId() }));
        makers.push(fillResting(work, market, maker, size));
        left -= size;
      }
    }
  }
  emit({ case: "order", value: { ...emptied(taker), status: Order_Status.FILLED, updatedAt: block.time } });
  for (const value of trades) {
    emit({ case: "trade", value });
    tradePosition(market, value.buyer, value.size, price);
    tradePosition(market, value.seller, -value.size, price);
  }
  for (const value of makers) {
    emit({ case: "order", value });
  }
}

/** Fill a part of an order that rests, its visible part first. */
function fillResting({ block }: Work, market: MarketState, maker: Order, size: bigint): Order {
  const hidden = maker.icebergOrder?.reservedRemaining ?? 0n;
  const fromHidden = size > maker.remaining ? size - maker.remaining : 0n;
  const filled: Order = {
    ...maker,
    remaining: maker.remaining - (size - fromHidden),
    updatedAt: block.time,
    ...(maker.icebergOrder && { icebergOrder: { ...maker.icebergOrder, reservedRemaining: hidden - fromHidden } }),
  };
  if (openSize(filled) > 0n) {
    keepOrder(market, filled);
    return filled;
  }
  removeOrder(market, maker);
  return { ...filled, status: Order_Status.FILLED };
}

const emptied = (order: Order): Order => ({
  ...order,
  remaining: 0n,
  ...(order.icebergOrder && { icebergOrder: { ...order.icebergOrder, reservedRemaining: 0n } }),
});

/** A trade of an auction: neither side is the aggressor. */
function tradeBetween(
  { block }: Work,
  { market, priceExponent }: MarketState,
  {
    taker,
    maker,
    size,
    price,
    id,
  }: Readonly<Record<"taker" | "maker", Order>> & {
    readonly size: bigint;
    readonly price: bigint;
    readonly id: string;
  },
): Trade {
  const [buy, sell] = taker.side === Side.BUY ? [taker, maker] : [maker, taker];
  return create(TradeSchema, {
    id,
    marketId: market.id,
    price: String(price),
    size,
    buyer: buy.partyId,
    seller: sell.partyId,
    buyOrder: buy.id,
    sellOrder: sell.id,
    timestamp: block.time,
    type: Trade_Type.DEFAULT,
    buyerFee: noFees(),
    sellerFee: noFees(),
    assetPrice: String(timesPowerOfTen(price, priceExponent)),
  });
}
