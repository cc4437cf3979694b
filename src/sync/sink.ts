import type { UnknownPart } from "../archive/unknown-part.js";
import type { BlockRange } from "../history/segments.js";
import type { TableName } from "../schema/tables.js";
import type { LedgerEntry, Measures, NodeHistory, Segment, Unit } from "./unit.js";

/** The CSV file of a unit as it arrives. */
export interface UnitCsv {
  /** The names in its header row, which are checked: not empty, none twice. */
  readonly columns: readonly string[];
  /**
   * The file's own bytes, header row included, split anywhere. They may be taken once, and are not to be changed. The
   * unit is whole only when they have ended without an error: the archive, the CSV and what the node says behind them
   * are checked until then.
   */
  readonly content: AsyncIterable<Uint8Array>;
  /**
   * Get what was counted.
   *
   * @returns rows, bytes and SHA-256, once the content has ended
   * @throws `RequestError` before
   */
  measures(): Measures;
}

/** Asks the node for a unit. Nothing is sent before. */
export type FetchUnit = () => Promise<UnitCsv>;

/** What became of a unit that a sink was asked to load. */
export type LoadResult =
  | { readonly outcome: "loaded"; readonly entry: LedgerEntry }
  /** The ledger has it, or units that cover a part of it: nothing was fetched. */
  | { readonly outcome: "there" }
  /** Another sync is loading it: nothing was fetched. */
  | { readonly outcome: "busy" };

/** How a sink is opened. */
export interface SinkOpening {
  /** The chain whose history it is to hold. A sink holds one. */
  readonly chainId: string;
  /** The tables that are to be there. Those that are missing are made, and columns that this release has added. */
  readonly tables: readonly TableName[];
  /** Told of columns and enum values that this release does not know, as the node is newer. */
  readonly onUnknown: (unknown: UnknownPart) => void;
  /** Whether such columns become columns of text, or fail the unit. */
  readonly unknownColumns: "add" | "fail";
  /** Called when a connection to the sink was lost: what is there may have changed meanwhile, as where it was restored. */
  readonly onLost?: (() => void) | undefined;
  readonly signal: AbortSignal;
}

/** What is asked about a sink. */
export interface SurveyQuestion {
  readonly history: NodeHistory;
  readonly tables: readonly TableName[];
  /** Segments that lie outside are not missing. */
  readonly range: BlockRange;
  /** The most missing segments, and the most foreign entries, that are listed. */
  readonly limit: number;
  /**
   * From this block on, entries that are not of the history are foreign: what they cover is missing, and they are no
   * parting.
   */
  readonly replaceFrom?: bigint | undefined;
  /** Only entries that begin behind this block are asked about; all by default. The history has no segments up to it. */
  readonly behind?: bigint | undefined;
}

/** What a sink has of a table. */
export interface TableSurvey {
  readonly table: TableName;
  readonly units: bigint;
  readonly rows: bigint;
  /** Bytes of CSV. */
  readonly bytes: bigint;
  /** First and last block of what is there; absent where nothing is. */
  readonly fromBlock?: bigint;
  readonly toBlock?: bigint;
  /** How many segments of the node, within the range, are missing. */
  readonly missing: bigint;
}

/** A segment of a table that the sink does not have. */
export interface MissingSegment {
  readonly table: TableName;
  readonly segment: Segment;
}

/** The place where the history of a sink and that of a node part. */
export interface Parting {
  /** The first unit that is not of the node's history. */
  readonly entry: LedgerEntry;
  /** The node's segment that ends with the same block; absent where none does. */
  readonly segment?: Segment;
}

/** What a sink has of a history. */
export interface Survey {
  readonly tables: readonly TableSurvey[];
  /** The oldest missing segments, in the order of their blocks, then of the tables. */
  readonly missing: readonly MissingSegment[];
  /**
   * Where the histories part: the entry, first by its blocks, that lies within the node's blocks and is not of its
   * segments. Entries behind or before all of the node's segments do not part from it, save that the entry before the
   * node's first segment must be the one that this segment names as the one before it.
   */
  readonly parting?: Parting;
  /** With `replaceFrom`: the foreign entries, those behind the node's last block included; the oldest of them. */
  readonly foreign: readonly LedgerEntry[];
}

