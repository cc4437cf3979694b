/**
 * The client: exports, listings, ledger, transactions and events of a node; archives and CSV without one.
 *
 * @module tradewire
 */

export { type HistorySegment, Table } from "../gen/client/datanode/api/v2/trading_data_pb.js";
export { SubmitTransactionRequest_Type } from "../gen/client/vega/api/v1/core_pb.js";
export type { NetworkParameter } from "../gen/client/vega/vega_pb.js";
export {
  Order_Status,
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
export { Code } from "./base/errors/code.js";
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
} from "./base/errors/index.js";
export type { SaveTarget } from "./base/file/save-target.js";
export type { CallOptions, ServiceCallOptions } from "./base/input/call-options.js";
export type { InitOf } from "./base/input/init.js";
export type { Profile } from "./base/profile.js";
export { type Client, createClient } from "./client/index.js";
export type { NodeStatus } from "./client/nodes.js";
export * from "./data/archive/index.js";
export * from "./data/csv/index.js";
export type { DataNodeLag } from "./data/history/data-node-lag.js";
export {
  type AssembleOptions,
  assemble,
  capturedChunks,
  type ExportChunk,
  type ExportResult,
  exportChunks,
} from "./data/history/export-chunks.js";
export type { ExportRequest } from "./data/history/export-request.js";
export type {
  ExportOptions,
  ExportProgress,
  NetworkHistoryExport,
  SavedExport,
  SaveOptions,
} from "./data/history/network-history-export.js";
export type { ReferencedRecords, References } from "./data/history/referenced-records.js";
export type { Segment } from "./data/history/segment-chain.js";
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
} from "./data/history/segments.js";
export type { LedgerExport, LedgerOptions, SavedLedger } from "./data/ledger/ledger-export.js";
export type { LedgerRequest } from "./data/ledger/ledger-request.js";
export type {
  DateRange,
  EnumName,
  ExpiryStrategyName,
  StatusName,
  StopOrderFilter,
} from "./data/listing/listing-filters.js";
export type { Listings, StopOrderRecord } from "./data/listing/listings.js";
export type { PaginationRequest } from "./data/listing/pagination.js";
export {
  type ListedRecord,
  type ListOptions,
  type PagesOptions,
  type Paging,
  pages,
  type RecordsOptions,
  records,
} from "./data/listing/paging.js";
export type { ListingMethod, NodeOf, PagingMethod } from "./data/listing/paging-method.js";
export { rowInterface, rowJsonSchema } from "./data/schema/row-types.js";
export { alterTablesSql, createTableSql, createTypesSql, type SqlDialect, type SqlOptions } from "./data/schema/sql.js";
export {
  type ColumnMeaning,
  type ColumnType,
  FIRST_SCHEMA_VERSION,
  NEWEST_SCHEMA_VERSION,
  schemaVersions,
  type TableColumn,
  type TableSchema,
  tableSchema,
} from "./data/schema/table-schema.js";
export type {
  Guard,
  GuardOptions,
  KillOptions,
  KillReport,
} from "./trade/guard/guard.js";
export {
  type GuardMode,
  type MarketPolicy,
  type Policy,
  type PolicyCommand,
  type PolicyInput,
  parsePolicy,
} from "./trade/guard/policy.js";
export type { IntentEnding } from "./trade/intent/entries.js";
export { openFileJournal } from "./trade/intent/file-journal.js";
export type {
  EndIntentOptions,
  Intents,
  IntentsOptions,
  ResumedIntent,
  SettleOptions,
  SubmitIntentOptions,
} from "./trade/intent/intents.js";
export type { EntryPlace, Journal } from "./trade/intent/journal.js";
export {
  type JournalConnection,
  type JournalPool,
  openPostgresJournal,
  type PostgresJournalOptions,
} from "./trade/intent/postgres-journal.js";
export type { SettledIntent } from "./trade/intent/settle.js";
export type { LeaseCoverage, MarketCoverage, PositionCoverage } from "./trade/lease/coverage.js";
export type { LeasedSubmission, ReleaseSettings } from "./trade/lease/lease-keeper.js";
export type { LeaseEvent, LeasesOptions } from "./trade/lease/lease-options.js";
export type { LeaseTrigger } from "./trade/lease/lease-state.js";
export type { LeaseCallOptions, Leases, ReleaseOptions } from "./trade/lease/leases.js";
export { eventTypes } from "./trade/live/event-types.js";
export type { ExecutedCommand, ExecuteOptions, OutcomeWait } from "./trade/live/execution.js";
export type {
  FollowEvent,
  FollowedRows,
  FollowedSegment,
  Following,
  FollowOptions,
  FollowRequest,
  TypedFollowOptions,
} from "./trade/live/follow-table.js";
export type {
  EventOrigin,
  EventsOptions,
  EventsRequest,
  EventType,
  Gap,
  LiveEvent,
  LiveEventOf,
  UnknownEvent,
} from "./trade/live/live-events.js";
export type { ExecuteCommandOptions, OutcomeOptions } from "./trade/live/outcomes.js";
export type {
  ExecutedOutcome,
  FailedOutcome,
  Outcome,
  OutcomePart,
  Trace,
  UnknownOutcome,
} from "./trade/live/transaction-outcome.js";
export type { ResultsGap, ResultsRequest } from "./trade/live/transaction-results.js";
export type { AccountChange, AccountRecords, RecordChange, RecordKind } from "./trade/market/account-records.js";
export type { AccountView } from "./trade/market/account-state.js";
export type { BookOptions } from "./trade/market/book.js";
export { formatDecimal, parseDecimal, type UnitKind, type Units } from "./trade/market/decimal.js";
export type {
  DecimalAmendment,
  DecimalCommands,
  DecimalOrder,
  DecimalStopOrder,
  DecimalStopOrders,
} from "./trade/market/decimal-commands.js";
export type { DecimalFields, InUnits } from "./trade/market/field-units.js";
export type {
  AssetUnits,
  DecimalRecordType,
  DecimalsOf,
  DecimalUnits,
  MarketUnits,
  PriceUnits,
} from "./trade/market/market-units.js";
export type { BookGap, BookView } from "./trade/market/order-book.js";
export type {
  MarketsFilter,
  OrderStatusName,
  OrdersFilter,
  RecordFilter,
  RecordListings,
  StopOrdersFilter,
  TradesFilter,
  UnitsRecord,
} from "./trade/market/record-listings.js";
export { connectSigner, serveSigner } from "./trade/signer/signer-process.js";
export type {
  ConnectSignerOptions,
  RemoteSigner,
  ServedSigner,
  ServeSignerOptions,
  SignerEvent,
  SignerServer,
} from "./trade/signer/signer-types.js";
export * from "./trade/transaction/index.js";
export type { SubmissionType, SubmitOptions, SubmitRequest } from "./trade/transaction/submission.js";
export type {
  SendCommandOptions,
  SentCommand,
  SignCommandOptions,
  Transactions,
} from "./trade/transaction/transactions.js";
export type { Validity } from "./trade/transaction/validity.js";
export {
  type ClientConfig,
  type Config,
  type HeaderFunction,
  type HeadersCall,
  readConfig,
} from "./wire/config/config-schema.js";
export {
  type ConfigArgument,
  type ConfigFile,
  type LoadConfigOptions,
  type LoadedConfig,
  loadConfig,
} from "./wire/config/load-config.js";
export { httpStatusOf } from "./wire/http-rule/http-status.js";
export { jsonReplacer } from "./wire/json/json-values.js";
export { messageToJson } from "./wire/json/message-json.js";
export { enumName } from "./wire/json/protobuf-json.js";
export type { SentTo } from "./wire/transport/call-context.js";
export type {
  CallEnd,
  CallInfo,
  FallbackInfo,
  Hooks,
  NodeChange,
  RetryInfo,
  WaitInfo,
} from "./wire/transport/hooks.js";
export { type FallbackMember, type FallbackOptions, fallback } from "./wire/transport/layers/fallback.js";
export type { ServiceClient } from "./wire/transport/service-client.js";
export { type ClosableTransport, createTransport, type TransportOptions } from "./wire/transport/transport.js";
