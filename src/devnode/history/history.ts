import { yieldToEventLoop } from "../../runtime/index.js";
import type { TableName } from "../../schema/tables.js";
import { type MadeUp, REACH_BLOCKS } from "../made-up/index.js";
import { hashOf } from "../made-up/numbers.js";
import { once } from "../made-up/once.js";
import { timeText } from "../tables/time.js";
import type { Block, Happening } from "../world/event.js";
import { type Genesis, type GenesisLines, readGenesis } from "./genesis.js";
import type { LedgerEntryRecord } from "./ledger-entry.js";
import { madeUpEntries, madeUpRows } from "./made-up-rows.js";
import { nothingRecorded, type Recorded, recordBlock, recordedEntries } from "./recorded.js";
import { type Segment, type SegmentRules, segmentAt, spanAt } from "./segment.js";
import { NO_ROWS, readRows } from "./stored-rows.js";

export type { Genesis, GenesisRow } from "./genesis.js";
export type { GenesisValue } from "./genesis-value.js";
export type { LedgerAccount, LedgerEntryRecord } from "./ledger-entry.js";
export type { Segment } from "./segment.js";

/** What a history is made of. */
export interface HistoryOptions {
  readonly madeUp: MadeUp;
  /** Identifier of the chain. It becomes part of file names. */
  readonly chainId: string;
  /** Number of made-up segments; at least 1. */
  readonly segments: number;
  /** Number of blocks in each segment; at least 1. */
  readonly blocksPerSegment: number;
  /**
   * The version of the database schema of each segment, in order; the last one holds for all that follow. 115 for three
   * segments and then 116 by default.
   */
  readonly schemaVersions?: readonly number[] | undefined;
  /** Rows of one's own, by table. They stand in place of the table's made-up rows. */
  readonly genesis?: Genesis | undefined;
  /** The most bytes of recorded rows that are kept, deflated; {@link MAX_RECORDED_BYTES} by default. */
  readonly maxRecordedBytes?: number | undefined;
}

/**
 * The most bytes of recorded rows that are kept, deflated. When there are more, the oldest segments go, the made-up ones
 * first: the history then begins later, as that of a node which keeps its last months alone.
 */
const MAX_RECORDED_BYTES = 512 * 1024 * 1024;

