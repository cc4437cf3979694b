import { requireIterable, requireList } from "../errors/check-kinds.js";
import { requireObject, wrong } from "../errors/check-values.js";
import { RequestError } from "../errors/index.js";
import { type CsvFormat, type CsvRow, nullStringOf } from "./format.js";

/** How many characters are gathered into one chunk. */
const CHUNK_CHARACTERS = 64 * 1024;

/** PostgreSQL quotes a value that holds one of these. */
const SPECIAL = /[",\r\n]/;

/** Half of a surrogate pair without the other half. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Rows to encode: each has a value for each column. */
export type CsvRows = AsyncIterable<Readonly<CsvRow>> | Iterable<Readonly<CsvRow>>;

/**
 * Encode a header row and rows as PostgreSQL's `COPY ... TO ... WITH (FORMAT csv, HEADER)` does, byte for byte
 * (specification, 4.1). It is the exact inverse of {@link decodeCsv}.
 *
 * Rows end with LF. A value is quoted where it holds a comma, a quote or a line break, where it equals the NULL string
 * and, in a table of one column, where it is `\.`.
 *
 * @param columns the names of the columns, at least one, all different and none empty
 * @param rows the rows, `null` for NULL
 * @param options the NULL string
 * @returns UTF-8 in chunks of about 64 KiB; a longer row makes a longer chunk
 * @throws {@link RequestError} on reading, where the NULL string or the names are invalid, a row does not fit them, or
 *   a text cannot be written in UTF-8
 *
 * @example
 * await pipeline(encodeCsv(["id", "price"], [["1", null]]), createWriteStream("trades.csv"));
 */
export async function* encodeCsv(
  columns: readonly string[],
  rows: CsvRows,
  options: CsvFormat = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  requireObject("options", options);
  requireList("columns", columns, "Give the names of the columns.");
  requireIterable("rows", rows, "Give the rows, each a list of values.");
  const nullString = nullStringOf(options);
  if (columns.length === 0 || columns.includes("") || new Set(columns).size < columns.length) {
    throw new RequestError(`the columns ${JSON.stringify(columns)} cannot head a CSV file`, {
      advice: "Give at least one, each with a name of its own.",
    });
  }
  let text = csvLine(columns, nullString, 1);
  let number = 1;
  for await (const row of rows) {
    number += 1;
    if (!Array.isArray(row)) {
      throw wrong(`row ${number}`, row, "Give each row as a list of values.");
    }
    if (row.length !== columns.length) {
      throw new RequestError(`row ${number} has ${row.length} fields where the header row has ${columns.length}`, {
        advice: "Give every row a value, or null, for every column.",
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
 * Write a row as a line of text, its line end included.
 *
 * @param row the fields, `null` for NULL
 * @param nullString the text for NULL
 * @param number the row's number, for errors
 * @returns the line
 * @throws {@link RequestError} where a field is neither a text nor null, or a text cannot be written in UTF-8
 */
export function csvLine(row: Readonly<CsvRow>, nullString: string, number: number): string {
  let text = "";
  for (const [index, value] of row.entries()) {
    text += index === 0 ? "" : ",";
    if (value !== null && typeof value !== "string") {
      throw wrong(`field ${index + 1} of row ${number}`, value, "Give a text, or null for NULL.");
    }
    text += value === null ? nullString : field(value, row.length === 1, nullString);
  }
  if (LONE_SURROGATE.test(text)) {
    throw new RequestError(`row ${number} has a text with half of a surrogate pair, which UTF-8 cannot hold`, {
      advice: "Encode the text as something else, such as hexadecimal, or leave it out.",
    });
  }
  return `${text}\n`;
}

function field(value: string, alone: boolean, nullString: string): string {
  return SPECIAL.test(value) || value === nullString || (alone && value === "\\.")
    ? `"${value.replaceAll('"', '""')}"`
    : value;
}
