/**
 * Network history into tables, once each, and kept up to date.
 *
 * @module tradewire/sync
 */

export { SinkError } from "../errors/index.js";
export type { DataNodeLag } from "../history/data-node-lag.js";
export type { NodeLag } from "./agree.js";
export type { SyncEvent } from "./events.js";
export { createLoader, type LoadOptions, type UnitOutcome } from "./load-unit.js";
export type {
  FailedUnit,
  SyncClient,
  SyncHooks,
  SyncOptions,
  SyncSummary,
  Verified,
} from "./options.js";
export { PartingError } from "./parting.js";
export { type HistoryPlan, planHistory, type TablePlan } from "./plan.js";
export {
  type CallLimits,
  type DeadLetter,
  type NodeState,
  type QueueOptions,
  type QueueStatus,
  queueStatus,
  queueSync,
  retryFailed,
  runWorker,
  type UnderWay,
  type WorkerOptions,
  type WorkerState,
  type WorkerSummary,
} from "./queue/index.js";
export { type Repaired, type RepairOptions, repairSync } from "./repair.js";
export type {
  FetchUnit,
  LoadResult,
  MissingSegment,
  Parting,
  Sink,
  SinkOpening,
  Survey,
  SurveyQuestion,
  TableCoverage,
  TableSurvey,
  UnitCsv,
} from "./sink.js";
export { FROM_BLOCK, type SinkColumn, sinkColumns, targetOf } from "./sinks/columns.js";
export { type DuckdbSinkOptions, duckdbSink } from "./sinks/duckdb/duckdb-sink.js";
export { type Compacted, type CompactOptions, compactParquet } from "./sinks/parquet/compact.js";
export { type ParquetSinkOptions, parquetSink } from "./sinks/parquet/parquet-sink.js";
export type { PostgresPool } from "./sinks/postgres/pool.js";
export { type PostgresSink, type PostgresSinkOptions, postgresSink } from "./sinks/postgres/postgres-sink.js";
export { type StatusOptions, type SyncStatus, syncStatus } from "./status.js";
export { mergedSurvey, surveyOf } from "./survey.js";
export { syncHistory } from "./sync.js";
export type { LedgerEntry, Measures, NodeHistory, Segment, Unit } from "./unit.js";
export { unitsOf } from "./units.js";
export { type TableRange, type Verification, type VerifyOptions, verifySync } from "./verify.js";
export * from "./watch/index.js";
