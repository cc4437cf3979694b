import type { DataNodeLag } from "../../data/history/data-node-lag.js";
import type { BlockRange } from "../../data/history/segments.js";
import type { TableName } from "../../data/schema/table-names.js";
import type { Picture } from "./coverage-picture.js";

/** Totals of loaded units. */
export interface Loaded {
  readonly units: number;
  readonly rows: bigint;
  /** Bytes of CSV. */
  readonly bytes: bigint;
}

/**
 * Rates per second over the last minute, or since the start if that is shorter. 0 while the sync waits for node or
 * sink.
 */
export interface Rates {
  /** Bytes of CSV as they arrive. */
  readonly bytes: number;
  /** Committed rows. */
  readonly rows: number;
  /** Committed segments of tables. */
  readonly segments: number;
}

/** The progress of a table, or of all tables together. */
export interface Done {
  /** Segments of the node within the range; in a total, those of each table. */
  readonly segments: number;
  /** How many of them the sink has. */
  readonly done: number;
  readonly missing: number;
  /** Blocks that the sink lacks and that no node has, so that they cannot be loaded. */
  readonly gapBlocks: bigint;
  /** The coverage of the sink. */
  readonly there: Loaded;
  /** The total that this process has loaded. */
  readonly loaded: Loaded;
  readonly rates: Rates;
}

/** The progress of a table. */
export interface TableProgress extends Done {
  readonly table: TableName;
  /** The last block in the table; absent if it is empty. */
  readonly toBlock?: bigint;
}

/** A unit that is being fetched and loaded. */
export interface UnitUnderWay extends BlockRange {
  readonly table: TableName;
  readonly node: string;
  /** Bytes of CSV that have arrived. */
  readonly bytes: number;
  /** Seconds since it began. */
  readonly seconds: number;
}

/** An error, for people. Its texts come from nodes and sinks: show them as text, never as markup. */
export interface ErrorReport {
  /** When it happened, ISO 8601 in UTC. */
  readonly at: string;
  /** The class and the code's name, such as `ConnectionError UNAVAILABLE`. */
  readonly kind: string;
  /** The error message, in one line, truncated if it is long. */
  readonly message: string;
  /** What to do. */
  readonly advice: string;
  /** How often this error has occurred, also with other units; the last of them is shown. */
  readonly count: number;
  /** The unit that failed; absent if node or sink are unreachable. */
  readonly unit?: BlockRange & { readonly table: TableName };
  /** Number of attempts at the unit. */
  readonly attempt?: number;
  /** When it is retried, ISO 8601 in UTC; absent if the unit has failed for good. */
  readonly againAt?: string;
}

/** The lag of a node's last block behind its core's and the clock, at the last reading of its history. */
export interface LagReport {
  readonly state: DataNodeLag["state"];
  /** How much older the data node's last block was than the core's; absent if the core was unreachable. */
  readonly behindCoreSeconds?: number;
  /** The age of the core's last block, or of the data node's if the core was unreachable. */
  readonly behindClockSeconds: number;
  /** The same for people; the data node is the subject of the sentence. */
  readonly text: string;
}

/** A node that was called or that sent units. */
export interface NodeReport extends Loaded {
  readonly name: string;
  readonly underWay: number;
  /** Absent if it could not be compared. */
  readonly lag?: LagReport;
}

/** How far the sink is behind the node. */
export interface Lag {
  /** The node's last block minus the last block of the table that lags most. Gaps before it do not count. */
  readonly blocks: bigint;
  /**
   * Seconds since this process first saw the oldest segment after that table's last block in the node's listing; 0 if
   * there is none. (Segments have no time of their own.)
   */
  readonly seconds: number;
}

/**
 * The state of a sync: before its first plan, loading, waiting for node or sink, or done until the next reading of the
 * history.
 */
export type Phase = "starting" | "syncing" | "waiting" | "idle";

/** The state of a sync: a plain object for `JSON.stringify`, once its `bigint`s are converted to strings. */
export interface SyncSnapshot {
  /** The time of the snapshot, ISO 8601 in UTC. */
  readonly at: string;
  readonly startedAt: string;
  readonly phase: Phase;
  readonly chainId?: string;
  /** All blocks of the node's history; absent if it has none. */
  readonly node?: BlockRange;
  /** The node's history within the range; absent if no segment lies within it. */
  readonly history?: BlockRange & { readonly segments: number };
  readonly nodes: readonly NodeReport[];
  readonly total: Done;
  readonly tables: readonly TableProgress[];
  /** Seconds until nothing is missing, at the rate of the last ten minutes; absent if that is not known. */
  readonly secondsLeft?: number;
  /** Absent before the first plan, and while the sync waits if nothing newer was seen before. */
  readonly lag?: Lag;
  readonly underWay: readonly UnitUnderWay[];
  /** Units whose last attempt failed, and that were neither retried nor loaded since. */
  readonly failed: number;
  /** The last errors, newest first. */
  readonly errors: readonly ErrorReport[];
  /** The number of errors of each kind. */
  readonly errorCounts: Readonly<Record<string, number>>;
  /** The reason for the wait; absent if the sync does not wait. */
  readonly waiting?: ErrorReport;
  /**
   * Seconds without an event although there is work: since the last event, or since the announced time of the next one.
   * 0 if nothing is missing, in flight or due.
   */
  readonly silentSeconds: number;
  /** Columns and values that a newer node has sent. */
  readonly unknown: readonly { readonly table: TableName; readonly column: string; readonly value?: string }[];
  readonly picture?: Picture;
  /** Units of the queue by state; absent without a queue. */
  readonly queue?: Readonly<Record<string, number>>;
}

/** Returns whether there is a plan and the sync is not waiting for a node or the sink. */
export function isReady({ phase }: SyncSnapshot): boolean {
  return phase === "syncing" || phase === "idle";
}
