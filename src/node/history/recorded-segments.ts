import { deflateRawSync, inflateRawSync } from "node:zlib";
import { type TableName, tableNames } from "../../data/schema/table-names.js";
import { hashOf } from "../generated-history/seeded-values.js";
import { blockFields, blockRows, compareText, csvRow, type Row, sortKeyOf } from "../tables/index.js";
import { timeText } from "../tables/postgres-text.js";
import type { Block, BlockEvent } from "../world/block-event.js";

/** The stored data of blocks: the rows of each table, and the ledger entries for the ledger's own export. */
type StoredRowsKey = TableName | "entries";

/** Consecutive recorded blocks. */
export interface RecordedBlocks {
  readonly fromHeight: bigint;
  readonly rows: ReadonlyMap<StoredRowsKey, StoredRows>;
}

/** The blocks of a complete segment. */
export interface RecordedSegment extends RecordedBlocks {
  readonly segment: NodeSegment;
  /** The size of its rows, in bytes. */
  readonly bytes: number;
}

/** The recorded part of a history. It is immutable: recording a block returns a new value. */
export interface RecordedHistory {
  /** The number of complete segments that were dropped to stay below the size limit. */
  readonly dropped: number;
  readonly completed: readonly RecordedSegment[];
  /** The blocks of the incomplete last segment, which is not listed yet. */
  readonly open: RecordedBlocks;
  readonly nextHeight: bigint;
}

/** Creates an empty record. */
export function emptyHistory(nextHeight: bigint): RecordedHistory {
  return { dropped: 0, completed: [], open: { fromHeight: nextHeight, rows: new Map() }, nextHeight };
}

/**
 * Records a block. The last block of a segment completes the segment.
 *
 * @throws RangeError if the block does not follow the last one
 */
export function recordBlock(
  { dropped, completed, open, nextHeight }: RecordedHistory,
  rules: SegmentRules & { readonly maxRecordedBytes: number },
  lastGenerated: () => NodeSegment,
  block: Block,
  blockEvents: readonly BlockEvent[],
): RecordedHistory {
  if (block.height !== nextHeight) {
    throw new RangeError(`block ${block.height} does not follow block ${nextHeight - 1n}`);
  }
  const { fromHeight } = open;
  const index = Number((fromHeight - 1n) / BigInt(rules.blocksPerSegment));
  const { databaseVersion, toHeight } = segmentRange(rules, index);
  const rows = new Map(open.rows);
  for (const table of tableNames) {
    const added = table === "blocks" ? [blockFields(block)] : blockRows(table, blockEvents);
    if (added.length > 0) {
      rows.set(table, addRows(rows.get(table) ?? EMPTY_ROWS, table, databaseVersion, added));
    }
    if (table === "ledger" && added.length > 0) {
      rows.set("entries", addLines(rows.get("entries") ?? EMPTY_ROWS, added.map(formatEntry).join("")));
    }
  }
  if (block.height < toHeight) {
    return { dropped, completed, open: { fromHeight, rows }, nextHeight: nextHeight + 1n };
  }
  const full = new Map([...rows].map(([kept, stored]) => [kept, completeRows(stored)]));
  const previousId = (completed.at(-1)?.segment ?? lastGenerated()).id;
  const content = hashOf(tableNames.map((table) => full.get(table)?.hash ?? "").join(" "));
  const segment = segmentAt(rules, index, previousId, content);
  const bytes = sum([...full.values()].flatMap(({ chunks }) => chunks.map(({ length }) => length)));
  const all = [...completed, { segment, fromHeight, rows: full, bytes }];
  const excess = excessSegments(all, rules.maxRecordedBytes);
  return {
    dropped: dropped + excess,
    completed: all.slice(excess),
    open: { fromHeight: toHeight + 1n, rows: new Map() },
    nextHeight: nextHeight + 1n,
  };
}

