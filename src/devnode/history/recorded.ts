import { type TableName, tableNames } from "../../schema/tables.js";
import { hashOf } from "../made-up/numbers.js";
import { blockFields, blockRows, csvRow, type Fields, placeIn } from "../tables/index.js";
import type { Block, Happening } from "../world/event.js";
import { entryLine, type LedgerEntryRecord, readEntry } from "./ledger-entry.js";
import { type Segment, type SegmentRules, segmentAt, spanAt } from "./segment.js";
import { addLines, closeRows, NO_ROWS, readRows, type StoredRows } from "./stored-rows.js";

/** What is kept of blocks: the rows of each table, and the entries of the ledger as its own export tells them. */
type Kept = TableName | "entries";

/** Blocks that were recorded together. */
export interface RecordedBlocks {
  readonly fromHeight: bigint;
  readonly rows: ReadonlyMap<Kept, StoredRows>;
}

/** The blocks of a segment, all of them. */
export interface RecordedSegment extends RecordedBlocks {
  readonly segment: Segment;
  /** What its rows take, in bytes. */
  readonly bytes: number;
}

/** What was recorded. It never changes: a further block makes a new value. */
export interface Recorded {
  /** How many segments were closed, and have made room for later ones. */
  readonly dropped: number;
  readonly closed: readonly RecordedSegment[];
  /** The blocks of the segment under way, which is not listed yet. */
  readonly open: RecordedBlocks;
  readonly nextHeight: bigint;
}

/**
 * Begin to record.
 *
 * @param nextHeight the height of the first block to come; the first of a segment
 * @returns nothing yet
 */
export function nothingRecorded(nextHeight: bigint): Recorded {
  return { dropped: 0, closed: [], open: { fromHeight: nextHeight, rows: new Map() }, nextHeight };
}

/**
 * Record a block.
 *
 * @param recorded what was recorded before
 * @param rules the chain, the length of segments and their versions, and the most bytes of rows that are kept
 * @param lastMadeUp the segment before the first recorded one
 * @param block the block, which follows the last one
 * @param happenings its events, in their order
 * @returns what is recorded then; with the last block of a segment that is closed
 * @throws RangeError where the block does not follow the last one
 */
export function recordBlock(
  { dropped, closed, open, nextHeight }: Recorded,
  rules: SegmentRules & { readonly maxRecordedBytes: number },
  lastMadeUp: () => Segment,
  block: Block,
  happenings: readonly Happening[],
): Recorded {
  if (block.height !== nextHeight) {
    throw new RangeError(`block ${block.height} does not follow block ${nextHeight - 1n}`);
  }
  const { fromHeight } = open;
  const index = Number((fromHeight - 1n) / BigInt(rules.blocksPerSegment));
  const { databaseVersion, toHeight } = spanAt(rules, index);
  const rows = new Map(open.rows);
  for (const table of tableNames) {
    const added = table === "blocks" ? [blockFields(block)] : blockRows(table, happenings);
    if (added.length > 0) {
      rows.set(table, withRows(rows.get(table) ?? NO_ROWS, table, databaseVersion, added));
    }
    if (table === "ledger" && added.length > 0) {
      rows.set("entries", addLines(rows.get("entries") ?? NO_ROWS, added.map(entryLine).join("")));
    }
  }
  if (block.height < toHeight) {
    return { dropped, closed, open: { fromHeight, rows }, nextHeight: nextHeight + 1n };
  }
  const full = new Map([...rows].map(([kept, stored]) => [kept, closeRows(stored)]));
  const previousId = (closed.at(-1)?.segment ?? lastMadeUp()).id;
  const content = hashOf(tableNames.map((table) => full.get(table)?.hash ?? "").join(" "));
  const segment = segmentAt(rules, index, previousId, content);
  const bytes = sum([...full.values()].flatMap(({ chunks }) => chunks.map(({ length }) => length)));
  const all = [...closed, { segment, fromHeight, rows: full, bytes }];
  const excess = tooMany(all, rules.maxRecordedBytes);
  return {
    dropped: dropped + excess,
    closed: all.slice(excess),
    open: { fromHeight: toHeight + 1n, rows: new Map() },
    nextHeight: nextHeight + 1n,
  };
}

/** How many of the first segments have to go, so that the others take no more than is allowed. The last one stays. */
function tooMany(segments: readonly RecordedSegment[], maxBytes: number): number {
  let left = sum(segments.map(({ bytes }) => bytes));
  let count = 0;
  for (const { bytes } of segments.slice(0, -1)) {
    if (left <= maxBytes) {
      break;
    }
    left -= bytes;
    count += 1;
  }
  return count;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

function withRows(stored: StoredRows, table: TableName, version: bigint, added: readonly Fields[]): StoredRows {
  const line = csvRow(table, version);
  const place = placeIn(table);
  return place === undefined
    ? addLines(stored, added.map(line).join(""))
    : { ...stored, unplaced: [...stored.unplaced, ...added.map((row) => ({ place: place(row), line: line(row) }))] };
}

/**
 * Read the entries of the ledger that were recorded.
 *
 * @param recorded what was recorded
 * @param oldest segments that end before this height are left out
 * @returns the entries, oldest first, many at once
 */
export function* recordedEntries(
  { closed, open, nextHeight }: Recorded,
  oldest: bigint,
): Generator<LedgerEntryRecord[], void, undefined> {
  const ends = [...closed.map(({ segment }) => segment.toHeight), nextHeight];
  for (const [index, { rows }] of [...closed, open].entries()) {
    const reached = (ends[index] ?? nextHeight) >= oldest;
    for (const piece of reached ? readRows(rows.get("entries") ?? NO_ROWS) : []) {
      yield piece.toString().trimEnd().split("\n").map(readEntry);
    }
  }
}
