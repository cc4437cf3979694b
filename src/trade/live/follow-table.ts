import type { HistorySegment } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import { CanceledError, TradewireError } from "../../base/errors/index.js";
import { createEventReporter } from "../../base/errors/observer.js";
import {
  assertFunction,
  assertKnownKeys,
  assertOneOf,
  parsePositiveInteger,
  requireInteger,
} from "../../base/input/assert.js";
import { CALL_OPTIONS, type CallOptions, validateCallOptions } from "../../base/input/call-options.js";
import { asResult, withJson } from "../../base/json-result.js";
import { MAX_TIMER_MS } from "../../base/runtime/index.js";
import { linkedController } from "../../base/signal/abort.js";
import { throwIfAborted, wait } from "../../base/signal/wait.js";
import type { TypedOptions } from "../../data/archive/typed-rows.js";
import type { CsvRecord } from "../../data/csv/csv-format.js";
import { rowToRecord } from "../../data/csv/decode-csv.js";
import { type ExportRequest, readBlock, requireOrder } from "../../data/history/export-request.js";
import type { Exporter, ExportOptions } from "../../data/history/network-history-export.js";
import type { Segment } from "../../data/history/segment-chain.js";
import { readTable, type TableName } from "../../data/schema/table-names.js";
import type { TypedRecord, TypedRow, TypedValue } from "../../data/schema/typed-row.js";
import { type FollowPosition, nextSegments, readCursor, writeCursor } from "./next-segments.js";
import { reconnect, rereadDelayMs } from "./reconnect.js";
import { type PartOfSegment, segmentRows } from "./segment-rows.js";

/** The calls that following a table needs. */
export interface FollowClient extends Exporter {
  listSegments(options?: CallOptions): Promise<HistorySegment[]>;
}

/** The table to follow. Segments are always read completely, because not all rows name their block. */
export interface FollowRequest<Asked extends TableName = TableName> {
  /** The table, as for an export. */
  readonly table: ExportRequest<Asked>["table"];
  /**
   * Start with the segment that contains this block, which may lie in the future; with the node's first segment by default.
   */
  readonly fromBlock?: bigint | number | undefined;
  /** End with the segment that contains this block. By default, following does not end. */
  readonly toBlock?: bigint | number | undefined;
}

/** The events of following a table. */
export type FollowEvent =
  /** The rows of a segment are requested. */
  | { readonly kind: "began"; readonly segment: FollowedSegment }
  /** All rows were delivered. New segments are looked for after this time, in milliseconds. */
  | { readonly kind: "idle"; readonly againMs: number }
  /** The node's history ends before the delivered rows, so it has to catch up. It is read again after this time. */
  | { readonly kind: "behind"; readonly againMs: number }
  /** A call failed, or its answer was broken. The rows not yet delivered are requested again after this time. */
  | { readonly kind: "waiting"; readonly error: TradewireError; readonly againMs: number };

/** How to follow a table. */
export interface FollowOptions extends CallOptions, Pick<ExportOptions, "extensions" | "maxRowBytes"> {
  /** Continues after the rows of this cursor; `fromBlock` is then ignored. */
  readonly cursor?: string | undefined;
  /** Interval between two requests for new segments, in milliseconds; 60,000 by default. */
  readonly pollMs?: number | undefined;
  /**
   * Maximum number of attempts in a row to read a segment whose archive is broken or has changed; 5 by default. An
   * unreachable or failing node is retried without a limit.
   */
  readonly attempts?: number | undefined;
  /** Called for each event. If it throws, the error becomes a warning of the process. */
  readonly onEvent?: ((event: FollowEvent) => void) | undefined;
  /** Whether values are converted to their types; false by default: each value is its text. */
  readonly typed?: false | undefined;
}

/** How to follow a table with typed rows. */
export interface TypedFollowOptions extends Omit<FollowOptions, "typed">, Omit<TypedOptions, "table"> {}

/** A segment whose rows are delivered. */
export interface FollowedSegment extends Segment {
  readonly chainId: string;
  readonly table: TableName;
}

/** Some rows of a segment, or the report that the segment is complete. */
export interface FollowedRows<Row> {
  /** The rows, by column names, in the order of the segment. */
  readonly rows: readonly Row[];
  /** The column names of the segment, in order. */
  readonly columns: readonly string[];
  readonly segment: FollowedSegment;
  /** Whether all rows of the segment were delivered and its archive was verified to the end. There are no rows then. */
  readonly complete: boolean;
  /** The position after these rows, from which a later follow can continue: up to 600 letters, digits, `-` and `_`. */
  readonly cursor: string;
  /**
   * Returns the cursor after only some of these rows.
   *
   * @param count the number of rows, from the first
   * @returns the cursor
   * @throws {@link RequestError} if there are fewer rows
   */
  cursorAfter(count: number): string;
}

