export {
  CanceledError,
  ConnectionError,
  FileError,
  type HttpAnswer,
  NodeError,
  type NodeErrorOptions,
  ProtocolError,
  RequestError,
} from "./errors.js";
export { BannedError } from "./rate-limit-error.js";
export type { Refusal } from "./refusal.js";
export type { ErrorSection } from "./sections.js";
export { SinkError } from "./sink-error.js";
export { SlowConsumerError } from "./slow-consumer-error.js";
export {
  codeName,
  type ErrorObject,
  TradewireError,
  type TradewireErrorOptions,
  type TypedObject,
} from "./tradewire-error.js";
export {
  CommandError,
  OutcomeUnknownError,
  type RefusedTransaction,
  type SubmissionResult,
  TransactionError,
  type TransactionIdentity,
} from "./transaction-errors.js";
