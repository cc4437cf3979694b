import { createCarry } from "./carry.js";
import {
  type CsvMistake,
  csvError,
  cutInQuotes,
  cutInRow,
  duplicateName,
  emptyName,
  noHeader,
  notUtf8,
  rowTooLong,
} from "./csv-error.js";
import type { CsvRow } from "./format.js";
import { type Cursor, cursorOf, readRow, readRows, type Stop } from "./rows.js";
import { textOf } from "./text.js";

/** Some rows of a file, in order. */
export interface CsvBatch {
  /** The names in the header row: the same array in every batch. */
  readonly columns: readonly string[];
  readonly rows: CsvRow[];
}

/** How a file is read: the options of `decodeCsv`, complete and checked. */
export interface ReaderSettings {
  readonly name: string;
  readonly nullString: string;
  readonly maxRowBytes: number;
  readonly finalNewline: "required" | "optional";
}

/** Reads one file that arrives part by part. */
export interface Reader {
  /**
   * Read the next bytes of the file.
   *
   * @param bytes the bytes, split anywhere
   * @returns the rows that end in them
   * @throws {@link ProtocolError} where a row breaks a rule or is over the limit
   */
  read(bytes: Buffer): Generator<CsvBatch, void, undefined>;
  /**
   * Take the end of the file.
   *
   * @returns the last row, where it may go without a line end and does
   * @throws {@link ProtocolError} where the file is empty, or was cut inside a row
   */
  end(): Generator<CsvBatch, void, undefined>;
}

/**
 * How many bytes are decoded at once, where no row is longer. A long value is a view of the text that it was cut from,
 * so a caller that keeps one value keeps about this many bytes in memory.
 */
const PIECE_BYTES = 8 * 1024;

const LF = 0x0a;

/**
 * Make a reader of one file.
 *
 * @param settings the file's name for errors, its NULL string, the limit on a row's bytes, and the rule for its last
 *   line end
 * @returns the reader
 */
export function createReader({ name, nullString, maxRowBytes, finalNewline }: ReaderSettings): Reader {
  const carry = createCarry();
  let columns: readonly string[] | undefined;
  let line = 1;

  /** Reads the whole rows in `bytes`, which begin with a row, and returns how many bytes they took. */
  function* rowsIn(bytes: Buffer): Generator<CsvBatch, number, undefined> {
    const { text, valid } = textOf(bytes);
    const cursor = cursorOf(text, line);
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
   * Throws the first mistake in `bytes`, which begin with a row and do not hold its end; without one, throws `problem`.
   */
  function* refuse(bytes: Buffer, problem: (stop: Stop) => CsvMistake): Generator<CsvBatch, never, undefined> {
    const { text, valid } = textOf(bytes);
    const stop = (yield* batchAt(cursorOf(text, line))) ?? { line, field: 1 };
    throw csvError(name, stop, columns, valid ? problem(stop) : notUtf8);
  }

  /**
   * The rows from the cursor on, the header row first where it has not been read. Throws the first mistake after them.
   */
  function* batchAt(cursor: Cursor): Generator<CsvBatch, Stop | undefined, undefined> {
    const header: CsvRow[] = [];
    const rows: CsvRow[] = [];
    let stop = columns === undefined ? readRow(cursor, undefined, undefined, header) : undefined;
    for (const names of header) {
      columns = columnsOf(names);
    }
    if (stop === undefined && columns !== undefined) {
      stop = readRows(cursor, columns.length, nullString, rows);
    }
    if (columns !== undefined && header.length + rows.length > 0) {
      yield { columns, rows };
    }
    if (stop?.problem !== undefined) {
      throw csvError(name, stop, columns, stop.problem);
    }
    return stop;
  }

  function columnsOf(header: CsvRow): readonly string[] {
    const names = new Set<string>();
    for (const column of header) {
      const place = { line, field: names.size + 1 };
      if (column === null || column === "") {
        throw csvError(name, place, undefined, emptyName);
      }
      if (names.has(column)) {
        throw csvError(name, place, [...names, column], duplicateName);
      }
      names.add(column);
    }
    return [...names];
  }

  const tooLong = () => rowTooLong(maxRowBytes);

  return {
    *read(bytes) {
      let from = 0;
      if (carry.length > 0) {
        const { taken, whole } = carry.add(bytes, maxRowBytes);
        if (whole) {
          yield* rowsIn(carry.take());
        } else if (carry.length === maxRowBytes) {
          yield* refuse(carry.take(), tooLong);
        }
        from = taken;
      }
      let size = PIECE_BYTES;
      while (from < bytes.length) {
        const piece = bytes.subarray(from, from + Math.min(size, maxRowBytes));
        const lines = piece.subarray(0, piece.lastIndexOf(LF) + 1);
        const used = lines.length === 0 ? 0 : yield* rowsIn(lines);
        from += used;
        if (used > 0) {
          size = PIECE_BYTES;
        } else if (piece.length === maxRowBytes) {
          yield* refuse(piece, tooLong);
        } else if (from + piece.length === bytes.length) {
          carry.add(piece, maxRowBytes);
          return;
        } else {
          size *= 2;
        }
      }
    },

    *end() {
      if (carry.length === 0) {
        if (columns === undefined) {
          throw csvError(name, { line, field: 1 }, undefined, noHeader);
        }
        return;
      }
      if (finalNewline === "optional" && carry.add(Buffer.of(LF), maxRowBytes).whole) {
        yield* rowsIn(carry.take());
        return;
      }
      yield* refuse(carry.take(), ({ quoted }) => (quoted ? cutInQuotes : cutInRow));
    },
  };
}
