import { isAscii, isUtf8 } from "node:buffer";
import {
  type CsvProblem,
  type CsvRow,
  csvError,
  duplicateName,
  emptyName,
  loneCarriageReturn,
  noHeader,
  notUtf8,
  type Position,
  quoteInPlainField,
  rowTooLong,
  textAfterQuote,
  tooFewFields,
  tooManyColumns,
  tooManyFields,
  truncatedInQuotes,
  truncatedInRow,
} from "./csv-format.js";

/** Some rows of a file, in order. */
export interface CsvBatch {
  /** The names in the header row: the same array in every batch. */
  readonly columns: readonly string[];
  readonly rows: CsvRow[];
}

/** The options of `decodeCsv`, validated and with defaults. */
export interface CsvParserSettings {
  readonly name: string;
  readonly nullString: string;
  readonly maxRowBytes: number;
  readonly finalNewline: "required" | "optional";
}

/** Parses one file that arrives in parts. */
export interface CsvParser {
  /**
   * Parses the next bytes of the file.
   *
   * @throws {@link ProtocolError} if a row is malformed or exceeds the size limit
   */
  push(bytes: Buffer): Generator<CsvBatch, void, undefined>;
  /**
   * Signals the end of the file.
   *
   * @throws {@link ProtocolError} if the file is empty, or truncated inside a row
   */
  end(): Generator<CsvBatch, void, undefined>;
}

/** The start of a row whose end has not arrived yet. */
export interface RowBuffer {
  /** Number of bytes in the buffer. */
  readonly length: number;
  /** Adds bytes up to the end of the row. */
  add(bytes: Buffer, max: number): { readonly taken: number; readonly complete: boolean };
  /** Empties the buffer. */
  take(): Buffer;
}

/**
 * How many bytes are parsed together, unless a row is longer. A long value is a view of the text that it was sliced from, so a
 * caller that retains one value retains about this many bytes of memory.
 */
const CHUNK_BYTES = 8 * 1024;

/** Maximum number of columns of a query result in PostgreSQL. */
const MAX_COLUMNS = 1664;

const QUOTE = 0x22;
const COMMA = 0x2c;
const LF = 0x0a;
const CR = 0x0d;

export function createCsvParser({ name, nullString, maxRowBytes, finalNewline }: CsvParserSettings): CsvParser {
  const pending = createRowBuffer();
  let columns: readonly string[] | undefined;
  let line = 1;

  /** Parses the complete rows in `bytes`, which begin with a row. Returns the number of bytes that the rows take. */
  function* completeRows(bytes: Buffer): Generator<CsvBatch, number, undefined> {
    const { text, valid } = decodeUtf8(bytes);
    const cursor = cursorAt(text, line);
    const stop = yield* batchAt(cursor);
    line = cursor.line;
    if (!valid) {
      throw csvError(name, stop ?? { line, field: 1 }, columns, notUtf8);
    }
    if (cursor.pos === text.length) {
      return bytes.length;
    }
    return text.length === bytes.length ? cursor.pos : bytes.length - Buffer.byteLength(text.slice(cursor.pos));
  }

  /**
   * Throws the first problem in `bytes`, which begin with a row and do not contain its end. If there is none, throws
   * what `otherwise` returns.
   */
  function* failIn(bytes: Buffer, otherwise: (stop: Stop) => CsvProblem): Generator<CsvBatch, never, undefined> {
    const { text, valid } = decodeUtf8(bytes);
    const stop = (yield* batchAt(cursorAt(text, line))) ?? { line, field: 1 };
    throw csvError(name, stop, columns, valid ? otherwise(stop) : notUtf8);
  }

  /** Yields the rows from the cursor on, after the header row if it was not read yet. Throws the error that follows the rows. */
  function* batchAt(cursor: Cursor): Generator<CsvBatch, Stop | undefined, undefined> {
    const header: CsvRow[] = [];
    const rows: CsvRow[] = [];
    let stop = columns === undefined ? parseRow(cursor, undefined, undefined, header) : undefined;
    for (const names of header) {
      columns = columnNames(names, name, line);
    }
    if (stop === undefined && columns !== undefined) {
      stop = parseRows(cursor, columns.length, nullString, rows);
    }
    if (columns !== undefined && header.length + rows.length > 0) {
      yield { columns, rows };
    }
    if (stop?.problem !== undefined) {
      throw csvError(name, stop, columns, stop.problem);
    }
    return stop;
  }

  const tooLong = () => rowTooLong(maxRowBytes);

  return {
    *push(bytes) {
      let from = 0;
      if (pending.length > 0) {
        const { taken, complete } = pending.add(bytes, maxRowBytes);
        if (complete) {
          yield* completeRows(pending.take());
        } else if (pending.length === maxRowBytes) {
          yield* failIn(pending.take(), tooLong);
        }
        from = taken;
      }
      let size = CHUNK_BYTES;
      while (from < bytes.length) {
        const chunk = bytes.subarray(from, from + Math.min(size, maxRowBytes));
        const lines = chunk.subarray(0, chunk.lastIndexOf(LF) + 1);
        const used = lines.length === 0 ? 0 : yield* completeRows(lines);
        from += used;
        if (used > 0) {
          size = CHUNK_BYTES;
        } else if (chunk.length === maxRowBytes) {
          yield* failIn(chunk, tooLong);
        } else if (from + chunk.length === bytes.length) {
          pending.add(chunk, maxRowBytes);
          return;
        } else {
          size *= 2;
        }
      }
    },

    *end() {
      if (pending.length === 0) {
        if (columns === undefined) {
          throw csvError(name, { line, field: 1 }, undefined, noHeader);
        }
        return;
      }
      if (finalNewline === "optional" && pending.add(Buffer.of(LF), maxRowBytes).complete) {
        yield* completeRows(pending.take());
        return;
      }
      yield* failIn(pending.take(), ({ quoted }) => (quoted ? truncatedInQuotes : truncatedInRow));
    },
  };
}

