import {
  type Order,
  Order_TimeInForce,
  Order_Type,
  OrderError,
  PeggedReference,
  Side,
} from "../../../gen/vega/vega_pb.js";
import { max, min } from "../../base/bigints.js";
import { isContinuous, isOpen, type MarketState } from "./engine-state.js";
import { abs, MAX_INT64 } from "./fixed-point.js";
import { volumeOf } from "./open-positions.js";
import { trueRemaining } from "./order-book.js";

const { IOC, FOK, GTC, GTT, GFA, GFN } = Order_TimeInForce;

const MAX_ORDER_SIZE = MAX_INT64 / 2n;

export function isPersistent({ type, timeInForce }: Pick<Order, "type" | "timeInForce">): boolean {
  return type === Order_Type.LIMIT && timeInForce !== IOC && timeInForce !== FOK;
}

export interface OrderRejection {
  /** Reason in the order. The network leaves it out for a price that is not a multiple of the tick size. */
  readonly reason?: OrderError;
  /** Error text of the transaction result. */
  readonly text: string;
}

/**
 * Checks an order in the network's sequence (v0.78.0, `core/execution/future/market.go`,
 * SubmitOrderWithIDGeneratorAndOrderID and validateOrder).
 */
export function orderRejection(market: MarketState, order: Order): OrderRejection | undefined {
  const { type, price, peggedOrder, timeInForce, createdAt, expiresAt } = order;
  if (type === Order_Type.LIMIT && peggedOrder === undefined && BigInt(price) === 0n) {
    return { reason: OrderError.PRICE_NOT_IN_TICK_SIZE, text: INVALID_PRICE };
  }
  const maxPrice = priceCap(market);
  if (maxPrice !== undefined && BigInt(price) >= maxPrice) {
    return { reason: OrderError.PRICE_MUST_BE_LESS_THAN_OR_EQUAL_TO_MAX_PRICE, text: INVALID_PRICE };
  }
  if (!isOpen(market)) {
    return { reason: OrderError.MARKET_CLOSED, text: TRADING_NOT_ALLOWED };
  }
  if ((timeInForce === GTT || expiresAt > 0n) && expiresAt < createdAt) {
    return (
      timeInForceRejection(market, order) ?? { reason: OrderError.INVALID_EXPIRATION_DATETIME, text: INVALID_EXPIRY }
    );
  }
  const tick = tickSizeError(market, order);
  const reason = peggedOrderError(order);
  return (
    timeInForceRejection(market, order) ??
    (reason === undefined ? undefined : { reason, text: orderErrorText(reason) }) ??
    (tick === undefined ? undefined : { text: orderErrorText(tick) }) ??
    typeRejection(order)
  );
}

const INVALID_PRICE = "invalid order price";
const INVALID_EXPIRY = "invalid expiresAt time";

function priceCap({ market }: MarketState): bigint | undefined {
  const product = market.tradableInstrument?.instrument?.product;
  const maxPrice = product?.case === "future" ? product.value.cap?.maxPrice : undefined;
  return maxPrice === undefined ? undefined : BigInt(maxPrice);
}

/** The reasons against a time in force in continuous trading and in an auction. */
const NOT_IN = {
  continuous: { [GFA]: OrderError.CANNOT_SEND_GFA_ORDER_DURING_CONTINUOUS_TRADING },
  auction: {
    [GFN]: OrderError.CANNOT_SEND_GFN_ORDER_DURING_AN_AUCTION,
    [IOC]: OrderError.CANNOT_SEND_IOC_ORDER_DURING_AUCTION,
    [FOK]: OrderError.CANNOT_SEND_FOK_ORDER_DURING_AUCTION,
  },
} as const satisfies Readonly<Record<string, Partial<Record<Order_TimeInForce, OrderError>>>>;

/** Rejects a time in force that the market's trading mode does not allow. */
function timeInForceRejection(market: MarketState, { timeInForce }: Order): OrderRejection | undefined {
  const trading = isContinuous(market) ? "continuous" : "auction";
  const reasons: Partial<Record<Order_TimeInForce, OrderError>> = NOT_IN[trading];
  const reason = reasons[timeInForce];
  if (reason === undefined) {
    return undefined;
  }
  const name = Order_TimeInForce[timeInForce].toLowerCase();
  return { reason, text: `${name} order received during ${trading} trading` };
}

