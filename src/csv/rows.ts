import {
  type CsvMistake,
  loneCarriageReturn,
  type Place,
  quoteInPlainField,
  textAfterQuote,
  tooFewFields,
  tooManyColumns,
  tooManyFields,
} from "./csv-error.js";
import type { CsvRow } from "./format.js";

/** The most columns of a query's result in PostgreSQL. */
const MAX_COLUMNS = 1664;

const QUOTE = 0x22;
const COMMA = 0x2c;
const LF = 0x0a;
const CR = 0x0d;

/**
 * How far a text has been read: `pos` is the start of a row, `line` its line.
 *
 * The other fields hold the next position of each character at or after `pos`: the text's length where there is none,
 * or a position before `pos` where it must be searched again. As they are kept from row to row, each occurrence is
 * searched once: these native searches take most of the time.
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

/** Why reading stopped before the end of the text. Without a problem, the text ends inside a row. */
export interface Stop extends Place {
  readonly problem?: CsvMistake;
  /** Whether the text ends inside a quoted field. The place is then the field's opening quote. */
  readonly quoted?: boolean;
}

/**
 * Start to read a text.
 *
 * @param text begins with a row
 * @param line the number of its first line in the file, from 1
 * @returns the cursor
 */
export function cursorOf(text: string, line: number): Cursor {
  return { text, pos: 0, line, comma: -1, quote: -1, lf: -1, cr: -1 };
}

/**
 * Read rows up to the end of the text.
 *
 * @param cursor stands at the start of a row
 * @param width how many fields each row must have
 * @param nullString an unquoted field with this text is NULL
 * @param rows the rows are added to this array
 * @returns why reading stopped early; `undefined` where it did not
 */
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

/** Read a row of `width` unquoted fields. Any other row, wrong or not, is left to `readRow`. */
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

/**
 * Read one row of any kind. The cursor does not move where the text ends inside the row.
 *
 * @param cursor stands at the start of the row
 * @param width how many fields the row must have; any number up to 1664 where it is `undefined`
 * @param nullString an unquoted field with this text is NULL; none is where it is `undefined`
 * @param rows the row is added to this array
 * @returns why reading stopped early; `undefined` where it did not
 */
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
      if (row.length === MAX_COLUMNS) {
        return { line: cursor.line, field: row.length + 1, problem: tooManyColumns(MAX_COLUMNS) };
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

/**
 * Read the quoted field at the cursor and move behind its closing quote; `undefined` where the text has no such quote.
 */
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

/** Search again for the characters that the cursor has passed. */
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