/** How much of each part of a range of blocks a table has. */
export interface TableCoverage {
  readonly table: TableName;
  /**
   * How many blocks of each part are covered by units. Part `i` of `parts` goes from the first block plus
   * `i * length / parts` to before the first block plus `(i + 1) * length / parts`, both rounded down.
   */
  readonly blocks: readonly number[];
}

/**
 * A place for the tables of network history. All its methods may be called side by side, but `open` is called first, and
 * once.
 *
 * A sink keeps a ledger of the units that it holds. Rows and their entry in the ledger become visible at once, or not at
 * all, whatever ends the process and whenever: that is what makes a sync exact. What an ended process left behind is
 * removed by the next one.
 */
export interface Sink extends AsyncDisposable {
  /** What the sink is, for people, such as `duckdb:history.duckdb`; without passwords. */
  readonly name: string;
  /**
   * Make the ledger and the tables, as far as they are missing. Where this throws an `UNAVAILABLE`, it may be called
   * again.
   *
   * @throws `RequestError` where the sink holds another chain; `SinkError` where it cannot be used
   */
  open(opening: SinkOpening): Promise<void>;
  /**
   * Open the sink to look at it. Nothing is made or changed. Either this or `open` is called.
   *
   * @returns the chain that it holds; `undefined` where it holds nothing yet
   */
  inspect(signal: AbortSignal): Promise<string | undefined>;
  /**
   * Read the ledger of a table, in the order of the blocks.
   *
   * @param behind only entries that begin behind this block; all by default
   */
  entries(table: TableName, behind?: bigint): AsyncIterable<LedgerEntry>;
  /**
   * Name what the ledger is kept in: the text is another one once it may be another ledger, as after a reconnect or where a
   * backup was restored. All of it is then compared again.
   */
  identity?(): Promise<string>;
  /** Compare the ledger with a history, where the sink can do that faster than by reading all of its entries. */
  survey?(question: SurveyQuestion): Promise<Survey>;
  /**
   * Tell how much of a range is there, for a picture of it, where the sink can do that faster than by reading all of
   * its entries.
   *
   * @param tables the tables
   * @param range the blocks, both ends inclusive
   * @param parts in how many parts the range is cut, at least 1
   * @returns one for each of the tables, in their order
   */
  coverage?(tables: readonly TableName[], range: BlockRange, parts: number): Promise<TableCoverage[]>;
  /**
   * Load a unit, whole or not at all. The sink holds the unit against other syncs before it fetches. It takes what
   * `measures()` says into the ledger, and only once it has as many rows as that says.
   *
   * @param unit the unit
   * @param fetch asks the node for it; its errors are thrown unchanged
   * @param options `replace`: units of other segments that overlap this one are removed in the same transaction, and
   *   do not count as "there"
   */
  load(
    unit: Unit,
    fetch: FetchUnit,
    options: { readonly replace: boolean; readonly signal: AbortSignal },
  ): Promise<LoadResult>;
  /** Remove a unit: its rows and its entry, at once. Nothing happens where the ledger has no such entry. */
  remove(entry: LedgerEntry): Promise<void>;
  /** Count the rows that stand in the table and came with a unit. */
  countRows(entry: LedgerEntry): Promise<bigint>;
  /**
   * Compare the rows that came with a unit with the same unit fetched anew, value by value.
   *
   * @returns how many rows of the node's the sink lacks, and how many it has that the node does not
   */
  compareRows(
    entry: LedgerEntry,
    fetch: FetchUnit,
    signal: AbortSignal,
  ): Promise<{ readonly missing: bigint; readonly extra: bigint }>;
}