/** Rejects an invalid combination of type, time in force, reduce-only and size. */
function typeRejection(order: Order): OrderRejection | undefined {
  if (order.type === Order_Type.NETWORK) {
    return { reason: OrderError.INVALID_TYPE, text: "invalid order type" };
  }
  const reason = typeError(order);
  return reason === undefined ? undefined : { reason, text: orderErrorText(reason) };
}

function typeError(order: Order): OrderError | undefined {
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
  return sizeError(size);
}

export function sizeError(size: bigint): OrderError | undefined {
  return size <= 0n || size > MAX_ORDER_SIZE ? OrderError.INVALID_SIZE : undefined;
}

/**
 * Returns an error if filling an order, and the party's other orders of its side, could exceed a signed 64-bit
 * position. The network considers the orders only. Here the open position counts too, so that a reported position is
 * always correct.
 */
export function overflowError(market: MarketState, order: Order): string | undefined {
  const { id, partyId, side } = order;
  const volume = volumeOf(market, partyId);
  let potential = max(side === Side.BUY ? volume : -volume, 0n) + trueRemaining(order);
  for (const other of market.orders.values()) {
    potential += other.partyId === partyId && other.side === side && other.id !== id ? trueRemaining(other) : 0n;
  }
  return potential > MAX_INT64 ? "cannot register position without causing overflow" : undefined;
}

/** Returns an error if the price of an order, or the offset of a pegged order, is not a multiple of the tick size. */
export function tickSizeError(market: MarketState, { price, peggedOrder }: Order): OrderError | undefined {
  const stepped = BigInt(peggedOrder?.offset ?? price);
  return stepped % market.tick === 0n ? undefined : OrderError.PRICE_NOT_IN_TICK_SIZE;
}

