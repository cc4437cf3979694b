import type { HistorySegment } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import { RequestError, type TradewireError } from "../base/errors/index.js";
import {
  assertFunction,
  assertKnownKeys,
  assertOneOf,
  invalidTypeError,
  invalidValueError,
  parsePositiveInteger,
  parseSignal,
} from "../base/input/assert.js";
import { MAX_TIMER_MS } from "../base/runtime/index.js";
import type { DataNodeLag } from "../data/history/data-node-lag.js";
import { type ExportRequest, reversedRangeError } from "../data/history/export-request.js";
import type { ExportOptions, NetworkHistoryExport } from "../data/history/network-history-export.js";
import type { References } from "../data/history/referenced-records.js";
import type { BlockRange } from "../data/history/segments.js";
import { readTable, type TableName, tableNames } from "../data/schema/table-names.js";
import type { Sink, TableRange, TableSummary } from "./sink.js";
import type { SyncHooks } from "./sync-events.js";
import type { LedgerEntry, Unit } from "./unit.js";

/** The methods of a client that a sync needs. */
export interface SyncClient {
  /** The name of the node in events and errors, such as its URL; "the node" by default. */
  readonly name?: string | undefined;
  exportNetworkHistory(request: ExportRequest, options?: ExportOptions): NetworkHistoryExport;
  /** Lists markets, assets and accounts. Without it, views lack the decimals and names that no exported row has. */
  readonly referencedRecords?: References["referencedRecords"] | undefined;
  listSegments(options?: { readonly signal?: AbortSignal }): Promise<HistorySegment[]>;
  /**
   * Compares the data node with its core and with the clock. Without it, a data node that has stopped writing goes
   * unnoticed.
   */
  dataNodeLag?(options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number }): Promise<DataNodeLag>;
}

/** Options of a sync. */
export interface SyncOptions {
  /** Where the tables are stored. It is opened, and closed at the end. */
  readonly sink: Sink;
  /** All tables by default. */
  readonly tables?: readonly TableName[] | undefined;
  /** Segments that lie within it are synced; all by default. */
  readonly range?:
    | { readonly fromBlock?: bigint | number | undefined; readonly toBlock?: bigint | number | undefined }
    | undefined;
  /** Whether to continue with new segments as they appear; false by default. */
  readonly follow?: boolean | undefined;
  /**
   * With `follow`, milliseconds between two readings of the history, which also find nodes that are back; 60,000 by
   * default.
   */
  readonly pollMs?: number | undefined;
  /** How many units are fetched and loaded at a time; 2 by default. */
  readonly parallel?: number | undefined;
  /** Maximum number of adjacent segments of one schema version that one export fetches; 1 by default. */
  readonly segmentsPerExport?: number | undefined;
  /** From this block onwards, replace the sink's history with the node's. */
  readonly replaceFrom?: bigint | number | undefined;
  /** Whether columns that this release does not know are added as text (the default), or fail the unit. */
  readonly unknownColumns?: "add" | "fail" | undefined;
  /**
   * Maximum number of attempts at a unit; 5 by default. With `follow`, a failed unit is retried after the next
   * reading of the history.
   */
  readonly attempts?: number | undefined;
  /**
   * How long an unreachable node or sink is retried, in milliseconds; 5 minutes by default, without limit with
   * `follow`.
   */
  readonly retryForMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly hooks?: SyncHooks | undefined;
}

/** A unit whose attempts all failed. */
export interface FailedUnit {
  readonly unit: Unit;
  readonly error: TradewireError;
}

/** The result of a sync. */
export interface SyncSummary {
  readonly chainId: string;
  /** The state of the tables at the end. */
  readonly tables: readonly TableSummary[];
  /** Units loaded by this sync. */
  readonly units: number;
  readonly rows: bigint;
  /** Bytes of CSV. */
  readonly bytes: bigint;
  readonly failed: readonly FailedUnit[];
  /**
   * Blocks that the sink lacks and that no node has, so that they cannot be loaded: something is missing although the sync has
   * ended. At most 1000, the oldest first.
   */
  readonly gaps: readonly TableRange[];
}

/** The result of verifying a unit against its rows and its source. */
export interface Verified {
  readonly entry: LedgerEntry;
  /** Rows in the table that came with the unit. */
  readonly rows: bigint;
  /**
   * With `deep`: whether the node still sends the same CSV, how many of the node's rows the sink lacks, and how many it
   * has that the node does not. If no node has the first segments of the unit any more, it was compared from
   * `fromBlock` on: all rows that the node sends are looked up, and the others are only counted.
   */
  readonly deep?:
    | {
        readonly sameCsv: boolean;
        readonly missing: bigint;
        readonly extra: bigint;
        readonly fromBlock?: bigint | undefined;
      }
    | undefined;
  /** Why the unit cannot be read, for example because its file is damaged; `rows` is then 0. */
  readonly error?: TradewireError | undefined;
  readonly sound: boolean;
}

