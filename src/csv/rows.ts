import {
  type CsvMistake,
  loneCarriageReturn,
  type Place,
  quoteInPlainField,
  textAfterQuote,
  tooFewFields,
  tooManyFields,
} from "./csv-error.js";
import type { CsvRow } from "./format.js";

const QUOTE = 0x22;
const COMMA = 0x2c;
const LF = 0x0a;
const CR = 0x0d;

/**
 * How far a text has been read: `pos` is the start of a row, `line` its line.
 *
 * The others are where the next one of each character stands, at or after `pos` (the text's length where there is none), or
 * before `pos` when it has to be looked for again. Kept from row to row, each character is looked for once: the search is
 * native, and most of the time goes into it.
 */
export interface Cursor {
  readonly text: string;
  pos: number;
  line: number;
  comma: number;
  quote: number;
  lf: number;
  cr: number;
}

/** Why reading stopped before the end of the text: a problem, or, without one, the text ends inside a row. */
export interface Stop extends Place {
  readonly problem?: CsvMistake;
  /** Whether the text ends inside a quoted field; the place is then the field's opening quote. */
  readonly quoted?: boolean;
}

export function cursorOf(text: string, line: number): Cursor {
  return { text, pos: 0, line, comma: -1, quote: -1, lf: -1, cr: -1 };
}

/** Reads rows of `width` fields into `rows` up to the end of the text. */
export function readRows(cursor: Cursor, width: number, nullString: string, rows: CsvRow[]): Stop | undefined {
  while (cursor.pos < cursor.text.length) {
    const row = readPlainRow(cursor, width, nullString);
    if (row === undefined) {
      const stop = readRow(cursor, width, nullString, rows);
      if (stop !== undefined) {
        return stop;
      }
    } else {
      rows.push(row);
    }
  }
  return undefined;
}

/** A whole row of `width` fields none of which is quoted. What is anything else, wrong or not, is left to `readRow`. */
function readPlainRow(cursor: Cursor, width: number, nullString: string): CsvRow | undefined {
  const { text } = cursor;
  seek(cursor);
  const { lf } = cursor;
  if (lf === text.length || cursor.quote < lf || cursor.cr < lf - 1) {
    return undefined;
  }
  const end = Math.min(cursor.cr, lf);
  const last = width - 1;
  const row = new Array<string | null>(width);
  let { pos, comma } = cursor;
  let field = 0;
  for (; field < last && comma < end; field++) {
    const value = text.slice(pos, comma);
    row[field] = value === nullString ? null : value;
    pos = comma + 1;
    comma = find(text, ",", pos);
  }
  if (field < last || comma < end) {
    return undefined;
  }
  const value = text.slice(pos, end);
  row[last] = value === nullString ? null : value;
  cursor.pos = lf + 1;
  cursor.line += 1;
  cursor.comma = comma;
  return row;
}

/** Reads one row, of any kind, into `rows`. Without a width, any number of fields is right; without a NULL string, none is NULL. */
export function readRow(
  cursor: Cursor,
  width: number | undefined,
  nullString: string | undefined,
  rows: CsvRow[],
): Stop | undefined {
  const { text } = cursor;
  const row: CsvRow = [];
  const from = { pos: cursor.pos, line: cursor.line };
  for (;;) {
    const field = row.length + 1;
    if (text.charCodeAt(cursor.pos) === QUOTE) {
      const value = readQuoted(cursor);
      if (value === undefined) {
        const stop = { line: cursor.line, field, quoted: true };
        Object.assign(cursor, from);
        return stop;
      }
      row.push(value);
    } else {
      seek(cursor);
      const end = Math.min(cursor.comma, cursor.lf, cursor.cr);
      if (cursor.quote < end) {
        return { line: cursor.line, field, problem: quoteInPlainField };
      }
      const value = text.slice(cursor.pos, end);
      row.push(value === nullString ? null : value);
      cursor.pos = end;
    }
    const next = text.charCodeAt(cursor.pos);
    if (next === COMMA) {
      if (row.length === width) {
        return { line: cursor.line, field: width + 1, problem: tooManyFields(width) };
      }
      cursor.pos += 1;
      continue;
    }
    const end = next === CR ? cursor.pos + 1 : cursor.pos;
    if (end >= text.length) {
      const stop = { line: cursor.line, field };
      Object.assign(cursor, from);
      return stop;
    }
    if (text.charCodeAt(end) !== LF) {
      return { line: cursor.line, field, problem: next === CR ? loneCarriageReturn : textAfterQuote };
    }
    if (width !== undefined && row.length < width) {
      return { line: cursor.line, field: field + 1, problem: tooFewFields(row.length, width) };
    }
    cursor.pos = end + 1;
    cursor.line += 1;
    rows.push(row);
    return undefined;
  }
}

/** The value of the quoted field at the cursor, which moves behind the closing quote; none if the text has no such quote. */
function readQuoted(cursor: Cursor): string | undefined {
  const { text } = cursor;
  const open = cursor.pos + 1;
  let close = text.indexOf('"', open);
  let doubled = false;
  while (close >= 0 && text.charCodeAt(close + 1) === QUOTE) {
    doubled = true;
    close = text.indexOf('"', close + 2);
  }
  if (close < 0) {
    return undefined;
  }
  if (cursor.lf < open) {
    cursor.lf = find(text, "\n", open);
  }
  while (cursor.lf < close) {
    cursor.line += 1;
    cursor.lf = find(text, "\n", cursor.lf + 1);
  }
  cursor.pos = close + 1;
  const value = text.slice(open, close);
  return doubled ? value.replaceAll('""', '"') : value;
}

/** Looks for those characters again that the cursor has passed. */
function seek(cursor: Cursor): void {
  const { text, pos } = cursor;
  if (cursor.comma < pos) {
    cursor.comma = find(text, ",", pos);
  }
  if (cursor.lf < pos) {
    cursor.lf = find(text, "\n", pos);
  }
  if (cursor.quote < pos) {
    cursor.quote = find(text, '"', pos);
  }
  if (cursor.cr < pos) {
    cursor.cr = find(text, "\r", pos);
  }
}

function find(text: string, character: string, from: number): number {
  const at = text.indexOf(character, from);
  return at < 0 ? text.length : at;
}
