import type { TableName } from "../../schema/tables.js";
import type { MadeUp } from "../made-up/index.js";
import { blockRows, compareText, csvRow, placeIn } from "../tables/index.js";
import { entryOf, type LedgerEntryRecord } from "./ledger-entry.js";
import type { PlacedLine } from "./stored-rows.js";

/** How many characters of rows are made at once. */
const PIECE_CHARACTERS = 32 * 1024;
/** How many blocks are looked at at once. */
const PIECE_BLOCKS = 64;

/**
 * Make the made-up rows of a segment.
 *
 * @param madeUp the made-up history
 * @param table the table
 * @param span the heights of the segment, both ends inclusive, and its version of the database schema
 * @returns CSV without a header, in the order of the primary key: in pieces, of which some may be empty, each of which
 *   takes some milliseconds
 */
export function* madeUpRows(
  madeUp: MadeUp,
  table: TableName,
  { fromHeight, toHeight, databaseVersion }: { fromHeight: bigint; toHeight: bigint; databaseVersion: bigint },
): Generator<Buffer, void, undefined> {
  const line = csvRow(table, databaseVersion);
  const place = placeIn(table);
  const lines: PlacedLine[] = [];
  let text = "";
  for (let height = fromHeight; height <= toHeight; height += 1n) {
    for (const row of blockRows(table, madeUp.happenings(table, height))) {
      if (place === undefined) {
        text += line(row);
      } else {
        lines.push({ place: place(row), line: line(row) });
      }
    }
    if (text.length >= PIECE_CHARACTERS || (height - fromHeight) % BigInt(PIECE_BLOCKS) === 0n) {
      yield Buffer.from(text);
      text = "";
    }
  }
  yield Buffer.from(text);
  yield* pieces(lines.sort((a, b) => compareText(a.place, b.place)));
}

function* pieces(lines: readonly PlacedLine[]): Generator<Buffer, void, undefined> {
  let text = "";
  for (const { line } of lines) {
    text += line;
    if (text.length >= PIECE_CHARACTERS) {
      yield Buffer.from(text);
      text = "";
    }
  }
  yield Buffer.from(text);
}

/**
 * Make the made-up entries of the ledger.
 *
 * @param madeUp the made-up history
 * @param oldest the height of the first block that counts
 * @returns the entries, oldest first, many at once
 */
export function* madeUpEntries(madeUp: MadeUp, oldest: bigint): Generator<LedgerEntryRecord[], void, undefined> {
  let entries: LedgerEntryRecord[] = [];
  for (let height = oldest > 1n ? oldest : 1n; height <= madeUp.lastHeight; height += 1n) {
    entries.push(...blockRows("ledger", madeUp.happenings("ledger", height)).map(entryOf));
    if (entries.length >= PIECE_BLOCKS) {
      yield entries;
      entries = [];
    }
  }
  yield entries;
}
