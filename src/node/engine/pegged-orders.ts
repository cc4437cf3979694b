import { type Order, Order_Status, PeggedReference, Side } from "../../../gen/vega/vega_pb.js";
import { type ExecutionContext, isContinuous, type MarketState, type ReferencePrices } from "./engine-state.js";
import { addToBook, levelsOf, removeFromBook, storeOrder } from "./order-book.js";

export function referencesOf(market: MarketState): ReferencePrices {
  return { bid: staticPrice(market, Side.BUY), ask: staticPrice(market, Side.SELL) };
}

function staticPrice(market: MarketState, side: Side): bigint {
  for (const { price, ids } of levelsOf(market, side)) {
    for (const id of ids) {
      if (!market.pegged.has(id)) {
        return price;
      }
    }
  }
  return 0n;
}

/**
 * Computes the price of a pegged order. The mid price is rounded up for a buyer and down for a seller. The result is
 * rounded away from the market to a tick.
 */
export function peggedPrice(
  market: MarketState,
  { side, peggedOrder }: Order,
  references: ReferencePrices,
): bigint | undefined {
  const reference = referencePrice(side, peggedOrder?.reference, references);
  if (peggedOrder === undefined || reference === undefined || !isContinuous(market)) {
    return undefined;
  }
  const { tick } = market;
  const offset = BigInt(peggedOrder.offset);
  const price =
    side === Side.BUY ? ((reference - offset) / tick) * tick : ((reference + offset + tick - 1n) / tick) * tick;
  return price > 0n ? price : undefined;
}

function referencePrice(
  side: Side,
  reference: PeggedReference | undefined,
  { bid, ask }: ReferencePrices,
): bigint | undefined {
  switch (reference) {
    case PeggedReference.BEST_BID:
      return bid === 0n ? undefined : bid;
    case PeggedReference.BEST_ASK:
      return ask === 0n ? undefined : ask;
    case PeggedReference.MID:
      return bid === 0n || ask === 0n ? undefined : (bid + ask + (side === Side.BUY ? 1n : 0n)) / 2n;
    default:
      return undefined;
  }
}

/** Returns an order as parked: off the book until it has a reference price. */
export function parkedOrder(order: Order): Order {
  return { ...order, status: Order_Status.PARKED, price: "0" };
}

/**
 * Reprices pegged orders after a change of their reference prices, in order of arrival, and parks those without a reference
 * price. A repriced order goes to the back of its level and keeps its version.
 */
export function repricePegged({ block, emit }: ExecutionContext, market: MarketState): void {
  if (!isContinuous(market)) {
    return;
  }
  const references = referencesOf(market);
  if (references.bid === market.references.bid && references.ask === market.references.ask) {
    return;
  }
  market.references = references;
  const moved = [...market.pegged].flatMap((id) => {
    const order = market.orders.get(id);
    const price = order && String(peggedPrice(market, order, references) ?? 0n);
    return order === undefined || order.price === price ? [] : [{ order, price: price ?? "0" }];
  });
  for (const { order } of moved) {
    removeFromBook(market, order);
  }
  for (const { order, price } of moved) {
    const updated = { ...order, updatedAt: block.time };
    if (price === "0") {
      storeOrder(market, parkedOrder(updated));
      emit({ case: "order", value: parkedOrder(updated) });
    } else {
      const resting = { ...updated, status: Order_Status.ACTIVE, price };
      addToBook(market, resting);
      emit({ case: "order", value: resting });
    }
  }
}
