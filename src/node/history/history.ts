import { yieldToEventLoop } from "../../base/runtime/index.js";
import type { TableName } from "../../data/schema/table-names.js";
import { type GeneratedHistory, REACH_BLOCKS } from "../generated-history/generated-history.js";
import { hashOf, once } from "../generated-history/seeded-values.js";
import { blockRows, compareText, csvRow, sortKeyOf } from "../tables/index.js";
import { timeText } from "../tables/postgres-text.js";
import type { Block, BlockEvent } from "../world/block-event.js";
import { type Genesis, type GenesisLines, readGenesis } from "./genesis.js";
import {
  EMPTY_ROWS,
  emptyHistory,
  type LedgerEntryRecord,
  type NodeSegment,
  type RecordedHistory,
  readRows,
  recordBlock,
  recordedEntries,
  type SegmentRules,
  type SortableLine,
  segmentAt,
  segmentRange,
  toLedgerEntry,
} from "./recorded-segments.js";

export type { Genesis } from "./genesis.js";
export type { LedgerAccount, LedgerEntryRecord, NodeSegment } from "./recorded-segments.js";

export interface HistoryOptions {
  readonly generated: GeneratedHistory;
  /** Identifier of the chain. It is part of file names. */
  readonly chainId: string;
  /** Number of generated segments; at least 1. */
  readonly segments: number;
  /** Number of blocks in each segment; at least 1. */
  readonly blocksPerSegment: number;
  /**
   * The version of the database schema of each segment, in order; the last one applies to all later segments. By default
   * 115 for three segments and then 116.
   */
  readonly schemaVersions?: readonly number[] | undefined;
  /** Custom rows by table. They replace the table's generated rows. */
  readonly genesis?: Genesis | undefined;
  /** The maximum size of stored rows in bytes, deflated; {@link MAX_RECORDED_BYTES} by default. */
  readonly maxRecordedBytes?: number | undefined;
}

/**
 * The maximum size of stored rows in bytes, deflated. Beyond it, the oldest segments are dropped, the generated ones first.
 * The history then starts later, as on a node that retains only the last months.
 */
const MAX_RECORDED_BYTES = 512 * 1024 * 1024;

