import { assertOneOf, parsePositiveInteger } from "../../base/input/assert.js";
import { randomFraction } from "../../base/runtime/index.js";
import type { PostgresSink } from "../sinks/postgres/postgres-sink.js";
import { type ParsedSyncOptions, parseSyncOptions, type SyncOptions } from "../sync-options.js";

/** Limits of calls of one node by all planners and workers of a queue together. Give all of them the same limits. */
export interface CallLimits {
  /** Calls per second; 20 by default, which nodes allow per address. */
  readonly callsPerSecond?: number | undefined;
  /** Maximum burst of calls after a pause; 100 by default. */
  readonly burst?: number | undefined;
}

/** Options of a planner. */
export interface QueueOptions extends Omit<SyncOptions, "sink" | "parallel">, CallLimits {
  /** Where the tables and the queue are stored. It is opened, and closed at the end. */
  readonly sink: PostgresSink;
  /** @internal */
  readonly timings?: Partial<QueueTimings> | undefined;
}

/** Options of a worker. */
export interface WorkerOptions
  extends Pick<SyncOptions, "parallel" | "unknownColumns" | "signal" | "hooks">,
    CallLimits {
  /** Where the tables and the queue are stored. It is opened, and closed at the end. */
  readonly sink: PostgresSink;
  /** Maximum number of exports of a node that all workers together have in flight; 4 by default. */
  readonly exportsPerNode?: number | undefined;
  /**
   * Whether exports count towards the calls per second; true by default. Nodes do not count exports over gRPC, so that
   * false is right if all nodes are called over it.
   */
  readonly countExports?: boolean | undefined;
  /** @internal */
  readonly timings?: Partial<QueueTimings> | undefined;
}

/** The options of a planner after validation. */
export interface ParsedQueueOptions extends ParsedSyncOptions {
  readonly budget: CallBudget;
  readonly timings: QueueTimings;
}

/** The options of a worker after validation. */
export interface ParsedWorkerOptions
  extends Pick<ParsedSyncOptions, "parallel" | "unknownColumns" | "signal" | "hooks"> {
  readonly exportsPerNode: number;
  readonly budget: CallBudget;
  /** Absent if exports do not count as calls. */
  readonly exportBudget: CallBudget | undefined;
  readonly timings: QueueTimings;
}

/** Maximum number of concurrent exports, and of calls per second. */
const MAX_LIMIT = 10_000;

/**
 * Validates the options of a planner and fills in the defaults.
 *
 * @throws {@link RequestError} if a name is unknown or a value is wrong
 */
export function parseQueueOptions(options: QueueOptions): ParsedQueueOptions {
  const { callsPerSecond, burst, timings, ...rest } = options;
  return {
    ...parseSyncOptions(rest),
    budget: budgetOf({ callsPerSecond, burst }),
    timings: { ...QUEUE_TIMINGS, ...timings },
  };
}

/**
 * Validates the options of a worker and fills in the defaults.
 *
 * @throws {@link RequestError} if a name is unknown or a value is wrong
 */
export function parseWorkerOptions(options: WorkerOptions): ParsedWorkerOptions {
  const { callsPerSecond, burst, exportsPerNode = 4, countExports = true, timings, ...rest } = options;
  assertOneOf("countExports", countExports, [true, false]);
  const { parallel, unknownColumns, signal, hooks } = parseSyncOptions(rest);
  const budget = budgetOf({ callsPerSecond, burst });
  return {
    parallel,
    unknownColumns,
    signal,
    hooks,
    exportsPerNode: parsePositiveInteger("exportsPerNode", exportsPerNode, MAX_LIMIT),
    budget,
    exportBudget: countExports ? budget : undefined,
    timings: { ...QUEUE_TIMINGS, ...timings },
  };
}

function budgetOf({ callsPerSecond = 20, burst = 100 }: CallLimits): CallBudget {
  return {
    rate: parsePositiveInteger("callsPerSecond", callsPerSecond, MAX_LIMIT),
    burst: parsePositiveInteger("burst", burst, MAX_LIMIT),
  };
}

/** The combined limits of all workers' calls to a node. */
export interface CallBudget {
  /** Calls a second. */
  readonly rate: number;
  /** Maximum burst of calls after a pause. */
  readonly burst: number;
}

/** The timings of a queue, in milliseconds. Tests use shorter ones. */
export interface QueueTimings {
  /** Between two heartbeats of a worker. */
  readonly heartbeatMs: number;
  /** How long the claims of a worker stay valid after its last heartbeat. */
  readonly leaseMs: number;
  /** Between two heartbeats of the leader, on the connection that holds its lock. */
  readonly leaderHeartbeatMs: number;
  /** After this time without a statement, PostgreSQL ends the leader's connection, so that another planner can lead. */
  readonly leaderTimeoutMs: number;
  /** Between two checks of a planner: of the lock while it waits, of the queue while it leads. */
  readonly checkMs: number;
  /** The first and the longest wait of a worker that finds nothing to do. */
  readonly idleMs: readonly [first: number, longest: number];
  /** The shortest time between two readings of the nodes' history, and of the stored plan, by a worker. */
  readonly listingMs: number;
  /** The same if a worker claims a unit that is newer than the history of its nodes. */
  readonly newSegmentMs: number;
  /** The delay of a unit that another worker is loading. */
  readonly busyRetryMs: number;
  /** The delay of a unit whose node is unreachable, or that no node has. */
  readonly unreachableRetryMs: number;
  /** Until the second attempt at a unit, in seconds. */
  readonly retrySeconds: number;
  /** The first and the longest delay before the next call of a node that failed. */
  readonly nodeBackoffMs: readonly [first: number, longest: number];
}

/** The default timings of a queue. */
export const QUEUE_TIMINGS: QueueTimings = {
  heartbeatMs: 5000,
  leaseMs: 30_000,
  leaderHeartbeatMs: 5000,
  leaderTimeoutMs: 30_000,
  checkMs: 2000,
  idleMs: [500, 10_000],
  listingMs: 60_000,
  newSegmentMs: 1000,
  busyRetryMs: 10_000,
  unreachableRetryMs: 20_000,
  retrySeconds: 10,
  nodeBackoffMs: [1000, 60_000],
};

/** Shortens a time by a random fraction of up to a half, so that concurrent waits do not end at the same moment. */
export function jittered(ms: number): number {
  return ms * (0.5 + randomFraction() / 2);
}
