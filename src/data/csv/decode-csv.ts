import { constants } from "node:buffer";
import { assertIterable, assertObject, invalidValueError, parseChunk } from "../../base/input/assert.js";
import { asResult } from "../../base/json-result.js";
import { type CsvFormat, type CsvRecord, type CsvRow, nullStringOf } from "./csv-format.js";
import { type CsvBatch, type CsvParserSettings, createCsvParser } from "./csv-parser.js";

/** How a CSV file is decoded. */
export interface CsvDecodeOptions extends CsvFormat {
  /** The file's name, for errors; `CSV` by default. */
  readonly name?: string | undefined;
  /** Maximum row size in bytes, including quotes and line end; 64 MiB by default. */
  readonly maxRowBytes?: number | undefined;
  /**
   * Whether the last row needs a line end too, as PostgreSQL writes it; `required` by default. Without that line end, a
   * file that was truncated inside its last value looks complete. `optional` accepts such a file.
   */
  readonly finalNewline?: "required" | "optional" | undefined;
}

const { MAX_STRING_LENGTH } = constants;

/** A file's bytes, split anywhere. */
export type CsvSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * Decodes one CSV file as PostgreSQL's `COPY ... TO ... WITH (FORMAT csv, HEADER)` writes it.
 *
 * An unquoted field equal to the NULL string is `null`; a quoted one is that text. Spaces and line breaks inside quotes
 * are preserved. So is a byte order mark: as in PostgreSQL, it becomes part of the first column's name. Rows end with LF
 * or CRLF. A row that consists of `\.` is data, as in PostgreSQL since version 18.
 *
 * There is no read-ahead: the next chunk is requested once the rows of the last one have been consumed, and the source is
 * closed when the caller stops early. Rows before an error are returned before it is thrown.
 *
 * @param source the bytes of one file, split anywhere; a chunk may be reused once the next one is requested
 * @param options the file's name for errors, its NULL string, the maximum row size
 * @returns many small batches of rows, at least one even if the table is empty
 * @throws {@link ProtocolError} while reading, with file, line, field and column: `DATA_LOSS` if the file is malformed or
 *   truncated, `RESOURCE_EXHAUSTED` if a row exceeds the size limit
 * @throws {@link RequestError} immediately if an option is invalid; while reading if the source does not return bytes
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
  assertIterable("source", source, "a stream of bytes, such as createReadStream() of node:fs returns");
  return decode(source, parseDecodeOptions(options));
}

/**
 * Reads the rows of one CSV file one by one, without its header row. {@link decodeCsv} is faster.
 *
 * @param source the bytes of one file, split anywhere
 * @param options as for {@link decodeCsv}
 * @returns the rows, with the fields in column order
 * @throws {@link ProtocolError} and {@link RequestError} as {@link decodeCsv} does
 *
 * @example
 * for await (const [id, price] of csvRows(file)) console.log(id, price);
 */
export function csvRows(source: CsvSource, options: CsvDecodeOptions = {}): AsyncIterableIterator<CsvRow, undefined> {
  return flattenBatches(decodeCsv(source, options), (row) => row);
}

/**
 * Reads the rows of one CSV file as plain objects. Each column is an own property, even with a special name:
 * `__proto__` is a key like any other.
 *
 * @param source the bytes of one file, split anywhere
 * @param options as for {@link decodeCsv}
 * @returns the rows by column name, `null` for NULL
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

async function* decode(source: CsvSource, settings: CsvParserSettings): AsyncGenerator<CsvBatch, void, undefined> {
  const parser = createCsvParser(settings);
  for await (const chunk of source) {
    for (const batch of parser.push(parseChunk(settings.name, chunk))) {
      yield batch;
    }
  }
  yield* parser.end();
}

/**
 * Validates the options and adds the defaults.
 *
 * @throws {@link RequestError} if an option is invalid
 */
export function parseDecodeOptions(options: CsvDecodeOptions): CsvParserSettings {
  assertObject("options", options);
  const { name = "CSV", maxRowBytes = 64 * 1024 * 1024, finalNewline = "required" } = options;
  if (!Number.isInteger(maxRowBytes) || maxRowBytes < 1 || maxRowBytes > MAX_STRING_LENGTH) {
    throw invalidValueError("maxRowBytes", maxRowBytes, `a whole number of bytes from 1 to ${MAX_STRING_LENGTH}`);
  }
  return { name, nullString: nullStringOf(options), maxRowBytes, finalNewline };
}

/** Converts the rows of batches, which may come from several files, to plain objects. */
export function batchRecords<Value>(
  batches: AsyncGenerator<Batch<readonly (Value | null)[]>, void, undefined>,
  columns?: readonly string[],
): AsyncIterableIterator<Record<string, Value | null>, undefined> {
  return flattenBatches(batches, rowToRecord<Value>(columns));
}

export function rowToRecord<Value>(
  all?: readonly string[],
): (row: readonly (Value | null)[], columns: readonly string[]) => Record<string, Value | null> {
  let blank: Record<string, Value | null> = {};
  let blankOf: readonly string[] | undefined;
  let hasLong = false;
  return (row, columns) => {
    if (columns !== blankOf) {
      // Each record is a copy of an object that owns every key, so no assignment reaches a setter of the prototype.
      blank = Object.fromEntries((all ?? columns).map((column) => [column, null]));
      blankOf = columns;
    }
    const record = { ...blank };
    let index = 0;
    for (const column of columns) {
      const value = row[index++] ?? null;
      record[column] = value;
      hasLong ||= typeof value === "bigint";
    }
    return hasLong ? asResult(record) : record;
  };
}

/** Some rows of a file, and its column names. */
interface Batch<Row> {
  readonly columns: readonly string[];
  readonly rows: Row[];
}

/**
 * Converts each row of the batches to one item. An async generator would do the same, but each of its steps costs as much
 * as decoding a short row; a step of this iterator costs a third of that.
 */
function flattenBatches<Row, Item>(
  batches: AsyncGenerator<Batch<Row>, void, undefined>,
  itemOf: (row: Row, columns: readonly string[]) => Item,
): AsyncIterableIterator<Item, undefined> {
  let columns: readonly string[] = [];
  let rows: Iterator<Row> = [].values();
  /** Settles once all calls that wait for a batch have been answered; `undefined` while there are none. */
  let waiting: Promise<unknown> | undefined;

  async function nextOfBatches(): Promise<IteratorResult<Item, undefined>> {
    for (;;) {
      const row = rows.next();
      if (row.done !== true) {
        return { done: false, value: itemOf(row.value, columns) };
      }
      const batch = await batches.next();
      if (batch.done === true) {
        return { done: true, value: undefined };
      }
      columns = batch.value.columns;
      rows = batch.value.rows.values();
    }
  }

  return {
    next() {
      const row = waiting === undefined ? rows.next() : undefined;
      if (row !== undefined && row.done !== true) {
        return Promise.resolve({ done: false, value: itemOf(row.value, columns) });
      }
      const result = (waiting ?? Promise.resolve()).then(nextOfBatches).finally(() => {
        if (waiting === settled) {
          waiting = undefined;
        }
      });
      const settled = result.catch(() => undefined);
      waiting = settled;
      return result;
    },
    async return() {
      rows = [].values();
      await batches.return();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