/** The network's history: segments of rows, first the generated ones, then those of executed blocks. */
export interface History {
  readonly chainId: string;
  /** Returns the complete segments, in the order of their heights. */
  segments(): readonly NodeSegment[];
  /** Records an executed block. The last block of a segment completes it. */
  record(block: Block, blockEvents: readonly BlockEvent[]): void;
  /**
   * Reads the rows of a table in a segment, in the order of the table's primary key.
   *
   * @throws RangeError during the read if the segment no longer exists because an earlier state was restored
   */
  read(table: TableName, segment: NodeSegment, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined>;
  /** Reads the ledger entries of the last {@link REACH_BLOCKS} blocks, oldest first. */
  ledger(signal?: AbortSignal): AsyncGenerator<LedgerEntryRecord, void, undefined>;
  /** Returns the recorded state. It is immutable, so that it can be restored any number of times. */
  save(): HistoryState;
  restore(state: HistoryState): void;
}

/** The recorded part of a history. */
export type HistoryState = RecordedHistory;

/** The size of a chunk of custom rows, in bytes. */
const CHUNK_BYTES = 64 * 1024;

const DEFAULT_VERSIONS = [115, 115, 115, 116];

/**
 * Creates the history of a local node. Its generated part takes no memory: the rows are generated when they are read.
 *
 * @throws {@link RequestError} if a custom row does not fit the schema; the error names the table, the row and the column
 */
export function createHistory(options: HistoryOptions): History {
  const { generated, chainId, segments: count, blocksPerSegment, schemaVersions = DEFAULT_VERSIONS } = options;
  const { maxRecordedBytes = MAX_RECORDED_BYTES } = options;
  const rules = { chainId, blocksPerSegment, schemaVersions, maxRecordedBytes };
  const genesis = readGenesis(options.genesis ?? {}, {
    versions: [...new Set(schemaVersions)],
    segmentOf(time) {
      const index = segmentOfTime(time, count, blocksPerSegment, generated);
      return { index, ...segmentRange(rules, index) };
    },
  });
  const generatedSegments = once(() => linkedSegments(rules, count, genesis));
  const lastGenerated = () => generatedSegments().at(-1) ?? segmentAt(rules, 0, "", "");
  let recorded = emptyHistory(generated.lastHeight + 1n);
  let listed:
    | { readonly completed: RecordedHistory["completed"]; readonly segments: readonly NodeSegment[] }
    | undefined;

  function chunksOf(table: TableName, segment: NodeSegment): Iterable<Buffer> {
    const index = Number((segment.fromHeight - 1n) / BigInt(blocksPerSegment));
    if (index >= count) {
      const found = recorded.completed[index - count - recorded.dropped];
      if (found?.segment.id !== segment.id) {
        throw new RangeError(`the segment ${segment.id} is not, or no longer, in this history`);
      }
      return readRows(found.rows.get(table) ?? EMPTY_ROWS);
    }
    const customLines = genesis.get(table);
    return customLines === undefined
      ? generatedRows(generated, table, segment)
      : splitIntoChunks(customLines.get(index) ?? Buffer.alloc(0));
  }

  return {
    chainId,

    segments() {
      const { completed, dropped } = recorded;
      if (listed?.completed !== completed) {
        const before = dropped > 0 ? [] : generatedSegments();
        listed = { completed, segments: [...before, ...completed.map(({ segment }) => segment)] };
      }
      return listed.segments;
    },

    record(block, blockEvents) {
      recorded = recordBlock(recorded, rules, lastGenerated, block, blockEvents);
    },

    async *read(table, segment, signal) {
      for (const chunk of chunksOf(table, segment)) {
        signal?.throwIfAborted();
        if (chunk.length > 0) {
          yield chunk;
        }
        await yieldToEventLoop(); // Lets other calls proceed.
      }
    },

    async *ledger(signal) {
      const oldest = recorded.nextHeight - REACH_BLOCKS;
      const batches = [
        genesis.has("ledger") ? [] : generatedEntries(generated, oldest),
        recordedEntries(recorded, oldest),
      ];
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

/** Returns the generated segments. The identifier of each depends on that of the segment before. */
function linkedSegments(
  rules: SegmentRules,
  count: number,
  genesis: ReadonlyMap<TableName, GenesisLines>,
): NodeSegment[] {
  let previousId = "";
  return Array.from({ length: count }, (_, index) => {
    const segment = segmentAt(rules, index, previousId, genesis.size === 0 ? "" : contentHash(genesis, index));
    previousId = segment.id;
    return segment;
  });
}

function* splitIntoChunks(bytes: Buffer): Generator<Buffer, void, undefined> {
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
    yield bytes.subarray(from, from + CHUNK_BYTES);
  }
}

function contentHash(genesis: ReadonlyMap<TableName, GenesisLines>, index: number): string {
  const tables = [...genesis].map(([table, lines]) => `${table} ${hashOf(lines.get(index) ?? "")}`);
  return hashOf(tables.toSorted().join(" "));
}

/** Returns the segment of a time: the last one whose first block is not later, otherwise the first one. */
function segmentOfTime(time: string, count: number, blocksPerSegment: number, { blockAt }: GeneratedHistory): number {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const begins = timeText(blockAt(BigInt(middle) * BigInt(blocksPerSegment) + 1n).time);
    [low, high] = begins <= time ? [middle, high] : [low, middle - 1];
  }
  return low;
}

/** The size of a chunk of rows, in characters. */
const CHUNK_CHARACTERS = 32 * 1024;
/** The number of blocks after which a chunk is emitted even if it is small. */
const CHUNK_BLOCKS = 64;

function* generatedRows(
  generated: GeneratedHistory,
  table: TableName,
  { fromHeight, toHeight, databaseVersion }: { fromHeight: bigint; toHeight: bigint; databaseVersion: bigint },
): Generator<Buffer, void, undefined> {
  const line = csvRow(table, databaseVersion);
  const place = sortKeyOf(table);
  const lines: SortableLine[] = [];
  let text = "";
  for (let height = fromHeight; height <= toHeight; height += 1n) {
    for (const row of blockRows(table, generated.events(table, height))) {
      if (place === undefined) {
        text += line(row);
      } else {
        lines.push({ place: place(row), line: line(row) });
      }
    }
    if (text.length >= CHUNK_CHARACTERS || (height - fromHeight) % BigInt(CHUNK_BLOCKS) === 0n) {
      yield Buffer.from(text);
      text = "";
    }
  }
  yield Buffer.from(text);
  yield* chunks(lines.sort((a, b) => compareText(a.place, b.place)));
}

function* chunks(lines: readonly SortableLine[]): Generator<Buffer, void, undefined> {
  let text = "";
  for (const { line } of lines) {
    text += line;
    if (text.length >= CHUNK_CHARACTERS) {
      yield Buffer.from(text);
      text = "";
    }
  }
  yield Buffer.from(text);
}

function* generatedEntries(
  generated: GeneratedHistory,
  oldest: bigint,
): Generator<LedgerEntryRecord[], void, undefined> {
  let entries: LedgerEntryRecord[] = [];
  for (let height = oldest > 1n ? oldest : 1n; height <= generated.lastHeight; height += 1n) {
    entries.push(...blockRows("ledger", generated.events("ledger", height)).map(toLedgerEntry));
    if (entries.length >= CHUNK_BLOCKS) {
      yield entries;
      entries = [];
    }
  }
  yield entries;
}
