import type { DataNodeLag } from "../../history/data-node-lag.js";
import type { BlockRange } from "../../history/segments.js";
import type { TableName } from "../../schema/tables.js";
import type { Picture } from "./picture.js";

/** What was loaded. */
export interface Loaded {
  readonly units: bigint;
  readonly rows: bigint;
  /** Bytes of CSV. */
  readonly bytes: bigint;
}

/**
 * How fast it goes, each per second: over the last minute, or since the start, where that is less. 0 while node or sink is
 * waited for.
 */
export interface Rates {
  /** Bytes of CSV as they arrive. */
  readonly bytes: number;
  /** Rows that were committed. */
  readonly rows: number;
  /** Segments of a table that were committed. */
  readonly segments: number;
}

/** Segments of a table, or of all tables together. */
export interface Done {
  /** Segments of the node within the range; in a total, those of each table. */
  readonly segments: number;
  /** How many of them the sink has. */
  readonly done: number;
  readonly missing: number;
  /** What the sink has. */
  readonly there: Loaded;
  /** What this process has loaded. */
  readonly loaded: Loaded;
  readonly rates: Rates;
}

/** A table's progress. */
export interface TableProgress extends Done {
  readonly table: TableName;
  /** The last block that is there; absent where nothing is. */
  readonly toBlock?: bigint;
}

/** A unit that is being fetched and loaded. */
export interface UnitUnderWay extends BlockRange {
  readonly table: TableName;
  readonly node: string;
  /** Bytes of CSV that have arrived. */
  readonly bytes: number;
  /** For how long, in seconds. */
  readonly seconds: number;
}

/** An error, for people. Its texts come from nodes and sinks: show them as text, never as markup. */
export interface ErrorReport {
  /** When, ISO 8601 in UTC. */
  readonly at: string;
  /** The class and the code's name, such as `ConnectionError UNAVAILABLE`. */
  readonly kind: string;
  /** What went wrong: one line, cut where it is long. */
  readonly message: string;
  /** What to do. */
  readonly advice: string;
  /** How often this error came, with other units, too: of these, the last is shown. */
  readonly count: number;
  /** The unit that failed; absent where node or sink could not be asked at all. */
  readonly unit?: BlockRange & { readonly table: TableName };
  /** How many times the unit has been tried. */
  readonly attempt?: number;
  /** When it is tried again, ISO 8601 in UTC; absent where the unit was given up. */
  readonly againAt?: string;
}

/** How a node's last block compares with its core's and with the clock, at the last look at its history. */
export interface LagReport {
  readonly state: DataNodeLag["state"];
  /** How much older the data node's last block was than the core's; absent if the core could not be asked. */
  readonly behindCoreSeconds?: number;
  /** How old the core's last block was; that of the data node if the core could not be asked. */
  readonly behindClockSeconds: number;
  /** The same for people; the data node is its subject. */
  readonly text: string;
}

/** A node that was asked, or that units came from. */
export interface NodeReport extends Loaded {
  readonly name: string;
  readonly underWay: number;
  /** Absent if it could not be compared. */
  readonly lag?: LagReport;
}

/** How far the sink is behind the node. */
export interface Lag {
  /** The node's last block less the last block of the table that is furthest behind. Gaps before it do not count. */
  readonly blocks: bigint;
  /**
   * Since when a segment behind that table's last block has been there without being loaded: the time since this
   * process first saw the oldest such segment in the node's listing. 0 where there is none. (Segments carry no time.)
   */
  readonly seconds: number;
}

/** What a sync does: before its first plan, at work, waiting for node or sink, or done until the next look. */
export type Phase = "starting" | "syncing" | "waiting" | "idle";

/** How a sync stands: a plain object, which `JSON.stringify` takes once its `bigint`s are texts. */
export interface SyncSnapshot {
  /** When, ISO 8601 in UTC. */
  readonly at: string;
  readonly startedAt: string;
  readonly phase: Phase;
  readonly chainId?: string;
  /** All blocks of the node's history; absent where it has none. */
  readonly node?: BlockRange;
  /** The node's history within the range; absent where none of its segments lies within. */
  readonly history?: BlockRange & { readonly segments: number };
  readonly nodes: readonly NodeReport[];
  readonly total: Done;
  readonly tables: readonly TableProgress[];
  /** Seconds until nothing is missing, as the last ten minutes went; absent where that cannot be said. */
  readonly secondsLeft?: number;
  /** Absent before the first plan, and where nothing newer was seen before the node or the sink had to be waited for. */
  readonly lag?: Lag;
  readonly underWay: readonly UnitUnderWay[];
  /** Units that failed last, and were neither tried again nor loaded since. */
  readonly failed: number;
  /** The last errors, newest first. */
  readonly errors: readonly ErrorReport[];
  /** How many errors there were of each kind. */
  readonly errorCounts: Readonly<Record<string, number>>;
  /** What is waited for; absent where nothing is. */
  readonly waiting?: ErrorReport;
  /**
   * For how many seconds nothing has happened though there is work: since the last event, or since the time that it
   * announced for the next one. 0 where nothing is missing, under way or announced.
   */
  readonly silentSeconds: number;
  /** Columns and values that a newer node has sent. */
  readonly unknown: readonly { readonly table: TableName; readonly column: string; readonly value?: string }[];
  readonly picture?: Picture;
  /** Units of the queue by state; absent where there is no queue. */
  readonly queue?: Readonly<Record<string, number>>;
}

/** Tell whether a plan was made, and neither node nor sink is waited for. */
export function isReady({ phase }: SyncSnapshot): boolean {
  return phase === "syncing" || phase === "idle";
}
