import {
  type Order,
  Order_TimeInForce,
  Order_Type,
  OrderError,
  PeggedReference,
  Side,
} from "../../../gen/vega/vega_pb.js";
import { openSize } from "./book.js";
import { larger, MAX_INT64, magnitude, smaller } from "./decimal.js";
import { balanceOf, generalAccount } from "./ledger.js";
import { volumeOf } from "./positions.js";
import { isContinuous, isOpen, type MarketState, type Work } from "./state.js";

const { IOC, FOK, GTC, GTT, GFA, GFN } = Order_TimeInForce;

/** The largest size of an order. */
export const LARGEST_SIZE = MAX_INT64 / 2n;

/** Whether an order rests on the book where it finds nothing to trade with. */
export function isPersistent({ type, timeInForce }: Pick<Order, "type" | "timeInForce">): boolean {
  return type === Order_Type.LIMIT && timeInForce !== IOC && timeInForce !== FOK;
}

/**
 * Find why an order is rejected.
 *
 * @param work the block
 * @param market the order's market, if there is one
 * @param order the order
 * @returns the reason, if there is one
 */
export function rejectionReason(work: Work, market: MarketState | undefined, order: Order): OrderError | undefined {
  if (market === undefined) {
    return OrderError.INVALID_MARKET_ID;
  }
  if (!isOpen(market)) {
    return OrderError.MARKET_CLOSED;
  }
  return (
    timingReason(market, order, work.block.time) ??
    kindReason(order) ??
    priceReason(market, order) ??
    peggedReason(order) ??
    (balanceOf(work.state, generalAccount(order.partyId, market.asset)) === 0n
      ? OrderError.INSUFFICIENT_ASSET_BALANCE
      : undefined)
  );
}

/** What does not go with the market's trading mode, or with the time. */
function timingReason(market: MarketState, { timeInForce, expiresAt }: Order, now: bigint): OrderError | undefined {
  if (isContinuous(market)) {
    if (timeInForce === GFA) {
      return OrderError.CANNOT_SEND_GFA_ORDER_DURING_CONTINUOUS_TRADING;
    }
  } else if (timeInForce === GFN) {
    return OrderError.CANNOT_SEND_GFN_ORDER_DURING_AN_AUCTION;
  } else if (timeInForce === IOC) {
    return OrderError.CANNOT_SEND_IOC_ORDER_DURING_AUCTION;
  } else if (timeInForce === FOK) {
    return OrderError.CANNOT_SEND_FOK_ORDER_DURING_AUCTION;
  }
  return timeInForce === GTT && expiresAt <= now ? OrderError.INVALID_EXPIRATION_DATETIME : undefined;
}

/** What does not go with the order's type. */
function kindReason(order: Order): OrderError | undefined {
  const { type, timeInForce, reduceOnly, size } = order;
  if (type !== Order_Type.LIMIT && type !== Order_Type.MARKET) {
    return OrderError.INVALID_TYPE;
  }
  if (type === Order_Type.MARKET && timeInForce !== IOC && timeInForce !== FOK) {
    return OrderError.INVALID_PERSISTENCE;
  }
  if (reduceOnly && isPersistent(order)) {
    return OrderError.INVALID_TIME_IN_FORCE;
  }
  return sizeReason(size);
}

/** What is wrong with a size. */
export function sizeReason(size: bigint): OrderError | undefined {
  return size <= 0n || size > LARGEST_SIZE ? OrderError.INVALID_SIZE : undefined;
}

/**
 * Tell whether a party's position could pass 64 bits, if an order and the party's others of its side were filled. The
 * network looks at the orders alone; here what the party holds counts too, so that what is told of it is always right.
 *
 * @param market the market
 * @param order the order, new or as it is amended
 * @returns the network's text, if so
 */
export function overflowReason(market: MarketState, order: Order): string | undefined {
  const { id, partyId, side } = order;
  const volume = volumeOf(market, partyId);
  let potential = larger(side === Side.BUY ? volume : -volume, 0n) + openSize(order);
  for (const other of market.orders.values()) {
    potential += other.partyId === partyId && other.side === side && other.id !== id ? openSize(other) : 0n;
  }
  return potential > MAX_INT64 ? "cannot register position without causing overflow" : undefined;
}

/**
 * Find what is wrong with the price of an order, or with the offset of a pegged one.
 *
 * @param market the market
 * @param order the order
 * @returns the reason, if there is one
 */
export function priceReason(market: MarketState, { price, peggedOrder }: Order): OrderError | undefined {
  const product = market.market.tradableInstrument?.instrument?.product;
  const maxPrice = product?.case === "future" ? product.value.cap?.maxPrice : undefined;
  if (maxPrice !== undefined && BigInt(price) > BigInt(maxPrice)) {
    return OrderError.PRICE_MUST_BE_LESS_THAN_OR_EQUAL_TO_MAX_PRICE;
  }
  const stepped = BigInt(peggedOrder?.offset ?? price);
  return stepped % market.tick === 0n ? undefined : OrderError.PRICE_NOT_IN_TICK_SIZE;
}

/**
 * Find what is wrong with a pegged order.
 *
 * @param order the order; one that is not pegged has nothing wrong
 * @returns the reason, if there is one
 */
export function peggedReason({ type, timeInForce, side, peggedOrder }: Order): OrderError | undefined {
  if (peggedOrder === undefined) {
    return undefined;
  }
  if (type !== Order_Type.LIMIT) {
    return OrderError.MUST_BE_LIMIT_ORDER;
  }
  if (timeInForce !== GTC && timeInForce !== GTT && timeInForce !== GFN) {
    return OrderError.MUST_BE_GTT_OR_GTC;
  }
  if (side === Side.BUY && peggedOrder.reference === PeggedReference.BEST_ASK) {
    return OrderError.BUY_CANNOT_REFERENCE_BEST_ASK_PRICE;
  }
  if (side === Side.SELL && peggedOrder.reference === PeggedReference.BEST_BID) {
    return OrderError.SELL_CANNOT_REFERENCE_BEST_BID_PRICE;
  }
  if (peggedOrder.reference === PeggedReference.UNSPECIFIED) {
    return OrderError.WITHOUT_REFERENCE_PRICE;
  }
  return BigInt(peggedOrder.offset) > 0n ? undefined : OrderError.OFFSET_MUST_BE_GREATER_THAN_ZERO;
}

/**
 * Compute how much of an order may trade. One that only reduces a position cannot enlarge or flip it: what is beyond is
 * cut off, and an order that is filled whole or not at all is then not filled.
 *
 * @param market the market
 * @param order the order
 * @returns the size; 0 where the order would reduce nothing
 */
export function tradableSize(market: MarketState, { partyId, side, size, reduceOnly, timeInForce }: Order): bigint {
  if (!reduceOnly) {
    return size;
  }
  const volume = volumeOf(market, partyId);
  const reduces = side === Side.BUY ? volume < 0n : volume > 0n;
  const most = reduces ? magnitude(volume) : 0n;
  return timeInForce === FOK && size > most ? 0n : smaller(size, most);
}
