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
import { orderErrorText, TRADING_NOT_ALLOWED } from "./order-errors.js";
import { volumeOf } from "./positions.js";
import { isContinuous, isOpen, type MarketState } from "./state.js";

const { IOC, FOK, GTC, GTT, GFA, GFN } = Order_TimeInForce;

/** The largest size of an order. */
export const LARGEST_SIZE = MAX_INT64 / 2n;

/** Whether an order rests on the book where it finds nothing to trade with. */
export function isPersistent({ type, timeInForce }: Pick<Order, "type" | "timeInForce">): boolean {
  return type === Order_Type.LIMIT && timeInForce !== IOC && timeInForce !== FOK;
}

/** Why an order is rejected. */
export interface Rejection {
  /** The reason that the order has; the network leaves it out where a price is no multiple of the tick size. */
  readonly reason?: OrderError;
  /** The text that the transaction's result has. */
  readonly text: string;
}

/**
 * Finds why an order is rejected, in the order of the network's checks (v0.78.0, `core/execution/future/market.go`,
 * SubmitOrderWithIDGeneratorAndOrderID and validateOrder).
 *
 * @param market the order's market
 * @param order the order
 * @returns why, if it is
 */
export function rejectionOf(market: MarketState, order: Order): Rejection | undefined {
  const { type, price, peggedOrder, timeInForce, createdAt, expiresAt } = order;
  if (type === Order_Type.LIMIT && peggedOrder === undefined && BigInt(price) === 0n) {
    return { reason: OrderError.PRICE_NOT_IN_TICK_SIZE, text: INVALID_PRICE };
  }
  const maxPrice = maxPriceOf(market);
  if (maxPrice !== undefined && BigInt(price) >= maxPrice) {
    return { reason: OrderError.PRICE_MUST_BE_LESS_THAN_OR_EQUAL_TO_MAX_PRICE, text: INVALID_PRICE };
  }
  if (!isOpen(market)) {
    return { reason: OrderError.MARKET_CLOSED, text: TRADING_NOT_ALLOWED };
  }
  if ((timeInForce === GTT || expiresAt > 0n) && expiresAt < createdAt) {
    return timingRejection(market, order) ?? { reason: OrderError.INVALID_EXPIRATION_DATETIME, text: INVALID_EXPIRY };
  }
  const tick = tickReason(market, order);
  const reason = peggedReason(order);
  return (
    timingRejection(market, order) ??
    (reason === undefined ? undefined : { reason, text: orderErrorText(reason) }) ??
    (tick === undefined ? undefined : { text: orderErrorText(tick) }) ??
    kindRejection(order)
  );
}

const INVALID_PRICE = "invalid order price";
const INVALID_EXPIRY = "invalid expiresAt time";

function maxPriceOf({ market }: MarketState): bigint | undefined {
  const product = market.tradableInstrument?.instrument?.product;
  const maxPrice = product?.case === "future" ? product.value.cap?.maxPrice : undefined;
  return maxPrice === undefined ? undefined : BigInt(maxPrice);
}

/** What does not go with the market's trading mode. */
function timingRejection(market: MarketState, { timeInForce }: Order): Rejection | undefined {
  if (isContinuous(market)) {
    return timeInForce === GFA
      ? {
          reason: OrderError.CANNOT_SEND_GFA_ORDER_DURING_CONTINUOUS_TRADING,
          text: "gfa order received during continuous trading",
        }
      : undefined;
  }
  switch (timeInForce) {
    case GFN:
      return {
        reason: OrderError.CANNOT_SEND_GFN_ORDER_DURING_AN_AUCTION,
        text: "gfn order received during auction trading",
      };
    case IOC:
      return {
        reason: OrderError.CANNOT_SEND_IOC_ORDER_DURING_AUCTION,
        text: "ioc order received during auction trading",
      };
    case FOK:
      return {
        reason: OrderError.CANNOT_SEND_FOK_ORDER_DURING_AUCTION,
        text: "fok order received during auction trading",
      };
    default:
      return undefined;
  }
}

/** What does not go with the order's type. */
function kindRejection(order: Order): Rejection | undefined {
  if (order.type === Order_Type.NETWORK) {
    return { reason: OrderError.INVALID_TYPE, text: "invalid order type" };
  }
  const reason = kindReason(order);
  return reason === undefined ? undefined : { reason, text: orderErrorText(reason) };
}

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
 * Finds whether the price of an order, or the offset of a pegged one, is no multiple of the market's tick size.
 *
 * @param market the market
 * @param order the order
 * @returns the reason, if so
 */
export function tickReason(market: MarketState, { price, peggedOrder }: Order): OrderError | undefined {
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
  const { reference, offset } = peggedOrder;
  if (reference === PeggedReference.UNSPECIFIED) {
    return OrderError.WITHOUT_REFERENCE_PRICE;
  }
  if (side === Side.BUY && reference === PeggedReference.BEST_ASK) {
    return OrderError.BUY_CANNOT_REFERENCE_BEST_ASK_PRICE;
  }
  if (side === Side.SELL && reference === PeggedReference.BEST_BID) {
    return OrderError.SELL_CANNOT_REFERENCE_BEST_BID_PRICE;
  }
  return reference === PeggedReference.MID && BigInt(offset) === 0n
    ? OrderError.OFFSET_MUST_BE_GREATER_THAN_ZERO
    : undefined;
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
