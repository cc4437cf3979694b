import { deflateRawSync, inflateRawSync } from "node:zlib";
import { hashOf } from "../made-up/numbers.js";
import { compareText } from "../tables/index.js";

/** How many characters of rows are deflated together. */
const CHUNK_CHARACTERS = 64 * 1024;

/** Rows as lines of text, most of them deflated. They never change: more rows make a new value. */
export interface StoredRows {
  readonly chunks: readonly Buffer[];
  /** Lines that wait to be deflated. */
  readonly text: string;
  /** A hash of the lines in the chunks. */
  readonly hash: string;
  /** Lines that wait for their place, which only the whole segment tells. */
  readonly unplaced: readonly PlacedLine[];
}

/** A line, and what its place in the segment goes by. */
export interface PlacedLine {
  readonly place: string;
  readonly line: string;
}

export const NO_ROWS: StoredRows = { chunks: [], text: "", hash: "", unplaced: [] };

/**
 * Add lines.
 *
 * @param rows what there is
 * @param text the lines, each with its end
 * @returns what there is then; the lines are deflated when there are enough of them
 */
export function addLines(rows: StoredRows, text: string): StoredRows {
  const all = rows.text + text;
  return all.length < CHUNK_CHARACTERS ? { ...rows, text: all } : deflated(rows, all);
}

/**
 * End the rows of a segment: the lines that wait are put in their places, and all is deflated.
 *
 * @param rows what there is
 * @returns the same rows
 */
export function closeRows(rows: StoredRows): StoredRows {
  const placed = rows.unplaced.toSorted((a, b) => compareText(a.place, b.place)).map(({ line }) => line);
  const all = rows.text + placed.join("");
  return all === "" ? rows : { ...deflated(rows, all), unplaced: [] };
}

function deflated(rows: StoredRows, text: string): StoredRows {
  return {
    ...rows,
    chunks: [...rows.chunks, deflateRawSync(text)],
    text: "",
    hash: hashOf(`${rows.hash} ${text}`),
  };
}

/**
 * Read rows again.
 *
 * @param rows the rows, closed or not
 * @returns the lines, in pieces of UTF-8
 */
export function* readRows({ chunks, text }: StoredRows): Generator<Buffer, void, undefined> {
  for (const chunk of chunks) {
    yield inflateRawSync(chunk);
  }
  if (text !== "") {
    yield Buffer.from(text);
  }
}
