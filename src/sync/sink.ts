import { withCaller } from "../base/errors/caller-stack.js";
import { RequestError } from "../base/errors/index.js";
import { withJson } from "../base/json-result.js";
import type { UnknownPart } from "../data/archive/typed-rows.js";
import type { BlockRange } from "../data/history/segments.js";
import type { TableName } from "../data/schema/table-names.js";
import { loadZip } from "../data/zip/load-zip.js";
import type { LedgerEntry, Measures, MissingSegment, NodeHistory, Segment, Unit } from "./unit.js";
import type { ListedRow, ListedTable } from "./views/listed-records.js";

/** The CSV file of a unit while it arrives. */
export interface UnitCsv {
  /** The names in its header row: none is empty, and none is repeated. */
  readonly columns: readonly string[];
  /**
   * The bytes of the file, including the header row, split at any position. They can be read once and must not be
   * modified. The unit is complete only when the content has ended without an error, because the archive, the CSV and
   * the node's status are checked until then.
   */
  readonly content: AsyncIterable<Uint8Array>;
  /**
   * Returns the size and checksum.
   *
   * @returns rows, bytes and SHA-256, once the content has ended
   * @throws `RequestError` before that
   */
  measures(): Measures;
}

/** Fetches a unit from the node. Nothing is sent before it is called. */
export type FetchUnit = () => Promise<UnitCsv>;

/** The result of loading a unit. */
export type LoadResult =
  | { readonly outcome: "loaded"; readonly entry: LedgerEntry }
  /** The ledger has the unit, or units that overlap it: nothing was fetched. */
  | { readonly outcome: "there" }
  /** Another sync is loading it: nothing was fetched. */
  | { readonly outcome: "busy" };

/** How a sink is opened. */
export interface SinkOpening {
  /** The chain whose history the sink holds. A sink holds one. */
  readonly chainId: string;
  /** The tables to create if they are missing. Columns that this release has added are added to existing tables. */
  readonly tables: readonly TableName[];
  /**
   * The first block that the tables are asked for from. The sink remembers it for {@link Sink.asked}; absent if nothing is
   * asked for.
   */
  readonly fromBlock?: bigint | undefined;
  /** Called for columns and enum values that this release does not know, because the node is newer. */
  readonly onUnknown: (unknown: UnknownPart) => void;
  /** Whether such columns are added as text, or fail the unit. */
  readonly unknownColumns: "add" | "fail";
  /**
   * Called when a connection to the sink was lost: it may be another ledger afterwards, for example a restored backup.
   */
  readonly onLost?: (() => void) | undefined;
  readonly signal: AbortSignal;
}

/** A request to compare a sink with a history. */
export interface CoverageQuery {
  readonly history: NodeHistory;
  readonly tables: readonly TableName[];
  /** Only segments within it can be missing. */
  readonly range: BlockRange;
  /** Maximum number of missing segments, and of foreign entries, that are listed. */
  readonly limit: number;
  /**
   * From this block on, entries that do not match the history are foreign: their blocks are missing, and they are not a
   * divergence.
   */
  readonly replaceFrom?: bigint | undefined;
  /** The first block that each table was asked for from; that of its first entry by default. */
  readonly asked?: ReadonlyMap<TableName, bigint> | undefined;
  /** Only entries that begin after this block are compared; all by default. The history has no segments up to it. */
  readonly behind?: bigint | undefined;
}

/** Blocks of a table. */
export interface TableRange extends BlockRange {
  readonly table: TableName;
}

/** The coverage of a table in a sink. */
export interface TableSummary {
  readonly table: TableName;
  readonly units: number;
  readonly rows: bigint;
  /** Bytes of CSV. */
  readonly bytes: bigint;
  /** First and last block in the table; absent if it is empty. */
  readonly fromBlock?: bigint;
  readonly toBlock?: bigint;
  /** Number of the node's segments within the range that are missing. */
  readonly missing: bigint;
  /** Number of blocks in {@link CoverageComparison.gaps}. */
  readonly gapBlocks: bigint;
}

