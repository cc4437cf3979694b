import { constants } from "node:buffer";
import { bytesOf, requireIterable } from "../errors/check-kinds.js";
import { requireObject } from "../errors/check-values.js";
import { RequestError } from "../errors/index.js";
import { type Batch, each } from "./each.js";
import { type CsvFormat, type CsvRecord, type CsvRow, nullStringOf } from "./format.js";
import { type CsvBatch, createReader, type ReaderSettings } from "./reader.js";

/** How a CSV file is decoded. */
export interface CsvDecodeOptions extends CsvFormat {
  /** The file's name, for errors; `CSV` by default. */
  readonly name?: string | undefined;
  /** The most bytes of a row, quotes and line end included; 64 MiB by default. */
  readonly maxRowBytes?: number | undefined;
  /**
   * Whether the last row too must have a line end, as PostgreSQL writes it; `required` by default. Without it, a file
   * that was cut inside its last value cannot be told from a whole one. `optional` accepts such a file.
   */
  readonly finalNewline?: "required" | "optional" | undefined;
}

/** A file's bytes, split anywhere. */
export type CsvSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * Decode one CSV file as PostgreSQL's `COPY ... TO ... WITH (FORMAT csv, HEADER)` writes it (specification, 4.1).
 *
 * An unquoted field equal to the NULL string is `null`; a quoted one is that text. Spaces and line breaks inside quotes
 * are kept. So is a byte order mark: as in PostgreSQL it becomes part of the first column's name. Rows end with LF or
 * CRLF. A row that is `\.` alone is data, as it is for PostgreSQL since version 18.
 *
 * Nothing is read ahead: the source is asked for its next chunk when the rows of the last one have been taken, and it
 * is closed when the caller stops early. Rows before a mistake are given before the error is thrown.
 *
 * @param source the bytes of one file, split anywhere; a chunk may be reused once the next one is asked for
 * @param options the file's name for errors, its NULL string, the limit on a row's bytes
 * @returns batches of rows: many small ones, at least one even where the table is empty
 * @throws {@link ProtocolError} while reading, naming file, line, field and column: `DATA_LOSS` where the file breaks a
 *   rule or ends too early, `RESOURCE_EXHAUSTED` where a row is over the limit
 * @throws {@link RequestError} at once where an option is invalid; while reading where the source does not give bytes
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
  requireIterable("the source", source, "Give the bytes of a file, such as createReadStream() of node:fs gives them.");
  return decode(source, settingsOf(options));
}

/**
 * Read the rows of one CSV file one by one, without its header row. {@link decodeCsv} is faster.
 *
 * @param source the bytes of one file, split anywhere
 * @param options as for {@link decodeCsv}
 * @returns the rows, fields in the order of the columns
 * @throws {@link ProtocolError} and {@link RequestError} as {@link decodeCsv} does
 *
 * @example
 * for await (const [id, price] of csvRows(file)) console.log(id, price);
 */
export function csvRows(source: CsvSource, options: CsvDecodeOptions = {}): AsyncIterableIterator<CsvRow, undefined> {
  return each(decodeCsv(source, options), (row) => row);
}

/**
 * Read the rows of one CSV file as plain objects. Each column is an own property, whatever its name: `__proto__` is a
 * key like any other.
 *
 * @param source the bytes of one file, split anywhere
 * @param options as for {@link decodeCsv}
 * @returns the rows by the names of their columns, `null` for NULL
 * @throws {@link ProtocolError} and {@link RequestError} as {@link decodeCsv} does
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
    for (const batch of reader.read(bytesOf(settings.name, chunk))) {
      yield batch;
    }
  }
  yield* reader.end();
}

/**
 * Complete and check the options.
 *
 * @param options the options
 * @returns the settings of a reader
 * @throws {@link RequestError} where an option is invalid
 */
export function settingsOf(options: CsvDecodeOptions): ReaderSettings {
  requireObject("options", options);
  const { name = "CSV", maxRowBytes = 64 * 1024 * 1024, finalNewline = "required" } = options;
  if (!Number.isInteger(maxRowBytes) || maxRowBytes < 1 || maxRowBytes > constants.MAX_STRING_LENGTH) {
    throw new RequestError(`maxRowBytes is ${maxRowBytes}, which is no limit for a row`, {
      advice: `Give a whole number of bytes from 1 to ${constants.MAX_STRING_LENGTH}.`,
    });
  }
  return { name, nullString: nullStringOf(options), maxRowBytes, finalNewline };
}

/**
 * Turn the rows of batches, which may come from several files, into plain objects.
 *
 * @param batches the rows, many at once; their errors pass unchanged
 * @param columns the columns that every record has, `null` where its file lacks one; by default those of its own file
 * @returns the records, one by one
 */
export function batchRecords<Value>(
  batches: AsyncGenerator<Batch<readonly (Value | null)[]>, void, undefined>,
  columns?: readonly string[],
): AsyncIterableIterator<Record<string, Value | null>, undefined> {
  return each(batches, recordsOf<Value>(columns));
}

/**
 * Make a function that makes records of rows.
 *
 * @param all the columns that every record has; by default those of its file
 * @returns makes a record of a row and the columns of its file
 */
export function recordsOf<Value>(
  all?: readonly string[],
): (row: readonly (Value | null)[], columns: readonly string[]) => Record<string, Value | null> {
  let blank: Record<string, Value | null> = {};
  let blankOf: readonly string[] | undefined;
  return (row, columns) => {
    if (columns !== blankOf) {
      // Each record is a copy of an object that owns every key, so no assignment reaches a setter of the prototype.
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