export function peggedOrderError({ type, timeInForce, side, peggedOrder }: Order): OrderError | undefined {
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
 * Computes the size that an order may trade. A reduce-only order cannot enlarge or flip the position: its size is
 * limited to the position, and a larger fill-or-kill order does not trade.
 */
export function tradableSize(market: MarketState, { partyId, side, size, reduceOnly, timeInForce }: Order): bigint {
  if (!reduceOnly) {
    return size;
  }
  const volume = volumeOf(market, partyId);
  const reduces = side === Side.BUY ? volume < 0n : volume > 0n;
  const reducible = reduces ? abs(volume) : 0n;
  return timeInForce === FOK && size > reducible ? 0n : min(size, reducible);
}

/**
 * Returns the network's text for an order error (v0.78.0, `protos/vega/errors.go`). Some errors have no text of their
 * own.
 */
export function orderErrorText(reason: OrderError): string {
  const text = TEXTS[reason];
  return text === undefined ? "invalid OrderError" : `OrderError: ${text}`;
}

const TEXTS: Partial<Record<OrderError, string>> = {
  [OrderError.INVALID_MARKET_ID]: "Invalid Market ID",
  [OrderError.INVALID_ORDER_ID]: "Invalid Order ID",
  [OrderError.OUT_OF_SEQUENCE]: "Order Out Of Sequence",
  [OrderError.INVALID_REMAINING_SIZE]: "Invalid Remaining Size",
  [OrderError.TIME_FAILURE]: "Vega Time failure",
  [OrderError.REMOVAL_FAILURE]: "Order Removal Failure",
  [OrderError.INVALID_EXPIRATION_DATETIME]: "Invalid Expiration Datetime",
  [OrderError.INVALID_ORDER_REFERENCE]: "Invalid Order Reference",
  [OrderError.EDIT_NOT_ALLOWED]: "Edit Not Allowed",
  [OrderError.AMEND_FAILURE]: "Order Amend Failure",
  [OrderError.NOT_FOUND]: "Order Not Found",
  [OrderError.INVALID_PARTY_ID]: "Invalid Party ID",
  [OrderError.MARKET_CLOSED]: "Market Closed",
  [OrderError.MARGIN_CHECK_FAILED]: "Margin Check Failed",
  [OrderError.MISSING_GENERAL_ACCOUNT]: "Missing General Account",
  [OrderError.INTERNAL_ERROR]: "Internal Error",
  [OrderError.INVALID_SIZE]: "Invalid Size",
  [OrderError.INVALID_PERSISTENCE]: "Invalid Persistence",
  [OrderError.INSUFFICIENT_FUNDS_TO_PAY_FEES]: "Insufficient funds to pay fees",
  [OrderError.SELF_TRADING]: "Self trading",
  [OrderError.INVALID_TYPE]: "Invalid Type",
  [OrderError.CANNOT_AMEND_TO_GTT_WITHOUT_EXPIRYAT]: "Cannot amend order to GTT without an expiryAt field",
  [OrderError.EXPIRYAT_BEFORE_CREATEDAT]: "ExpiryAt field must not be before CreatedAt",
  [OrderError.CANNOT_HAVE_GTC_AND_EXPIRYAT]: "Cannot set ExpiryAt and GTC",
  [OrderError.CANNOT_AMEND_TO_FOK_OR_IOC]: "Cannot amend TIF to FOK or IOC",
  [OrderError.CANNOT_AMEND_TO_GFA_OR_GFN]: "Cannot amend TIF to GFA or GFN",
  [OrderError.CANNOT_AMEND_FROM_GFA_OR_GFN]: "Cannot amend TIF from GFA or GFN",
  [OrderError.INCORRECT_MARKET_TYPE]: "Invalid Market Type",
  [OrderError.CANNOT_SEND_GFN_ORDER_DURING_AN_AUCTION]: "GFN Order Received During An Auction",
  [OrderError.CANNOT_SEND_GFA_ORDER_DURING_CONTINUOUS_TRADING]: "GFA Order Received During Continuous Trading",
  [OrderError.CANNOT_SEND_IOC_ORDER_DURING_AUCTION]: "IOC orders are not allowed during auction",
  [OrderError.CANNOT_SEND_FOK_ORDER_DURING_AUCTION]: "FOK orders are not allowed during auction",
  [OrderError.INSUFFICIENT_ASSET_BALANCE]: "insufficient asset balance to submit order",
  [OrderError.CANNOT_AMEND_PEGGED_ORDER_DETAILS_ON_NON_PEGGED_ORDER]:
    "cannot amend pegged details on a non pegged order",
  [OrderError.INVALID_TIME_IN_FORCE]: "invalid time in force",
  [OrderError.BUY_CANNOT_REFERENCE_BEST_ASK_PRICE]: "buy cannot reference best ask price",
  [OrderError.OFFSET_MUST_BE_GREATER_OR_EQUAL_TO_ZERO]: "offset must be >= 0",
  [OrderError.SELL_CANNOT_REFERENCE_BEST_BID_PRICE]: "sell cannot reference best bid price",
  [OrderError.OFFSET_MUST_BE_GREATER_THAN_ZERO]: "offset must be greater than zero",
  [OrderError.NON_PERSISTENT_ORDER_OUT_OF_PRICE_BOUNDS]: "non-persistent order trades out of price bounds",
  [OrderError.TOO_MANY_PEGGED_ORDERS]: "too many pegged orders",
  [OrderError.POST_ONLY_ORDER_WOULD_TRADE]: "post only order would trade",
  [OrderError.REDUCE_ONLY_ORDER_WOULD_NOT_REDUCE_POSITION]: "reduce only order would not reduce position",
  [OrderError.ISOLATED_MARGIN_CHECK_FAILED]: "isolated margin check failed",
  [OrderError.PEGGED_ORDERS_NOT_ALLOWED_IN_ISOLATED_MARGIN_MODE]: "pegged orders not allowed in isolated margin mode",
  [OrderError.PRICE_NOT_IN_TICK_SIZE]: "price not in tick size",
  [OrderError.PRICE_MUST_BE_LESS_THAN_OR_EQUAL_TO_MAX_PRICE]: "price exceeds max price",
};

/** Error texts that do not depend on the order's fields (v0.78.0, `core/execution/common/errors.go`). */
export const TRADING_NOT_ALLOWED = "trading not allowed";
export const ORDER_NOT_FOUND = "unable to find the order in the market";
export const MARGIN_CHECK_FAILED = "margin check failed";
