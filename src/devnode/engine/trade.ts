import { create } from "@bufbuild/protobuf";
import { type Order, Order_Status, Side, type Trade, Trade_Type, TradeSchema } from "../../../gen/vega/vega_pb.js";
import { keepOrder, liftOrder, openSize, removeOrder, restOrder, withPeak } from "./book.js";
import { smaller, timesPowerOfTen } from "./decimal.js";
import { feesOf, noFees, payFees } from "./fees.js";
import type { Fill } from "./match.js";
import { tellPosition, tradePosition } from "./positions.js";
import type { MarketState, Work } from "./state.js";

/**
 * Trades an order that came in: fees are paid, the orders on the book are filled, and positions change, in this order, as
 * recorded of the network. The order that came in is emitted before those on the book, but after the trades where it was
 * amended.
 *
 * @param work the block
 * @param market the market, whose book changes
 * @param taker the order as it came in
 * @param fills what it trades with
 * @param after the order as it is afterwards
 */
export function carryOut(work: Work, market: MarketState, taker: Order, fills: readonly Fill[], after: Order): void {
  const trades = fills.map((fill) => ({ fill, fee: feesOf(market, fill) }));
  if (fills.length > 0) {
    payFees(work, market, taker.partyId, trades);
  }
  const isAmended = after.version > 1n;
  if (!isAmended || fills.length === 0) {
    work.emit({ case: "order", value: after });
  }
  if (fills.length === 0) {
    return;
  }
  for (const fill of fills) {
    fillMaker(work, market, fill);
  }
  for (const { fill, fee } of trades) {
    const trade = { ...tradeOf(work, market, taker, fill), id: work.nextId() };
    work.emit({
      case: "trade",
      value: taker.side === Side.BUY ? { ...trade, buyerFee: fee } : { ...trade, sellerFee: fee },
    });
    const bought = taker.side === Side.BUY ? fill.size : -fill.size;
    tradePosition(market, taker.partyId, bought, fill.price);
    tradePosition(market, fill.maker.partyId, -bought, fill.price);
    market.lastPrice = fill.price;
  }
  if (isAmended) {
    work.emit({ case: "order", value: after });
  }
  market.isTraded = true;
  market.isWatched = true;
  for (const partyId of new Set([taker.partyId, ...fills.map(({ maker }) => maker.partyId)])) {
    tellPosition(work, market, partyId);
  }
}

function fillMaker({ block, emit }: Work, market: MarketState, { maker, size }: Fill): void {
  const shown = smaller(size, maker.remaining);
  const { icebergOrder } = maker;
  const filled: Order = {
    ...maker,
    remaining: maker.remaining - shown,
    updatedAt: block.time,
    ...(icebergOrder && {
      icebergOrder: { ...icebergOrder, reservedRemaining: icebergOrder.reservedRemaining - (size - shown) },
    }),
  };
  if (openSize(filled) === 0n) {
    removeOrder(market, maker);
    emit({ case: "order", value: { ...filled, status: Order_Status.FILLED } });
    return;
  }
  const needsPeak = icebergOrder !== undefined && filled.remaining < icebergOrder.minimumVisibleSize;
  if (needsPeak && openSize(filled) > filled.remaining) {
    const refreshed = withPeak(filled);
    liftOrder(market, maker);
    restOrder(market, refreshed);
    emit({ case: "order", value: refreshed });
  } else {
    keepOrder(market, filled);
    emit({ case: "order", value: filled });
  }
}

function tradeOf({ block }: Work, { market, priceExponent }: MarketState, taker: Order, fill: Fill): Trade {
  const { maker, price, size } = fill;
  const [buy, sell] = taker.side === Side.BUY ? [taker, maker] : [maker, taker];
  return create(TradeSchema, {
    marketId: market.id,
    price: String(price),
    size,
    buyer: buy.partyId,
    seller: sell.partyId,
    aggressor: taker.side,
    buyOrder: buy.id,
    sellOrder: sell.id,
    timestamp: block.time,
    type: Trade_Type.DEFAULT,
    buyerFee: noFees(),
    sellerFee: noFees(),
    assetPrice: String(timesPowerOfTen(price, priceExponent)),
  });
}
