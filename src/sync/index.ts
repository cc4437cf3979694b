/**
 * Network history into tables, once each, and kept up to date.
 *
 * @module tradewire/sync
 */

export { SinkError } from "../base/errors/index.js";
export type { DataNodeLag } from "../data/history/data-node-lag.js";
export { compareCoverage, compareLedger } from "./coverage.js";
export { DivergenceError } from "./divergence.js";
export {
  type Amounts,
  type Estimated,
  type ExportsEstimate,
  estimateSync,
  type SyncEstimate,
  type TableEstimate,
} from "./estimate.js";
export type { NodeLag } from "./node-history.js";
export { type HistoryPlan, planHistory, type TablePlan } from "./plan-history.js";
export type { DeadLetter } from "./queue/queue-contents.js";
export type { CallLimits, QueueOptions, WorkerOptions } from "./queue/queue-options.js";
export {
  type NodeState,
  type QueueStatus,
  queueStatus,
  retryFailed,
  type UnderWay,
  type WorkerState,
} from "./queue/queue-status.js";
export { queueSync } from "./queue/queue-sync.js";
export { runWorker, type WorkerSummary } from "./queue/worker.js";
export { type Repaired, type RepairOptions, repairSync } from "./repair-sync.js";
export type {
  CoverageComparison,
  CoverageQuery,
  Divergence,
  FetchUnit,
  HistoryMark,
  LoadResult,
  Sink,
  SinkOpening,
  TableCoverage,
  TableRange,
  TableSummary,
  UnitCsv,
} from "./sink.js";
export { FROM_BLOCK, type SinkColumn, sinkColumns, targetOf } from "./sink-columns.js";
export { type DuckdbSinkOptions, duckdbSink } from "./sinks/duckdb/duckdb-sink.js";
export { type Compacted, type CompactOptions, compactParquet } from "./sinks/parquet/compact-parquet.js";
export { type ParquetSinkOptions, parquetSink } from "./sinks/parquet/parquet-sink.js";
export { type PostgresSink, type PostgresSinkOptions, postgresSink } from "./sinks/postgres/postgres-sink.js";
export type { PostgresPool } from "./sinks/postgres/postgres-target.js";
export { syncHistory } from "./sync.js";
export type { SyncEvent, SyncHooks } from "./sync-events.js";
export type { FailedUnit, SyncClient, SyncOptions, SyncSummary, Verified } from "./sync-options.js";
export { type StatusOptions, type SyncStatus, syncStatus } from "./sync-status.js";
export type { LedgerEntry, Measures, MissingSegment, NodeHistory, Segment, Unit } from "./unit.js";
export { unitsOf } from "./unit.js";
export { createLoader, type LoadOptions, type UnitOutcome } from "./unit-loader.js";
export { type Verification, type VerifyOptions, verifySync } from "./verify-sync.js";
export { type SyncViewsOptions, syncViews } from "./views/sync-views.js";
export * from "./watch/index.js";
