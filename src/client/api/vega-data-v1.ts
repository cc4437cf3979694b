// The package vega.data.v1.
export * from "../../../gen/vega/data/v1/data_pb.js";
export * from "../../../gen/vega/data/v1/spec_pb.js";
