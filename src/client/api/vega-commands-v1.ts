// The package vega.commands.v1.

// Also exported by the package's root: the same objects, in place of those of transaction_pb.js.
export { TransactionSchema, TxVersion } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
export * from "../../../gen/vega/commands/v1/commands_pb.js";
export * from "../../../gen/vega/commands/v1/data_pb.js";
export * from "../../../gen/vega/commands/v1/signature_pb.js";
export * from "../../../gen/vega/commands/v1/transaction_pb.js";
export * from "../../../gen/vega/commands/v1/validator_commands_pb.js";
