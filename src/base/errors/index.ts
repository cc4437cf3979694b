export {
  BannedError,
  CanceledError,
  ConnectionError,
  codeName,
  type ErrorObject,
  FileError,
  type HttpAnswer,
  NodeError,
  type NodeErrorOptions,
  PolicyError,
  type PolicyErrorOptions,
  ProtocolError,
  RequestError,
  type Server,
  SinkError,
  SlowConsumerError,
  serverOf,
  TradewireError,
  type TypedObject,
} from "./error-classes.js";
export type { ErrorCode } from "./error-codes.js";
export type { ErrorText, OptionNames } from "./error-text.js";
export type { Refusal } from "./transaction-errors.js";
export {
  CommandError,
  OutcomeUnknownError,
  type SubmissionResult,
  TransactionError,
  type TransactionIdentity,
} from "./transaction-errors.js";