/** The largest block number. */
const MAX_BLOCK = 2n ** 63n - 1n;
/** Maximum number of units at a time: each needs a stream, and some memory, at both ends. */
const MAX_PARALLEL = 100;
/** Maximum number of segments of a unit. If it fails, all of it is fetched again. */
const MAX_SEGMENTS_PER_EXPORT = 1000;
/** Maximum number of attempts at a unit. */
const MAX_ATTEMPTS = 1000;

/** The names of all options; others are refused. A name that is missing here does not compile. */
const NAMES: { readonly [name in keyof Required<SyncOptions>]: true } = {
  sink: true,
  tables: true,
  range: true,
  follow: true,
  pollMs: true,
  parallel: true,
  segmentsPerExport: true,
  replaceFrom: true,
  unknownColumns: true,
  attempts: true,
  retryForMs: true,
  signal: true,
  hooks: true,
};

/** The options of a sync after validation, with their defaults. */
export interface ParsedSyncOptions {
  readonly tables: readonly TableName[];
  readonly range: BlockRange;
  readonly follow: boolean;
  readonly pollMs: number;
  readonly parallel: number;
  readonly segmentsPerExport: number;
  readonly replaceFrom: bigint | undefined;
  readonly unknownColumns: "add" | "fail";
  readonly attempts: number;
  readonly retryForMs: number;
  readonly signal: AbortSignal | undefined;
  readonly hooks: SyncHooks | undefined;
}

/**
 * Validates the options of a sync and fills in the defaults.
 *
 * @throws {@link RequestError} if a name is unknown or a value is wrong
 */
export function parseSyncOptions(options: SyncOptions): ParsedSyncOptions {
  assertKnownKeys("options", options, NAMES);
  const { follow = false, pollMs = 60_000, parallel = 2, segmentsPerExport = 1, attempts = 5 } = options;
  const { unknownColumns = "add", retryForMs = follow ? Number.POSITIVE_INFINITY : 300_000 } = options;
  assertOneOf("follow", follow, [true, false]);
  assertOneOf("unknownColumns", unknownColumns, ["add", "fail"]);
  parseSignal(options.signal);
  if (options.hooks !== undefined) {
    assertKnownKeys("hooks", options.hooks, { onEvent: true });
    assertFunction("onEvent", options.hooks.onEvent);
  }
  if (typeof retryForMs !== "number" || !(retryForMs >= 0)) {
    throw invalidValueError("retryForMs", retryForMs, "a number of milliseconds of at least 0, or Infinity");
  }
  return {
    tables: parseTables(options.tables),
    range: parseBlockRange(options.range),
    follow,
    pollMs: parsePositiveInteger("pollMs", pollMs, MAX_TIMER_MS),
    parallel: parsePositiveInteger("parallel", parallel, MAX_PARALLEL),
    segmentsPerExport: parsePositiveInteger("segmentsPerExport", segmentsPerExport, MAX_SEGMENTS_PER_EXPORT),
    replaceFrom: options.replaceFrom === undefined ? undefined : block("replaceFrom", options.replaceFrom),
    unknownColumns,
    attempts: parsePositiveInteger("attempts", attempts, MAX_ATTEMPTS),
    retryForMs,
    signal: options.signal,
    hooks: options.hooks,
  };
}

/**
 * Validates a list of tables.
 *
 * @throws {@link RequestError} if one is unknown, or there is none
 */
export function parseTables(tables: readonly TableName[] | undefined): readonly TableName[] {
  if (tables === undefined) {
    return tableNames;
  }
  if (!Array.isArray(tables) || tables.length === 0) {
    throw invalidTypeError("tables", tables, "a non-empty array of tables");
  }
  return [...new Set(tables.map(readTable))];
}

/**
 * Validates a range of blocks.
 *
 * @throws {@link RequestError} if an end is not a block number, or the range is reversed
 */
export function parseBlockRange(range: SyncOptions["range"] = {}): BlockRange {
  assertKnownKeys("range", range, { fromBlock: true, toBlock: true });
  const fromBlock = block("fromBlock", range.fromBlock ?? 0n);
  const toBlock = block("toBlock", range.toBlock ?? MAX_BLOCK);
  if (fromBlock > toBlock) {
    throw reversedRangeError({ fromBlock, toBlock });
  }
  return { fromBlock, toBlock };
}

/**
 * Validates the clients of a sync.
 *
 * @throws {@link RequestError} if there is none
 */
export function parseClients(clients: SyncClient | readonly SyncClient[]): readonly SyncClient[] {
  const all: readonly SyncClient[] = Array.isArray(clients) ? clients : [clients];
  if (all.length === 0) {
    throw new RequestError("a sync needs a client", { advice: "Pass a client, or a non-empty array of clients." });
  }
  for (const client of all) {
    if ([client?.listSegments, client?.exportNetworkHistory].some((method) => typeof method !== "function")) {
      throw invalidTypeError("client", client, "a result of createClient()");
    }
  }
  return all;
}

function block(name: string, value: bigint | number): bigint {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) {
    const whole = BigInt(value);
    if (whole >= 0n && whole <= MAX_BLOCK) {
      return whole;
    }
  }
  throw invalidValueError(name, value, "a block number, such as 1000n");
}