/** Returns how many of the oldest segments to drop to stay below the size limit. The last segment is never dropped. */
function excessSegments(segments: readonly RecordedSegment[], maxBytes: number): number {
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

function addRows(stored: StoredRows, table: TableName, version: bigint, added: readonly Row[]): StoredRows {
  const line = csvRow(table, version);
  const place = sortKeyOf(table);
  return place === undefined
    ? addLines(stored, added.map(line).join(""))
    : { ...stored, unsorted: [...stored.unsorted, ...added.map((row) => ({ place: place(row), line: line(row) }))] };
}

export function* recordedEntries(
  { completed, open, nextHeight }: RecordedHistory,
  oldest: bigint,
): Generator<LedgerEntryRecord[], void, undefined> {
  const ends = [...completed.map(({ segment }) => segment.toHeight), nextHeight];
  for (const [index, { rows }] of [...completed, open].entries()) {
    const reached = (ends[index] ?? nextHeight) >= oldest;
    for (const chunk of reached ? readRows(rows.get("entries") ?? EMPTY_ROWS) : []) {
      yield chunk.toString().trimEnd().split("\n").map(parseEntry);
    }
  }
}

/** An entry of the ledger, as in the export of a party's ledger. */
export interface LedgerEntryRecord {
  /** The time of the entry, in Unix nanoseconds. */
  readonly time: bigint;
  /** The time of its block, in PostgreSQL's format. */
  readonly vegaTime: string;
  readonly quantity: string;
  readonly type: string;
  readonly assetId: string;
  readonly from: LedgerAccount;
  readonly to: LedgerAccount;
}

/** An account of an entry. */
export interface LedgerAccount {
  /** 64 hex digits, or `network`. */
  readonly owner: string;
  /** Empty if the account belongs to no market. */
  readonly marketId: string;
  /** Such as `GENERAL`. */
  readonly type: string;
  /** The balance after the entry. */
  readonly balance: string;
}

/** Converts a row of the table `ledger` to an entry. */
export function toLedgerEntry(row: Row): LedgerEntryRecord {
  const text = (name: string) => String(row[name] ?? "");
  const account = (side: "from" | "to"): LedgerAccount => ({
    owner: text(`account_${side}_party_id`),
    marketId: text(`account_${side}_market_id`),
    type: text(`account_${side}_account_type`),
    balance: text(`account_${side}_balance`) || "0",
  });
  return {
    time: BigInt(text("ledger_entry_time")),
    vegaTime: timeText(BigInt(text("vega_time"))),
    quantity: text("quantity") || "0",
    type: text("type"),
    assetId: text("asset_id"),
    from: account("from"),
    to: account("to"),
  };
}

/** Formats a row of the table `ledger` as a line of JSON, which {@link parseEntry} parses. */
function formatEntry(row: Row): string {
  const { time, ...entry } = toLedgerEntry(row);
  return `${JSON.stringify({ ...entry, time: String(time) })}\n`;
}

/** Parses a line that {@link formatEntry} formatted. */
function parseEntry(line: string): LedgerEntryRecord {
  const entry: Omit<LedgerEntryRecord, "time"> & { readonly time: string } = JSON.parse(line);
  return { ...entry, time: BigInt(entry.time) };
}

/** A history segment: consecutive blocks with one version of the database schema, which are exported together. */
export interface NodeSegment {
  readonly fromHeight: bigint;
  /** Last block, inclusive. */
  readonly toHeight: bigint;
  /** IPFS content identifier, version 0: `Qm` and 44 letters and digits. It depends on the content and `previousId`. */
  readonly id: string;
  /** Identifier of the previous segment; empty for the first. */
  readonly previousId: string;
  readonly databaseVersion: bigint;
  readonly chainId: string;
}

/** The length of a history's segments, and their schema versions. */
export interface SegmentRules {
  readonly chainId: string;
  readonly blocksPerSegment: number;
  /** The version of the database schema of each segment, in order; the last one applies to all later segments. */
  readonly schemaVersions: readonly number[];
}

export function segmentRange({ blocksPerSegment, schemaVersions }: SegmentRules, index: number) {
  const version = schemaVersions[Math.min(index, schemaVersions.length - 1)] ?? 0;
  const fromHeight = BigInt(index) * BigInt(blocksPerSegment) + 1n;
  return { fromHeight, toHeight: fromHeight + BigInt(blocksPerSegment) - 1n, databaseVersion: BigInt(version) };
}

export function segmentAt(rules: SegmentRules, index: number, previousId: string, content: string): NodeSegment {
  const { chainId } = rules;
  const { fromHeight, toHeight, databaseVersion } = segmentRange(rules, index);
  const digest = hashOf(
    `${previousId} ${chainId} ${fromHeight} ${databaseVersion} ${rules.blocksPerSegment} ${content}`,
  );
  const id = base58(`${SHA2_256}${digest}`);
  return { fromHeight, toHeight, id, previousId, databaseVersion, chainId };
}

/** The prefix of a SHA2-256 multihash, in hexadecimal: its function code, and its length of 32 bytes. */
const SHA2_256 = "1220";

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Encodes bytes in base 58. The first byte must not be 0. */
function base58(hex: string): string {
  let text = "";
  for (let rest = BigInt(`0x${hex}`); rest > 0n; rest /= 58n) {
    text = `${BASE58.charAt(Number(rest % 58n))}${text}`;
  }
  return text;
}

/** The number of characters of rows that are deflated together. */
const CHUNK_CHARACTERS = 64 * 1024;

/** Rows as lines of text, most of them deflated. The value is immutable: adding rows returns a new one. */
export interface StoredRows {
  readonly chunks: readonly Buffer[];
  /** Lines that are not deflated yet. */
  readonly text: string;
  /** A hash of the lines in `chunks`. */
  readonly hash: string;
  /** Lines that are sorted when the segment is complete. */
  readonly unsorted: readonly SortableLine[];
}

/** A line and its sort key within the segment. */
export interface SortableLine {
  readonly place: string;
  readonly line: string;
}

export const EMPTY_ROWS: StoredRows = { chunks: [], text: "", hash: "", unsorted: [] };

/** Adds lines. They are deflated once there are enough of them. */
function addLines(rows: StoredRows, text: string): StoredRows {
  const all = rows.text + text;
  return all.length < CHUNK_CHARACTERS ? { ...rows, text: all } : deflated(rows, all);
}

/** Completes the rows of a segment: sorts the unsorted lines, and deflates all. */
function completeRows(rows: StoredRows): StoredRows {
  const placed = rows.unsorted.toSorted((a, b) => compareText(a.place, b.place)).map(({ line }) => line);
  const all = rows.text + placed.join("");
  return all === "" ? rows : { ...deflated(rows, all), unsorted: [] };
}

function deflated(rows: StoredRows, text: string): StoredRows {
  return {
    ...rows,
    chunks: [...rows.chunks, deflateRawSync(text)],
    text: "",
    hash: hashOf(`${rows.hash} ${text}`),
  };
}

export function* readRows({ chunks, text }: StoredRows): Generator<Buffer, void, undefined> {
  for (const chunk of chunks) {
    yield inflateRawSync(chunk);
  }
  if (text !== "") {
    yield Buffer.from(text);
  }
}
