// The package vega.api.v1.

// Also exported by the package's root: the same object, in place of that of core_pb.js.
export { SubmitTransactionRequest_Type } from "../../../gen/client/vega/api/v1/core_pb.js";
export * from "../../../gen/vega/api/v1/core_pb.js";
export * from "../../../gen/vega/api/v1/corestate_pb.js";
