import type { HistorySegment } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import type { TradewireError } from "../errors/index.js";
import type { DataNodeLag } from "../history/data-node-lag.js";
import type { ExportOptions, NetworkHistoryExport } from "../history/network-history-export.js";
import type { ExportRequest } from "../history/request.js";
import type { TableName } from "../schema/tables.js";
import type { SyncEvent } from "./events.js";
import type { Sink, TableSurvey } from "./sink.js";
import type { LedgerEntry, Unit } from "./unit.js";

/** The part of a client that a sync needs. */
export interface SyncClient {
  /** What the node is called in events and errors, such as its URL; "the node" by default. */
  readonly name?: string | undefined;
  exportNetworkHistory(request: ExportRequest, options?: ExportOptions): NetworkHistoryExport;
  listSegments(options?: { readonly signal?: AbortSignal }): Promise<HistorySegment[]>;
  /** Compares the data node with its core and the clock. Without it, nobody notices a data node that stopped writing. */
  dataNodeLag?(options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number }): Promise<DataNodeLag>;
}

/** Who is told of what happens. */
export interface SyncHooks {
  /** Told of everything that happens, as it happens. What it throws becomes a warning of the process. */
  readonly onEvent?: ((event: SyncEvent) => void) | undefined;
}

/** How history is synced. */
export interface SyncOptions {
  /** Where the tables go. It is opened, and it is closed at the end. */
  readonly sink: Sink;
  /** All tables by default. */
  readonly tables?: readonly TableName[] | undefined;
  /** Segments that lie wholly within it are synced; all by default. */
  readonly range?: { readonly fromBlock?: bigint | number; readonly toBlock?: bigint | number } | undefined;
  /** Whether to go on with new segments as they appear; false by default. */
  readonly follow?: boolean | undefined;
  /** Milliseconds between two looks for new segments, with `follow`, and for nodes that were away; 60,000 by default. */
  readonly pollMs?: number | undefined;
  /** How many units are fetched and loaded side by side; 2 by default. */
  readonly parallel?: number | undefined;
  /** How many adjacent segments of one schema version one export brings, at most; 1 by default. */
  readonly segmentsPerExport?: number | undefined;
  /** Take the node's history from this block on, where the sink has another. */
  readonly replaceFrom?: bigint | number | undefined;
  /** Whether columns that this release does not know become columns of text (the default), or fail the unit. */
  readonly unknownColumns?: "add" | "fail" | undefined;
  /** How often a unit is tried, at most; 5 by default. With `follow` it is tried again at the next look. */
  readonly attempts?: number | undefined;
  /** How long a node or sink that cannot be reached is waited for, in milliseconds; 5 minutes by default, with `follow` for ever. */
  readonly patienceMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly hooks?: SyncHooks | undefined;
}

/** A unit that was given up. */
export interface FailedUnit {
  readonly unit: Unit;
  readonly error: TradewireError;
}

/** What a sync has done. */
export interface SyncSummary {
  readonly chainId: string;
  /** How the tables stand at the end. */
  readonly tables: readonly TableSurvey[];
  /** Units loaded by this sync. */
  readonly units: number;
  readonly rows: bigint;
  /** Bytes of CSV. */
  readonly bytes: bigint;
  readonly failed: readonly FailedUnit[];
}

/** How a unit of the ledger stands to its rows or its source. */
export interface Verified {
  readonly entry: LedgerEntry;
  /** Rows in the table that came with the unit. */
  readonly rows: bigint;
  /**
   * With `deep`: whether the node still sends the same CSV; rows of the node's that the sink lacks; rows that it has
   * beyond. Where no node has the first segments of the unit any more, it was compared from `fromBlock` on: then all
   * rows that the node sends are looked for, and the others are counted only.
   */
  readonly deep?:
    | {
        readonly sameCsv: boolean;
        readonly missing: bigint;
        readonly extra: bigint;
        readonly fromBlock?: bigint | undefined;
      }
    | undefined;
  /** Why the unit cannot be read, as where its file is damaged; its rows are then 0. */
  readonly error?: TradewireError | undefined;
  readonly sound: boolean;
}
