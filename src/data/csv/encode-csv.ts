import { RequestError } from "../../base/errors/index.js";
import {
  assertArray,
  assertIterable,
  assertObject,
  invalidTypeError,
  invalidValueError,
} from "../../base/input/assert.js";
import { snapshot } from "../../base/input/snapshot.js";
import { type CsvFormat, type CsvRow, nullStringOf } from "./csv-format.js";

/** Minimum number of characters in a chunk, except the last. */
const CHUNK_CHARACTERS = 64 * 1024;

/** PostgreSQL quotes a value that contains one of these. */
const SPECIAL = /[",\r\n]/;

/** One half of a surrogate pair without the other. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Rows to encode, each with a value for each column. */
export type CsvRows = AsyncIterable<Readonly<CsvRow>> | Iterable<Readonly<CsvRow>>;

/**
 * Encodes a header row and rows as PostgreSQL's `COPY ... TO ... WITH (FORMAT csv, HEADER)` does, byte for byte. This is
 * the exact inverse of {@link decodeCsv}.
 *
 * Rows end with LF. A value is quoted if it contains a comma, a quote or a line break, if it equals the NULL string and,
 * in a table with one column, if it is `\.`.
 *
 * @param columns the column names: at least one, all different, none empty
 * @param rows the rows, `null` for NULL
 * @param options the NULL string
 * @returns UTF-8 in chunks of about 64 KiB; a longer row results in a longer chunk
 * @throws {@link RequestError} while reading, if the NULL string or a column name is invalid, a row has the wrong number of
 *   fields, or a text cannot be encoded as UTF-8
 *
 * @example
 * await pipeline(encodeCsv(["id", "price"], [["1", null]]), createWriteStream("trades.csv"));
 */
export function encodeCsv(
  columns: readonly string[],
  rows: CsvRows,
  options: CsvFormat = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  columns = snapshot(columns);
  assertObject("options", options);
  assertArray("columns", columns, "an array of column names");
  assertIterable("rows", rows, "an iterable of rows, each an array of values");
  const nullString = nullStringOf(options);
  if (columns.length === 0 || columns.includes("") || new Set(columns).size < columns.length) {
    throw new RequestError(`invalid columns ${JSON.stringify(columns)}`, {
      advice: "Pass at least one column, each with a different name.",
    });
  }
  return encode(columns, rows, nullString);
}

async function* encode(
  columns: readonly string[],
  rows: CsvRows,
  nullString: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  let text = csvLine(columns, nullString, 1);
  let number = 1;
  for await (const row of rows) {
    number += 1;
    if (!Array.isArray(row)) {
      throw invalidTypeError(`row ${number}`, row, "an array of values");
    }
    if (row.length !== columns.length) {
      throw new RequestError(`row ${number} has ${row.length} fields, but the header row has ${columns.length}`, {
        advice: "Every row needs a value, or null, for every column.",
      });
    }
    text += csvLine(row, nullString, number);
    if (text.length >= CHUNK_CHARACTERS) {
      yield Buffer.from(text);
      text = "";
    }
  }
  if (text !== "") {
    yield Buffer.from(text);
  }
}

/**
 * Encodes a row as a line of text, including the line end.
 *
 * @throws {@link RequestError} if a field is neither a string nor null, or a text cannot be encoded as UTF-8
 */
export function csvLine(row: Readonly<CsvRow>, nullString: string, number: number): string {
  let text = "";
  for (const [index, value] of row.entries()) {
    text += index === 0 ? "" : ",";
    if (value !== null && typeof value !== "string") {
      throw invalidValueError(`field ${index + 1} of row ${number}`, value, "a string, or null for NULL");
    }
    text += value === null ? nullString : encodeField(value, row.length === 1, nullString);
  }
  if (LONE_SURROGATE.test(text)) {
    throw new RequestError(`row ${number} contains an unpaired surrogate, which UTF-8 cannot encode`, {
      advice: "Encode the text, for example as hexadecimal, or omit it.",
    });
  }
  return `${text}\n`;
}

function encodeField(value: string, isOnly: boolean, nullString: string): string {
  return SPECIAL.test(value) || value === nullString || (isOnly && value === "\\.")
    ? `"${value.replaceAll('"', '""')}"`
    : value;
}
