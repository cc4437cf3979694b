// The package vega.
export * from "../../gen/vega/assets_pb.js";
export * from "../../gen/vega/chain_events_pb.js";
export * from "../../gen/vega/data_source_pb.js";
export * from "../../gen/vega/governance_pb.js";
export * from "../../gen/vega/markets_pb.js";
export * from "../../gen/vega/oracle_pb.js";
export * from "../../gen/vega/vega_pb.js";
