/**
 * The client: exports, listings, ledger, transactions and events of a node; archives and CSV without one.
 *
 * @module tradewire
 */

export { Code } from "@connectrpc/connect";
export { type HistorySegment, Table } from "../gen/client/datanode/api/v2/trading_data_pb.js";
export { SubmitTransactionRequest_Type } from "../gen/client/vega/api/v1/core_pb.js";
export type { NetworkParameter } from "../gen/client/vega/vega_pb.js";
export {
  Order_TimeInForce,
  Order_Type,
  PeggedReference,
  Side,
  type StopOrder,
  StopOrder_ExpiryStrategy,
  StopOrder_RejectionReason,
  StopOrder_SizeOverrideSetting,
  StopOrder_Status,
  StopOrder_TriggerDirection,
} from "../gen/client/vega/vega_pb.js";
export * from "./archive/index.js";
export { type Client, createClient } from "./client/index.js";
export type { NodeStatus } from "./client/nodes.js";
export {
  type ClientConfig,
  type Config,
  type HeaderFunction,
  type HeadersCall,
  readConfig,
} from "./config/config-schema.js";
export {
  type ConfigArgument,
  type ConfigFile,
  type LoadConfigOptions,
  type LoadedConfig,
  loadConfig,
} from "./config/load-config.js";
export * from "./csv/index.js";
export {
  BannedError,
  CanceledError,
  CommandError,
  ConnectionError,
  type ErrorCode,
  type ErrorObject,
  type ErrorText,
  FileError,
  type HttpAnswer,
  NodeError,
  type NodeErrorOptions,
  type OptionNames,
  OutcomeUnknownError,
  PolicyError,
  type PolicyErrorOptions,
  ProtocolError,
  type Refusal,
  RequestError,
  SlowConsumerError,
  type SubmissionResult,
  TradewireError,
  TransactionError,
  type TransactionIdentity,
  type TypedObject,
} from "./errors/index.js";
export type { SaveTarget } from "./file/save-target.js";
export type {
  Guard,
  GuardOptions,
  KillOptions,
  KillReport,
} from "./guard/guard.js";
export {
  type GuardMode,
  type MarketPolicy,
  type Policy,
  type PolicyCommand,
  type PolicyInput,
  parsePolicy,
} from "./guard/policy.js";
export type { DataNodeLag } from "./history/data-node-lag.js";
export {
  type AssembleOptions,
  assemble,
  capturedChunks,
  type ExportChunk,
  type ExportResult,
  exportChunks,
} from "./history/export-chunks.js";
export type { ExportRequest } from "./history/export-request.js";
export type {
  ExportOptions,
  ExportProgress,
  NetworkHistoryExport,
  SavedExport,
  SaveOptions,
} from "./history/network-history-export.js";
export type { Segment } from "./history/segment-chain.js";
export {
  type BlockRange,
  checkRange,
  contiguousSpans,
  gapsBetween,
  type RangeCheck,
  type SegmentHeights,
  type SegmentSpan,
  schemaSpans,
  snapRange,
} from "./history/segments.js";
export type { CallOptions, ServiceCallOptions } from "./input/call-options.js";
export type { IntentEnding } from "./intent/entries.js";
export { openFileJournal } from "./intent/file-journal.js";
export type { EntryPlace, Journal } from "./intent/journal.js";
export type { Orders, OrdersOptions, ResumedIntent, SettleOptions, SubmitIntentOptions } from "./intent/orders.js";
export {
  type JournalConnection,
  type JournalPool,
  openPostgresJournal,
  type PostgresJournalOptions,
} from "./intent/postgres-journal.js";
export type { SettledIntent } from "./intent/settle.js";
export { jsonReplacer } from "./json/json-values.js";
export { messageToJson } from "./json/message-json.js";
export { enumName } from "./json/protobuf-json.js";
export type { LeaseCoverage, MarketCoverage, PositionCoverage } from "./lease/coverage.js";
export type { LeasedSubmission, ReleaseSettings } from "./lease/lease-keeper.js";
export type { LeaseEvent, LeasesOptions } from "./lease/lease-options.js";
export type { LeaseTrigger } from "./lease/lease-state.js";
export type { LeaseCallOptions, Leases, ReleaseOptions } from "./lease/leases.js";
export type { LedgerExport, LedgerOptions, SavedLedger } from "./ledger/ledger-export.js";
export type { LedgerRequest } from "./ledger/ledger-request.js";
export type { ListedRecord, ListOptions } from "./listing/listed-records.js";
export type { DateRange, ExpiryStrategyName, StatusName, StopOrderFilter } from "./listing/listing-filters.js";
export type { Listings, StopOrderRecord } from "./listing/listings.js";
export type { PaginationRequest } from "./listing/pagination.js";
export type { PagesOptions, Paging, RecordsOptions } from "./listing/paging.js";
export type { NodeOf, PagingMethod } from "./listing/paging-method.js";
export { eventTypes } from "./live/event-types.js";
export type { ExecutedCommand, ExecuteOptions, OutcomeWait } from "./live/execution.js";
export type {
  FollowEvent,
  FollowedRows,
  FollowedSegment,
  Following,
  FollowOptions,
  FollowRequest,
  TypedFollowOptions,
} from "./live/follow-table.js";
export type {
  EventOrigin,
  EventsOptions,
  EventsRequest,
  EventType,
  Gap,
  LiveEvent,
  LiveEventOf,
  UnknownEvent,
} from "./live/live-events.js";
export type { ExecuteCommandOptions, OutcomeOptions } from "./live/outcomes.js";
export type {
  ExecutedOutcome,
  FailedOutcome,
  Outcome,
  OutcomePart,
  Trace,
  UnknownOutcome,
} from "./live/transaction-outcome.js";
export type { ResultsGap, ResultsRequest } from "./live/transaction-results.js";
export type { AccountChange, AccountRecords, RecordChange, RecordKind } from "./market/account-records.js";
export type { AccountView } from "./market/account-state.js";
export type { BookOptions } from "./market/book.js";
export { formatDecimal, parseDecimal } from "./market/decimal.js";
export type {
  DecimalAmendment,
  DecimalCommands,
  DecimalOrder,
  DecimalStopOrder,
  DecimalStopOrders,
} from "./market/decimal-commands.js";
export type {
  AssetUnits,
  DecimalRecordType,
  DecimalsOf,
  DecimalUnits,
  MarketUnits,
  PriceUnits,
} from "./market/market-units.js";
export type { BookGap, BookView } from "./market/order-book.js";
export type { Profile } from "./schema/profile.js";
export { rowInterface, rowJsonSchema } from "./schema/row-types.js";
export { alterTablesSql, createTableSql, createTypesSql, type SqlDialect, type SqlOptions } from "./schema/sql.js";
export {
  type ColumnMeaning,
  type ColumnType,
  FIRST_SCHEMA_VERSION,
  NEWEST_SCHEMA_VERSION,
  schemaVersions,
  type TableColumn,
  type TableSchema,
  tableSchema,
} from "./schema/table-schema.js";
export { connectSigner } from "./signer/connect-signer.js";
export { serveSigner } from "./signer/serve-signer.js";
export type {
  ConnectSignerOptions,
  RemoteSigner,
  ServedSigner,
  ServeSignerOptions,
  SignerEvent,
  SignerServer,
} from "./signer/signer-types.js";
export * from "./transaction/index.js";
export type { SubmissionType, SubmitOptions, SubmitRequest } from "./transaction/submission.js";
export type {
  SendCommandOptions,
  SentCommand,
  SignCommandOptions,
  Transactions,
} from "./transaction/transactions.js";
export type { Validity } from "./transaction/validity.js";
export type { SentTo } from "./transport/call-context.js";
export type { CallEnd, CallInfo, FallbackInfo, Hooks, NodeChange, RetryInfo, WaitInfo } from "./transport/hooks.js";
export { type FallbackMember, type FallbackOptions, fallback } from "./transport/layers/fallback.js";
export type { ServiceClient } from "./transport/service-client.js";
export { type ClosableTransport, createTransport, type TransportOptions } from "./transport/transport.js";
