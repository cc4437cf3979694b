import { constants } from "node:buffer";
import { RequestError } from "../errors/index.js";
import { each } from "./each.js";
import { type CsvFormat, type CsvRecord, type CsvRow, nullStringOf } from "./format.js";
import { type CsvBatch, createReader, type ReaderSettings } from "./reader.js";

/** How a CSV file is decoded. */
export interface CsvDecodeOptions extends CsvFormat {
  /** The file's name, for errors. The default is `CSV`. */
  readonly name?: string | undefined;
  /** The most bytes that a row may have, quotes and line end included. The default is 64 MiB. */
  readonly maxRowBytes?: number | undefined;
  /**
   * Whether the last row too has to have a line end, as PostgreSQL writes it. It is `required` by default: without it, a file
   * that was cut inside its last value cannot be told from a whole one. `optional` takes such a file as it is.
   */
  readonly finalNewline?: "required" | "optional" | undefined;
}

/** A file's bytes, split anywhere. */
export type CsvSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * Decodes one CSV file as PostgreSQL's `COPY ... TO ... WITH (FORMAT csv, HEADER)` writes it (specification, 4.1).
 *
 * An unquoted field equal to the NULL string is `null`; a quoted one is that text. All else is kept as it is: spaces, line
 * breaks inside quotes, a byte order mark (which PostgreSQL takes for data too: it becomes part of the first column's name).
 * Rows end with LF or CRLF. A row that is `\.` alone is data, as it is for PostgreSQL since version 18.
 *
 * Nothing is read ahead: the source is asked for its next chunk when the rows of the last one have been taken, and it is
 * closed when the caller stops early. Rows before a mistake are given before the error is thrown.
 *
 * @param source - the bytes of one file, split anywhere; a chunk may be reused once the next one is asked for
 * @param options - the file's name for errors, its NULL string, the limit on a row's bytes
 * @returns batches of rows: many small ones, at least one even where the table is empty
 * @throws ProtocolError (`DATA_LOSS`) if the file breaks a rule or ends too early, naming file, line, field and column;
 *   (`RESOURCE_EXHAUSTED`) if a row is over the limit
 * @throws RequestError at once, if the options cannot be right
 *
 * @example
 * for await (const { columns, rows } of decodeCsv(createReadStream("trades.csv"), { name: "trades.csv" })) {
 *   const price = columns.indexOf("price");
 *   for (const row of rows) console.log(row[price]);
 * }
 */
export function decodeCsv(
  source: CsvSource,
  options: CsvDecodeOptions = {},
): AsyncGenerator<CsvBatch, void, undefined> {
  return decode(source, settingsOf(options));
}

/**
 * The rows of one CSV file, one by one, without its header row; all else is as with {@link decodeCsv}, which is faster.
 *
 * @example
 * for await (const [id, price] of csvRows(file)) console.log(id, price);
 */
export function csvRows(source: CsvSource, options: CsvDecodeOptions = {}): AsyncIterableIterator<CsvRow, undefined> {
  return each(decodeCsv(source, options), (row) => row);
}

/**
 * The rows of one CSV file as plain objects; all else is as with {@link decodeCsv}. Each column is an own property, whatever
 * its name: `__proto__` is a key like any other.
 *
 * @example
 * for await (const trade of csvRecords(file)) console.log(trade["price"]);
 */
export function csvRecords(
  source: CsvSource,
  options: CsvDecodeOptions = {},
): AsyncIterableIterator<CsvRecord, undefined> {
  return batchRecords(decodeCsv(source, options));
}

async function* decode(source: CsvSource, settings: ReaderSettings): AsyncGenerator<CsvBatch, void, undefined> {
  const reader = createReader(settings);
  for await (const chunk of source) {
    if (!ArrayBuffer.isView(chunk)) {
      throw new RequestError(`${settings.name}: the source gave a ${typeof chunk} where bytes were expected`, {
        advice: "Give it as bytes: a stream without an encoding.",
      });
    }
    for (const batch of reader.read(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))) {
      yield batch;
    }
  }
  yield* reader.end();
}

function settingsOf(options: CsvDecodeOptions): ReaderSettings {
  const { name = "CSV", maxRowBytes = 64 * 1024 * 1024, finalNewline = "required" } = options;
  if (!Number.isInteger(maxRowBytes) || maxRowBytes < 1 || maxRowBytes > constants.MAX_STRING_LENGTH) {
    throw new RequestError(`maxRowBytes is ${maxRowBytes}, which is no limit for a row`, {
      advice: `Give a whole number of bytes from 1 to ${constants.MAX_STRING_LENGTH}.`,
    });
  }
  return { name, nullString: nullStringOf(options), maxRowBytes, finalNewline };
}

/**
 * The rows of batches, which may be those of several files, as plain objects with the columns of their file.
 *
 * @param columns - the columns that every record has, `null` where its file does not have it
 */
export function batchRecords(
  batches: AsyncGenerator<CsvBatch, void, undefined>,
  columns?: readonly string[],
): AsyncIterableIterator<CsvRecord, undefined> {
  return each(batches, recordsOf(columns));
}

/** What makes rows into records. */
function recordsOf(all?: readonly string[]): (row: CsvRow, columns: readonly string[]) => CsvRecord {
  let blank: CsvRecord = {};
  let blankOf: readonly string[] | undefined;
  return (row, columns) => {
    if (columns !== blankOf) {
      // A copy of an object that has every key as its own: assigning to one then never reaches a setter of the prototype.
      blank = Object.fromEntries((all ?? columns).map((column) => [column, null]));
      blankOf = columns;
    }
    const record = { ...blank };
    let index = 0;
    for (const column of columns) {
      record[column] = row[index++] ?? null;
    }
    return record;
  };
}
