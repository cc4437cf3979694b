import type { DescEnum } from "@bufbuild/protobuf";
import {
  Order_StatusSchema,
  Order_TimeInForceSchema,
  Order_TypeSchema,
  OrderErrorSchema,
  PeggedReferenceSchema,
  SideSchema,
  Trade_TypeSchema,
} from "../../../../gen/client/vega/vega_pb.js";

/** The enum types of the tables: their values, in order. */
export const enums = {
  auction_trigger_type: [
    "AUCTION_TRIGGER_UNSPECIFIED",
    "AUCTION_TRIGGER_BATCH",
    "AUCTION_TRIGGER_OPENING",
    "AUCTION_TRIGGER_PRICE",
    "AUCTION_TRIGGER_LIQUIDITY",
    "AUCTION_TRIGGER_LIQUIDITY_TARGET_NOT_MET",
    "AUCTION_TRIGGER_UNABLE_TO_DEPLOY_LP_ORDERS",
    "AUCTION_TRIGGER_GOVERNANCE_SUSPENSION",
    "AUCTION_TRIGGER_LONG_BLOCK",
  ],
  composite_price_type: [
    "COMPOSITE_PRICE_TYPE_UNSPECIFIED",
    "COMPOSITE_PRICE_TYPE_WEIGHTED",
    "COMPOSITE_PRICE_TYPE_MEDIAN",
    "COMPOSITE_PRICE_TYPE_LAST_TRADE",
  ],
  deposit_status: [
    "STATUS_UNSPECIFIED",
    "STATUS_OPEN",
    "STATUS_CANCELLED",
    "STATUS_FINALIZED",
    "STATUS_DUPLICATE_REJECTED",
  ],
  liquidity_provision_status: [
    "STATUS_UNSPECIFIED",
    "STATUS_ACTIVE",
    "STATUS_STOPPED",
    "STATUS_CANCELLED",
    "STATUS_REJECTED",
    "STATUS_UNDEPLOYED",
    "STATUS_PENDING",
  ],
  margin_mode_type: ["MARGIN_MODE_UNSPECIFIED", "MARGIN_MODE_CROSS_MARGIN", "MARGIN_MODE_ISOLATED_MARGIN"],
  market_state_type: [
    "STATE_UNSPECIFIED",
    "STATE_PROPOSED",
    "STATE_REJECTED",
    "STATE_PENDING",
    "STATE_CANCELLED",
    "STATE_ACTIVE",
    "STATE_SUSPENDED",
    "STATE_CLOSED",
    "STATE_TRADING_TERMINATED",
    "STATE_SETTLED",
    "STATE_SUSPENDED_VIA_GOVERNANCE",
  ],
  market_trading_mode_type: [
    "TRADING_MODE_UNSPECIFIED",
    "TRADING_MODE_CONTINUOUS",
    "TRADING_MODE_BATCH_AUCTION",
    "TRADING_MODE_OPENING_AUCTION",
    "TRADING_MODE_MONITORING_AUCTION",
    "TRADING_MODE_NO_TRADING",
    "TRADING_MODE_SUSPENDED_VIA_GOVERNANCE",
    "TRADING_MODE_LONG_BLOCK_AUCTION",
  ],
  position_status_type: [
    "POSITION_STATUS_UNSPECIFIED",
    "POSITION_STATUS_ORDERS_CLOSED",
    "POSITION_STATUS_CLOSED_OUT",
    "POSITION_STATUS_DISTRESSED",
  ],
  withdrawal_status: ["STATUS_UNSPECIFIED", "STATUS_OPEN", "STATUS_REJECTED", "STATUS_FINALIZED"],
} as const;

/** The descriptors of the API's enums that numbers in the tables represent. */
export const wireEnums = {
  "vega.Order.Status": Order_StatusSchema,
  "vega.Order.TimeInForce": Order_TimeInForceSchema,
  "vega.Order.Type": Order_TypeSchema,
  "vega.OrderError": OrderErrorSchema,
  "vega.PeggedReference": PeggedReferenceSchema,
  "vega.Side": SideSchema,
  "vega.Trade.Type": Trade_TypeSchema,
} as const satisfies Readonly<Record<string, DescEnum>>;

/** The full name of an API enum that the tables store as numbers. */
export type WireEnum = keyof typeof wireEnums;
