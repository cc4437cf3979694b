// The package vega.

// Also exported by the package's root: the same objects, in place of those of vega_pb.js.
export {
  Order_Status,
  Order_TimeInForce,
  Order_Type,
  PeggedReference,
  Side,
  StopOrder_ExpiryStrategy,
  StopOrder_RejectionReason,
  StopOrder_SizeOverrideSetting,
  StopOrder_Status,
  StopOrder_TriggerDirection,
} from "../../../gen/client/vega/vega_pb.js";
export * from "../../../gen/vega/assets_pb.js";
export * from "../../../gen/vega/chain_events_pb.js";
export * from "../../../gen/vega/data_source_pb.js";
export * from "../../../gen/vega/governance_pb.js";
export * from "../../../gen/vega/markets_pb.js";
export * from "../../../gen/vega/oracle_pb.js";
export * from "../../../gen/vega/vega_pb.js";