/** The operation that follows tables of network history. */
export interface Following {
  /**
   * Reads the rows of a table from the node's history, and continues with new segments as they appear: each row once, in
   * the order of the segments. The first request is sent when the iteration starts; reading waits for the consumer.
   *
   * Rows are delivered as they arrive, before their archive was verified to the end. If the archive breaks, the segment is
   * requested again; the delivered rows are compared with the new ones and skipped. The cursor does the same across runs.
   *
   * @param request the table, and the first and last block
   * @param options the cursor to continue from, the signal, and the poll interval
   * @returns batches of rows, each with the cursor after it. Breaking out of the loop ends the call
   * @throws {@link RequestError} immediately if an option is invalid; while reading if `fromBlock` is before the node's history,
   *   or the cursor belongs to another chain
   * @throws {@link ProtocolError} while reading, if the node no longer lists the next blocks, if its history diverges from
   *   the delivered rows, or if an archive was broken too often
   * @throws {@link NodeError} if the node refuses the request
   * @throws {@link CanceledError} if the signal was aborted
   *
   * @example
   * for await (const { rows, cursor } of client.follow({ table: "trades", fromBlock: 1 }, { cursor: await load() })) {
   *   await save(rows, cursor); // in one transaction, so that each row is saved exactly once
   * }
   */
  follow(request: FollowRequest, options?: FollowOptions): AsyncIterable<FollowedRows<CsvRecord>>;
  follow<Table extends TableName>(
    request: FollowRequest<Table>,
    options: TypedFollowOptions,
  ): AsyncIterable<FollowedRows<TypedRow<Table>>>;
}

export function createFollowing(client: FollowClient): Following {
  function follow(request: FollowRequest, options?: FollowOptions): AsyncIterable<FollowedRows<CsvRecord>>;
  function follow<Table extends TableName>(
    request: FollowRequest<Table>,
    options: TypedFollowOptions,
  ): AsyncIterable<FollowedRows<TypedRow<Table>>>;
  function follow(
    request: FollowRequest,
    options: FollowOptions | TypedFollowOptions = {},
  ): AsyncIterable<FollowedRows<TypedRecord>> {
    const checked = parseFollow(request, options);
    return {
      [Symbol.asyncIterator]() {
        const ending = linkedController(options.signal);
        const items = followed(client, checked, ending);
        return {
          next: () => items.next(),
          async return() {
            ending.abort(); // Without it, a pending next() would delay the return, possibly forever.
            await items.return();
            return { done: true, value: undefined };
          },
        };
      },
    };
  }

  return { follow };
}

async function* followed(
  client: FollowClient,
  options: CheckedFollow,
  ending: AbortController,
): AsyncGenerator<FollowedRows<TypedRecord>, void, undefined> {
  const { signal } = ending;
  const reader = createTableReader(client, options);
  const stream = reconnect<FollowedRows<TypedRecord>>(
    {
      open: (connection) => reader.read(connection, () => stream.progressed()),
      onEnd(end) {
        if (end.kind === "completed") {
          return { kind: "end" };
        }
        throwIfAborted(signal);
        if (!(end.error instanceof TradewireError)) {
          throw end.error;
        }
        const againMs = rereadDelayMs(end.error, end.failures, options.attempts);
        options.report({ kind: "waiting", error: end.error, againMs });
        return { kind: "reconnect", delayMs: againMs };
      },
    },
    signal,
  );
  try {
    yield* stream.messages;
    throwIfAborted(signal);
  } catch (reason) {
    if (options.signal?.aborted === true) {
      throw new CanceledError({ cause: options.signal.reason });
    }
    if (!signal.aborted) {
      throw reason; // Otherwise the caller has left.
    }
  } finally {
    ending.abort();
  }
}

