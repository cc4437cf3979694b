import { type Order, Order_Status, PeggedReference, Side } from "../../../gen/vega/vega_pb.js";
import { keepOrder, levelsOf, liftOrder, restOrder } from "./book.js";
import { isContinuous, type MarketState, type References, type Work } from "./state.js";

/** The prices that pegged orders refer to. */
export function referencesOf(market: MarketState): References {
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
 * Compute the price of a pegged order, from the best prices of orders that are not pegged. The middle between them is
 * rounded up for a buyer and down for a seller; the price is then rounded away from the market to a tick.
 *
 * @param market the market
 * @param order the order
 * @param references what it refers to
 * @returns the price; `undefined` where there is nothing to refer to, no price above 0 remains, or the market is in an
 *   auction
 */
export function peggedPrice(
  market: MarketState,
  { side, peggedOrder }: Order,
  references: References,
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
  { bid, ask }: References,
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

/** Park an order: it waits for a reference price, off the book. */
export function parked(order: Order): Order {
  return { ...order, status: Order_Status.PARKED, price: "0" };
}

/**
 * Move pegged orders to where their references are now, in the order in which they came, and park those that have none.
 * One that moves goes to the back of its level. Its version stays.
 *
 * @param work the block
 * @param market the market, whose book changes
 */
export function repricePegged({ block, emit }: Work, market: MarketState): void {
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
    liftOrder(market, order);
  }
  for (const { order, price } of moved) {
    const updated = { ...order, updatedAt: block.time };
    if (price === "0") {
      keepOrder(market, parked(updated));
      emit({ case: "order", value: parked(updated) });
    } else {
      const resting = { ...updated, status: Order_Status.ACTIVE, price };
      restOrder(market, resting);
      emit({ case: "order", value: resting });
    }
  }
}
