// The package datanode.api.v2.

// Also exported by the package's root: the same object, in place of that of trading_data_pb.js.
export { Table } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
export * from "../../../gen/datanode/api/v2/trading_data_pb.js";