/** Reads the rows of a table. Each read continues after the rows that were read last. */
function createTableReader(client: FollowClient, options: CheckedFollow) {
  const { table, fromBlock, toBlock, pollMs, report, typed, calling, reading } = options;
  const recordOf = rowToRecord<TypedValue>();
  let { position } = options;

  async function* rowsOf(
    segment: FollowedSegment,
    signal: AbortSignal,
    progressed: () => void,
  ): AsyncGenerator<FollowedRows<TypedRecord>, void, undefined> {
    const read = position?.segmentId === segment.id ? position.part : undefined;
    let columns: readonly string[] = [];
    for await (const batch of segmentRows(client, segment, read, { ...calling, ...reading, typed, signal })) {
      columns = batch.columns;
      position = positionIn(segment, batch.partAfter(batch.rows.length));
      progressed();
      const rows = batch.rows.map((row) => recordOf(row, batch.columns));
      yield asResult({
        rows,
        columns,
        segment,
        complete: false,
        cursor: writeCursor(position),
        cursorAfter: (count) => writeCursor(positionIn(segment, batch.partAfter(parseCount(count, rows.length)))),
      });
    }
    position = positionIn(segment, undefined);
    progressed();
    const cursor = writeCursor(position);
    const cursorAfter = (count: number) => {
      parseCount(count, 0);
      return cursor;
    };
    yield asResult({ rows: [], columns, segment, complete: true, cursor, cursorAfter });
  }

  return {
    /** Reads the segments from the position on, and waits for new ones, until `toBlock` is reached. */
    async *read(signal: AbortSignal, progressed: () => void): AsyncGenerator<FollowedRows<TypedRecord>> {
      while (!isDone(position, toBlock)) {
        throwIfAborted(signal);
        const listed = await client.listSegments({ ...calling, signal });
        const next = nextSegments(listed, { position, fromBlock, toBlock });
        for (const each of next.segments) {
          const segment = withJson({ ...each, chainId: next.chainId, table });
          report({ kind: "began", segment });
          yield* rowsOf(segment, signal, progressed);
        }
        if (next.segments.length === 0) {
          progressed();
          report({ kind: next.isBehind ? "behind" : "idle", againMs: pollMs });
          await wait(pollMs, signal);
        }
      }
    },
  };
}

/** Returns whether a position is after the last requested block. */
function isDone(position: FollowPosition | undefined, toBlock: bigint | undefined): boolean {
  if (position === undefined || toBlock === undefined) {
    return false;
  }
  return position.part === undefined ? position.toBlock >= toBlock : position.fromBlock > toBlock;
}

function positionIn(segment: FollowedSegment, part: PartOfSegment | undefined): FollowPosition {
  const { chainId, table, fromBlock, toBlock, id } = segment;
  return { chainId, table, fromBlock, toBlock, segmentId: id, part };
}

const parseCount = (count: number, max: number) => requireInteger("count", count, 0, max, "of rows ");

const DEFAULT_POLL_MS = 60_000;
const DEFAULT_ATTEMPTS = 5;
const MAX_ATTEMPTS = 1000;

/** The known options. */
const OPTIONS = {
  ...CALL_OPTIONS,
  cursor: true,
  pollMs: true,
  attempts: true,
  onEvent: true,
  extensions: true,
  maxRowBytes: true,
  typed: true,
  onUnknown: true,
} as const;

/** The options of `followTable`, with defaults. */
type CheckedFollow = ReturnType<typeof parseFollow>;

/** Validates what to follow and how, as far as possible without the node, and adds the defaults. */
function parseFollow(request: FollowRequest, options: FollowOptions | TypedFollowOptions) {
  assertKnownKeys("request", request, { table: true, fromBlock: true, toBlock: true });
  assertKnownKeys("options", options, OPTIONS);
  const { cursor, pollMs = DEFAULT_POLL_MS, attempts = DEFAULT_ATTEMPTS, onEvent, extensions, maxRowBytes } = options;
  const { signal, headers, timeoutMs } = options;
  const table = readTable(request.table);
  const fromBlock = request.fromBlock === undefined ? undefined : readBlock(request.fromBlock, "fromBlock");
  const toBlock = request.toBlock === undefined ? undefined : readBlock(request.toBlock, "toBlock");
  if (fromBlock !== undefined && toBlock !== undefined) {
    requireOrder({ fromBlock, toBlock });
  }
  assertOneOf("typed", options.typed, [true, false]);
  assertOneOf("extensions", extensions, ["required", "optional"]);
  assertFunction("onEvent", onEvent);
  validateCallOptions(options);
  return {
    table,
    fromBlock,
    toBlock,
    position: cursor === undefined ? undefined : readCursor(cursor, table),
    pollMs: parsePositiveInteger("pollMs", pollMs, MAX_TIMER_MS),
    attempts: parsePositiveInteger("attempts", attempts, MAX_ATTEMPTS),
    report: createEventReporter<[FollowEvent]>(onEvent, "the follow"),
    signal,
    typed: options.typed === true ? options : undefined,
    calling: { headers, timeoutMs },
    reading: { extensions, maxRowBytes },
  };
}