/** The place where the history of a sink diverges from the node's. */
export interface Divergence {
  /** The first unit that is not in the node's history. */
  readonly entry: LedgerEntry;
  /** The node's segment that ends with the same block; absent if none does. */
  readonly segment?: Segment;
}

/** A segment of the history that is loaded into a sink. */
export interface HistoryMark {
  readonly toBlock: bigint;
  readonly segmentId: string;
}

/** The coverage of a history in a sink. */
export interface CoverageComparison {
  readonly tables: readonly TableSummary[];
  /** The oldest missing segments, in block order, then of the tables. */
  readonly missing: readonly MissingSegment[];
  /**
   * Blocks that the tables were asked for, that no unit covers, and that no node has, as far as they lie within the range:
   * those before the node's first block, and those between units after its last block. Without segments of a node, these
   * are all blocks that no unit covers up to the last unit. At most 1000, the oldest first.
   */
  readonly gaps: readonly TableRange[];
  /**
   * Where the histories diverge: the first entry within the node's blocks that does not match its segments. Entries
   * before or after all of the node's segments do not diverge, except that the entry directly before the node's first
   * segment must be the one that this segment names as its predecessor.
   */
  readonly divergence?: Divergence;
  /** With `replaceFrom`: the oldest foreign entries, including those after the node's last block. */
  readonly foreign: readonly LedgerEntry[];
}

/** How many blocks of each part of a range a table has. */
export interface TableCoverage {
  readonly table: TableName;
  /**
   * The number of blocks of each part that units cover. Part `i` of `parts` begins at the first block plus `i * length
   * / parts` and ends before the first block plus `(i + 1) * length / parts`, both rounded down.
   */
  readonly blocks: readonly number[];
}

/**
 * A destination for the tables of a network's history. Its methods may be called concurrently, except that `open` is
 * called first, and once.
 *
 * A sink keeps a ledger of the units that it holds. Rows and their ledger entry become visible together or not at all,
 * however and whenever the process ends. This makes a sync exact. The next process removes the leftovers of an ended
 * one.
 */
