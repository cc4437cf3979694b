// The package vega.api.v1.
export * from "../../gen/vega/api/v1/core_pb.js";
export * from "../../gen/vega/api/v1/corestate_pb.js";