/** The network's history: segments of rows, the made-up ones first, then those of the blocks that were made. */
export interface History {
  readonly chainId: string;
  /** List the segments that are full, in the order of their heights. */
  segments(): readonly Segment[];
  /** Add a block that was made. With the last block of a segment, the segment is listed. */
  record(block: Block, happenings: readonly Happening[]): void;
  /**
   * Read the rows of a table in a segment, in the order of the table's primary key.
   *
   * @param table the table
   * @param segment one of {@link History.segments}
   * @param signal ends the reading at once
   * @returns CSV without a header, in pieces that are made when they are asked for
   * @throws RangeError on reading, where the segment is no more, because an earlier state was restored
   */
  read(table: TableName, segment: Segment, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined>;
  /**
   * Read the entries of the ledger of the last {@link REACH_BLOCKS} blocks, oldest first.
   *
   * @param signal ends the reading at once
   */
  ledger(signal?: AbortSignal): AsyncGenerator<LedgerEntryRecord, void, undefined>;
  /** Keep what was recorded. What is kept stays as it is, however often it is restored. */
  save(): HistoryState;
  restore(state: HistoryState): void;
}

/** What a history has recorded. */
export type HistoryState = Recorded;

/** The bytes of rows of one's own that are given at once. */
const PIECE_BYTES = 64 * 1024;

const DEFAULT_VERSIONS = [115, 115, 115, 116];

/**
 * Create the history of a local node. The made-up part of it takes no memory: its rows are made when they are read.
 *
 * @param options the chain, its segments, and rows of one's own
 * @returns the history
 * @throws {@link RequestError} naming the table, the row and the column where a row of one's own does not fit the schema
 */
export function createHistory(options: HistoryOptions): History {
  const { madeUp, chainId, segments: count, blocksPerSegment, schemaVersions = DEFAULT_VERSIONS } = options;
  const { maxRecordedBytes = MAX_RECORDED_BYTES } = options;
  const rules = { chainId, blocksPerSegment, schemaVersions, maxRecordedBytes };
  const genesis = readGenesis(options.genesis ?? {}, {
    versions: [...new Set(schemaVersions)],
    segmentOf(time) {
      const index = segmentOfTime(time, count, blocksPerSegment, madeUp);
      return { index, version: spanAt(rules, index).databaseVersion };
    },
  });
  const madeUpSegments = once(() => chained(rules, count, genesis));
  const lastMadeUp = () => madeUpSegments().at(-1) ?? segmentAt(rules, 0, "", "");
  let recorded = nothingRecorded(madeUp.lastHeight + 1n);
  let listed: { readonly closed: Recorded["closed"]; readonly segments: readonly Segment[] } | undefined;

  function piecesOf(table: TableName, segment: Segment): Iterable<Buffer> {
    const index = Number((segment.fromHeight - 1n) / BigInt(blocksPerSegment));
    if (index >= count) {
      const found = recorded.closed[index - count - recorded.dropped];
      if (found?.segment.id !== segment.id) {
        throw new RangeError(`the segment ${segment.id} is not of this history, or no more`);
      }
      return readRows(found.rows.get(table) ?? NO_ROWS);
    }
    const own = genesis.get(table);
    return own === undefined ? madeUpRows(madeUp, table, segment) : cut(own.get(index) ?? Buffer.alloc(0));
  }

  return {
    chainId,

    segments() {
      const { closed, dropped } = recorded;
      if (listed?.closed !== closed) {
        const before = dropped > 0 ? [] : madeUpSegments();
        listed = { closed, segments: [...before, ...closed.map(({ segment }) => segment)] };
      }
      return listed.segments;
    },

    record(block, happenings) {
      recorded = recordBlock(recorded, rules, lastMadeUp, block, happenings);
    },

    async *read(table, segment, signal) {
      for (const piece of piecesOf(table, segment)) {
        signal?.throwIfAborted();
        if (piece.length > 0) {
          yield piece;
        }
        await yieldToEventLoop(); // Others have their turn.
      }
    },

    async *ledger(signal) {
      const oldest = recorded.nextHeight - REACH_BLOCKS;
      const batches = [genesis.has("ledger") ? [] : madeUpEntries(madeUp, oldest), recordedEntries(recorded, oldest)];
      for (const batch of batches) {
        for (const entries of batch) {
          signal?.throwIfAborted();
          yield* entries;
          await yieldToEventLoop();
        }
      }
    },

    save: () => recorded,

    restore(state) {
      recorded = state;
    },
  };
}

/** The made-up segments, each with an identifier that is made of that of the one before. */
function chained(rules: SegmentRules, count: number, genesis: ReadonlyMap<TableName, GenesisLines>): Segment[] {
  let previousId = "";
  return Array.from({ length: count }, (_, index) => {
    const segment = segmentAt(rules, index, previousId, genesis.size === 0 ? "" : contentOf(genesis, index));
    previousId = segment.id;
    return segment;
  });
}

/** Cut bytes into pieces. */
function* cut(bytes: Buffer): Generator<Buffer, void, undefined> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    yield bytes.subarray(from, from + PIECE_BYTES);
  }
}

/** A hash of the rows of one's own in a segment. */
function contentOf(genesis: ReadonlyMap<TableName, GenesisLines>, index: number): string {
  const tables = [...genesis].map(([table, lines]) => `${table} ${hashOf(lines.get(index) ?? "")}`);
  return hashOf(tables.toSorted().join(" "));
}

/** The segment of a time: the last one whose first block is not later, or the first one. */
function segmentOfTime(time: string, count: number, blocksPerSegment: number, { blockAt }: MadeUp): number {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const begins = timeText(blockAt(BigInt(middle) * BigInt(blocksPerSegment) + 1n).time);
    [low, high] = begins <= time ? [middle, high] : [low, middle - 1];
  }
  return low;
}