export interface Sink extends AsyncDisposable {
  /** Closes the sink, as `await using` does. Further calls have no effect. */
  close(): Promise<void>;
  /** The name for people, such as `duckdb:history.duckdb`; without passwords. */
  readonly name: string;
  /**
   * Creates the ledger and the tables that are missing. After an `UNAVAILABLE` error it may be called again.
   *
   * @throws `RequestError` if the sink holds another chain; `SinkError` if it cannot be used
   */
  open(opening: SinkOpening): Promise<void>;
  /**
   * Opens the sink for reading. Nothing is created or changed. Call either this or `open`.
   *
   * @returns the chain that it holds; `undefined` if it is empty
   */
  inspect(signal: AbortSignal): Promise<string | undefined>;
  /**
   * Reads the ledger of a table, in block order.
   *
   * @param behind the height of a block: entries that begin at or before it are skipped; by default, all are returned
   */
  entries(table: TableName, behind?: bigint): AsyncIterable<LedgerEntry>;
  /**
   * Returns the tables that syncs were asked for, each with the first block: the lowest `fromBlock` that the sink was opened
   * with. Without it, these are the tables with units.
   */
  asked?(): Promise<ReadonlyMap<TableName, bigint>>;
  /**
   * Changes the marks of the loaded history while no other sync does so. A new sink has none. A sync calls this
   * before it loads units. Without it, two syncs with different histories that start into an empty sink at the same time leave
   * units of both.
   *
   * @param next returns the marks to store in place of the present ones; `undefined` if nothing changes. If it throws one of the
   *   library's errors, nothing is changed, and that error is thrown unchanged
   */
  markHistory?(next: (marks: readonly HistoryMark[]) => readonly HistoryMark[] | undefined): Promise<void>;
  /**
   * Returns a text that changes when it may be another ledger, for example after a reconnect or a restored backup. The
   * whole ledger is then compared again.
   */
  identity?(): Promise<string>;
  /** Compares the ledger with a history, if the sink can do so faster than by reading all entries. */
  compareCoverage?(query: CoverageQuery): Promise<CoverageComparison>;
  /**
   * Counts the blocks of a range that are covered, if the sink can do so faster than by reading all entries.
   *
   * @param tables the tables
   * @param range the blocks, both ends inclusive
   * @param parts number of parts that the range is divided into, at least 1
   * @returns one for each of the tables, in their order
   */
  coverage?(tables: readonly TableName[], range: BlockRange, parts: number): Promise<TableCoverage[]>;
  /**
   * Loads a unit, completely or not at all. Before the sink fetches the unit, it claims it, so that no
   * other sync loads it. It then writes the result of `measures()` to the ledger, but only if the table has that number of rows.
   *
   * @param unit the unit
   * @param fetch fetches it from the node; its errors are thrown unchanged
   * @param options `replace`: overlapping units of other segments are removed in the same transaction, and do not
   *   count as "there"
   */
  load(
    unit: Unit,
    fetch: FetchUnit,
    options: { readonly replace: boolean; readonly signal: AbortSignal },
  ): Promise<LoadResult>;
  /** Removes a unit: its rows and its entry in one transaction. Does nothing if the ledger has no such entry. */
  remove(entry: LedgerEntry): Promise<void>;
  /**
   * Creates the views over the tables, or updates them. Called by a sync after `open`, and not by workers and repairs. Absent if the sink has
   * no views.
   *
   * @throws `SinkError` if they cannot be created; the previous ones remain
   */
  createViews?(signal: AbortSignal): Promise<void>;
  /**
   * Stores markets, assets or accounts that a node lists, for views: those that are new or have changed. Absent if nobody makes views of
   * the sink.
   *
   * @param rows the rows, in batches; its errors are thrown unchanged
   */
  storeListed?(table: ListedTable, rows: AsyncIterable<readonly ListedRow[]>): Promise<void>;
  /** Counts the rows of the table that came with a unit. */
  countRows(entry: LedgerEntry): Promise<bigint>;
  /**
   * Compares the rows of a unit with the same unit fetched again, value by value.
   *
   * @returns how many of the node's rows the sink lacks, and how many it has that the node does not
   */
  compareRows(
    entry: LedgerEntry,
    fetch: FetchUnit,
    signal: AbortSignal,
  ): Promise<{ readonly missing: bigint; readonly extra: bigint }>;
}

const METHODS = [
  "open",
  "inspect",
  "entries",
  "load",
  "remove",
  "countRows",
  "compareRows",
  "close",
  Symbol.asyncDispose,
] as const;

/**
 * Runs an action with a sink, and closes the sink in any case. An error while closing does not hide an earlier one.
 *
 * @throws {@link RequestError} if it is not a sink; errors of `use`
 */
export function withSink<T>(sink: Sink, use: () => Promise<T>): Promise<T> {
  return withCaller(async () => {
    assertSink(sink);
    let result: T;
    try {
      await loadZip(); // The first segment may come much later.
      result = await use();
    } catch (reason) {
      await closed(sink).catch(() => undefined);
      throw reason;
    }
    await closed(sink);
    return withJson(result);
  });
}

async function closed(sink: Sink): Promise<void> {
  await sink.close();
}

function assertSink(sink: Sink | undefined): void {
  const lacking = METHODS.find((method) => typeof sink?.[method] !== "function");
  if (lacking !== undefined || typeof sink?.name !== "string") {
    const what =
      lacking === undefined ? "name" : typeof lacking === "string" ? `method ${lacking}` : "[Symbol.asyncDispose]";
    throw new RequestError(
      typeof sink === "object" && sink !== null
        ? `the sink has no ${what}`
        : `the sink must be an object (got ${String(sink)})`,
      { advice: "Use a sink such as duckdbSink(path), or your own implementation of the complete Sink interface." },
    );
  }
}
