import type { HistorySegment } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import type { TypedOptions } from "../archive/typed.js";
import type { CsvRecord } from "../csv/format.js";
import type { TradewireError } from "../errors/index.js";
import type { CallOptions } from "../given/call-options.js";
import type { ExportOptions } from "../history/network-history-export.js";
import type { ExportRequest } from "../history/request.js";
import type { Segment } from "../history/segment-chain.js";
import type { TableName } from "../schema/tables.js";
import type { TypedRow } from "../schema/typed-row.js";
import type { Exporter } from "./segment-rows.js";

/** The part of a client that a follow needs. */
export interface FollowClient extends Exporter {
  listSegments(options?: CallOptions): Promise<HistorySegment[]>;
}

/** What is followed. Segments come whole: their rows do not all say of which block they are. */
export interface FollowRequest<Asked extends TableName = TableName> {
  /** The table, as for an export. */
  readonly table: ExportRequest<Asked>["table"];
  /**
   * Begin with the segment that holds this block, which may be one to come. Without it, with the first segment that the
   * node has.
   */
  readonly fromBlock?: bigint | number | undefined;
  /** End with the segment that holds this block. Without it, a follow does not end. */
  readonly toBlock?: bigint | number | undefined;
}

/** What happens in a follow. */
export type FollowEvent =
  /** The rows of a segment are asked for. */
  | { readonly case: "began"; readonly segment: FollowedSegment }
  /** All rows were handed out. The next look for new segments is due after that time. */
  | { readonly case: "idle"; readonly againMs: number }
  /** The node's history ends before what was handed out, so it has to catch up. The next look is due after that time. */
  | { readonly case: "behind"; readonly againMs: number }
  /** The node could not be asked, or its answer was broken. It is asked again after that time, for rows not handed out. */
  | { readonly case: "waiting"; readonly error: TradewireError; readonly againMs: number };

/** How a table is followed. */
export interface FollowOptions extends CallOptions, Pick<ExportOptions, "extensions" | "maxRowBytes"> {
  /** Go on behind the rows that this cursor came with; `fromBlock` does not count then. */
  readonly cursor?: string | undefined;
  /** Milliseconds between two looks for new segments; 60,000 by default. */
  readonly pollMs?: number | undefined;
  /**
   * How often in a row a segment's archive may be broken, or other than before, until that is thrown; 5 by default. A node
   * that cannot be reached, or answers that it fails, is asked again without end.
   */
  readonly attempts?: number | undefined;
  /** Told of everything that happens, as it happens. What it throws becomes a warning of the process. */
  readonly onEvent?: ((event: FollowEvent) => void) | undefined;
  /** Whether values are given by their types; false by default: each value is its text. */
  readonly typed?: false | undefined;
}

/** How a table is followed whose rows are typed. */
export interface TypedFollowOptions extends Omit<FollowOptions, "typed">, Omit<TypedOptions, "table"> {}

/** A segment whose rows are handed out. */
export interface FollowedSegment extends Segment {
  readonly chainId: string;
  readonly table: TableName;
}

/** Some rows of a segment, or word that it is whole. */
export interface FollowedRows<Row> {
  /** The rows, by the names of their columns, in the order in which they stand in the segment. */
  readonly rows: readonly Row[];
  /** The columns of the segment, in their order. */
  readonly columns: readonly string[];
  readonly segment: FollowedSegment;
  /** Whether all rows of the segment have come and its archive was checked to the end. It has no rows then. */
  readonly complete: boolean;
  /** Where a later follow goes on behind these rows: a text of up to 600 letters, digits, `-` and `_`. */
  readonly cursor: string;
  /**
   * Get the cursor behind only some of these rows.
   *
   * @param count how many, from the first on
   * @returns the cursor
   * @throws {@link RequestError} where there are fewer
   */
  cursorAfter(count: number): string;
}

/** Following tables of network history. */
export interface Following {
  /**
   * Read the rows of a table from the node's history, and go on with those of new segments as they appear, each row once,
   * in the order of the segments. Nothing is sent before the rows are asked for, nor faster than they are taken.
   *
   * Rows come as they arrive, before the end of their archive was checked. Where it breaks, the segment is fetched again,
   * and the rows that were handed out are left out, once they are known to be the same; that holds across runs too, by
   * the cursor.
   *
   * @param request the table, and the blocks to begin and to end with
   * @param options the cursor to go on from, the signal, how often the node is asked for what is new
   * @returns the rows, many at once, each time with the cursor behind them. Breaking out of the loop ends the call
   * @throws {@link RequestError} at once where an option is wrong; while reading where `fromBlock` lies before the node's
   *   history, or the cursor is of another chain
   * @throws {@link ProtocolError} while reading, where the node no longer lists the blocks that come next, or its history
   *   is not the one that was followed; where an archive was broken too often
   * @throws {@link NodeError} where the node refuses for good, {@link CanceledError} where the signal was aborted
   *
   * @example
   * for await (const { rows, cursor } of client.follow({ table: "trades", fromBlock: 1 }, { cursor: await load() })) {
   *   await save(rows, cursor); // in one transaction: each row once, whatever happens
   * }
   */
  follow(request: FollowRequest, options?: FollowOptions): AsyncIterable<FollowedRows<CsvRecord>>;
  follow<Table extends TableName>(
    request: FollowRequest<Table>,
    options: TypedFollowOptions,
  ): AsyncIterable<FollowedRows<TypedRow<Table>>>;
}