/** Returns the names in a header row, which ends in a line of the named file. Throws if a name is empty or repeated. */
function columnNames(header: CsvRow, file: string, line: number): readonly string[] {
  const names = new Set<string>();
  for (const column of header) {
    const position = { line, field: names.size + 1 };
    if (column === null || column === "") {
      throw csvError(file, position, undefined, emptyName);
    }
    if (names.has(column)) {
      throw csvError(file, position, [...names, column], duplicateName);
    }
    names.add(column);
  }
  return [...names];
}

/**
 * Creates an empty row buffer. It doubles when it is full and scans each byte once, so a field that arrives in a thousand
 * chunks costs no more than one that arrives in a single chunk.
 */
export function createRowBuffer(): RowBuffer {
  let buffer = Buffer.alloc(0);
  let length = 0;
  let quoted = false;
  return {
    get length() {
      return length;
    },
    add(bytes, max) {
      const limit = Math.min(bytes.length, max - length);
      let taken = 0;
      let complete = false;
      while (taken < limit && !complete) {
        const byte = bytes[taken++];
        if (byte === QUOTE) {
          // A doubled quote turns this off and on again. After a misplaced quote the state is wrong and the row may
          // seem to continue, but parsing the row then finds that quote first.
          quoted = !quoted;
        } else if (byte === LF) {
          complete = !quoted;
        }
      }
      if (length + taken > buffer.length) {
        const larger = Buffer.allocUnsafe(Math.max(length + taken, 2 * buffer.length));
        buffer.copy(larger, 0, 0, length);
        buffer = larger;
      }
      bytes.copy(buffer, length, 0, taken);
      length += taken;
      return { taken, complete };
    },
    take() {
      const bytes = buffer.subarray(0, length);
      buffer = Buffer.alloc(0);
      length = 0;
      quoted = false;
      return bytes;
    },
  };
}

/**
 * How far a text has been parsed: `pos` is the start of a row, `line` its line number.
 *
 * The other fields cache the next position of each character at or after `pos`: the text's length if there is none, or a
 * position before `pos` if the character must be searched again. They are retained from row to row, so that each
 * occurrence is searched once: these native searches take most of the time.
 */
interface Cursor {
  readonly text: string;
  pos: number;
  line: number;
  comma: number;
  quote: number;
  lf: number;
  cr: number;
}

/** Why parsing stopped before the end of the text. Without a problem, the text ends inside a row. */
interface Stop extends Position {
  readonly problem?: CsvProblem;
  /** Whether the text ends inside a quoted field. The position is then the field's opening quote. */
  readonly quoted?: boolean;
}

function cursorAt(text: string, line: number): Cursor {
  return { text, pos: 0, line, comma: -1, quote: -1, lf: -1, cr: -1 };
}

/** Parses rows of `width` fields up to the end of the text and adds them to `rows`. Returns why it stopped early. */
function parseRows(cursor: Cursor, width: number, nullString: string, rows: CsvRow[]): Stop | undefined {
  while (cursor.pos < cursor.text.length) {
    const row = parsePlainRow(cursor, width, nullString);
    if (row === undefined) {
      const stop = parseRow(cursor, width, nullString, rows);
      if (stop !== undefined) {
        return stop;
      }
    } else {
      rows.push(row);
    }
  }
  return undefined;
}

/** Parses a row of `width` unquoted fields. Returns `undefined` for any other row, which `parseRow` then handles. */
function parsePlainRow(cursor: Cursor, width: number, nullString: string): CsvRow | undefined {
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

/** Parses one row of any kind. The cursor does not move if the text ends inside the row. */
function parseRow(
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
      const value = parseQuoted(cursor);
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

/** Parses the quoted field at the cursor and moves past its closing quote. Returns `undefined` if the text has none. */
function parseQuoted(cursor: Cursor): string | undefined {
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

/** Searches again for the characters that the cursor has passed. */
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

// With `stream: true` Node decodes non-ASCII characters twice as fast. Valid text leaves no state in the decoder.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes UTF-8 up to the first invalid bytes. U+FEFF is a character like any other. */
export function decodeUtf8(bytes: Buffer): { readonly text: string; readonly valid: boolean } {
  if (isAscii(bytes)) {
    return { text: bytes.toString("latin1"), valid: true };
  }
  if (isUtf8(bytes)) {
    return { text: decoder.decode(bytes, { stream: true }), valid: true };
  }
  let text = "";
  let good = 0;
  let bad = bytes.length + 1;
  while (good + 1 < bad) {
    const middle = (good + bad) >>> 1;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, middle), {
        stream: true,
      });
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return { text, valid: good === bytes.length };
}
