import { OrderError } from "../../../gen/vega/vega_pb.js";

/**
 * Gives the network's text for a reason for which an order was refused (v0.78.0, `protos/vega/errors.go`). It has none for
 * some of the reasons.
 *
 * @param reason the reason
 * @returns the text, as results of transactions have it
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

/** Texts of refusals that are not about an order's own fields (v0.78.0, `core/execution/common/errors.go`). */
export const TRADING_NOT_ALLOWED = "trading not allowed";
export const ORDER_NOT_FOUND = "unable to find the order in the market";
export const MARGIN_CHECK_FAILED = "margin check failed";
