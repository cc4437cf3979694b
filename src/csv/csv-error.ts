import { Code } from "@connectrpc/connect";
import { ProtocolError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";

/** A place in a file, counted from 1: `line` by line feeds, as a text editor counts, and `field` within its row. */
export interface Place {
  readonly line: number;
  readonly field: number;
}

/** A mistake in a file, and what was expected in its place. */
export interface CsvMistake {
  readonly what: string;
  readonly expected: string;
  readonly code?: Code;
}

export const quoteInPlainField: CsvMistake = {
  what: "a quote inside an unquoted field",
  expected: "A value that contains a quote is wrapped in quotes, and each quote inside it is doubled.",
};

export const textAfterQuote: CsvMistake = {
  what: "text after a closing quote",
  expected: "Expected a comma or a line end; a quote that belongs to the value is doubled.",
};

export const loneCarriageReturn: CsvMistake = {
  what: "a carriage return without a line feed",
  expected: "Rows end with LF or CRLF; a value that contains a carriage return is wrapped in quotes.",
};

export const notUtf8: CsvMistake = {
  what: "bytes that are not UTF-8",
  expected: "Expected text in UTF-8: the file was damaged, or written in another encoding.",
};

export const noHeader: CsvMistake = {
  what: "the file is empty",
  expected: "Expected at least a header row that names the columns.",
};

export const emptyName: CsvMistake = {
  what: "a column without a name",
  expected: "Expected a header row that names every column.",
};

export const duplicateName: CsvMistake = {
  what: "a second column of this name",
  expected: "Expected every name in the header row to be different.",
};

export const cutInQuotes: CsvMistake = {
  what: "the file ends inside the quoted field that begins here",
  expected: "Expected a closing quote: the file was cut. Get it again.",
};

export const cutInQuotedField: CsvMistake = {
  what: "the file ends inside a quoted field",
  expected: cutInQuotes.expected,
};

export const cutInRow: CsvMistake = {
  what: "the file ends in the middle of a row",
  expected:
    'Expected a line end after the last row too: the file was cut. Get it again, or, if its writer leaves out the last line end, decode with finalNewline: "optional".',
};

/**
 * The mistake of a row that is too short.
 *
 * @param found how many fields it has
 * @param width how many columns the header row names
 * @returns the mistake
 */
export function tooFewFields(found: number, width: number): CsvMistake {
  return {
    what: `the row ends after ${found} of ${width} fields`,
    expected: "Expected as many fields as the header row names columns.",
  };
}

/**
 * The mistake of a row that goes on after its last field.
 *
 * @param width how many columns the header row names
 * @returns the mistake
 */
export function tooManyFields(width: number): CsvMistake {
  return {
    what: `the row goes on after ${width} ${width === 1 ? "field" : "fields"}`,
    expected: "Expected as many fields as the header row names columns.",
  };
}

/**
 * The mistake of a header row with more names than a table has columns.
 *
 * @param maxColumns the limit
 * @returns the mistake, `RESOURCE_EXHAUSTED`
 */
export function tooManyColumns(maxColumns: number): CsvMistake {
  return {
    what: `the header row names more than ${maxColumns} columns, the limit`,
    expected: "Expected no more than PostgreSQL lets a query have: this is no table of a node.",
    code: Code.ResourceExhausted,
  };
}

/**
 * The mistake of a row over the limit.
 *
 * @param maxRowBytes the limit in bytes
 * @returns the mistake, `RESOURCE_EXHAUSTED`
 */
export function rowTooLong(maxRowBytes: number): CsvMistake {
  return {
    what: `the row is longer than ${maxRowBytes} bytes`,
    expected:
      "Raise maxRowBytes (--max-row-bytes) if rows of this size are right; otherwise a quote is missing further up.",
    code: Code.ResourceExhausted,
  };
}

/**
 * The error for a mistake. It names file, line, field and, where known, the column.
 *
 * @param name of the file
 * @param place of the mistake
 * @param columns the header row, where it has been read
 * @param mistake what is wrong and what was expected; `DATA_LOSS` unless it has a code of its own
 * @returns the error
 */
export function csvError(
  name: string,
  { line, field }: Place,
  columns: readonly string[] | undefined,
  { what, expected, code }: CsvMistake,
): ProtocolError {
  const column = columns?.[field - 1];
  const named = column === undefined ? "" : ` (column ${quoted(column)})`;
  return new ProtocolError(`${name}, line ${line}, field ${field}${named}: ${what}`, {
    advice: expected,
    section: "protocolerror-csv",
    ...(code === undefined ? {} : { code }),
  });
}

/**
 * The error for a mistake in a file whose fields are not read.
 *
 * @param name of the file
 * @param row which row it is in, from 1; 0 is the header row
 * @param mistake what is wrong and what was expected
 * @returns the error
 */
export function csvRowError(name: string, row: number, { what, expected, code }: CsvMistake): ProtocolError {
  const where = row === 0 ? "the header row" : `row ${row}`;
  return new ProtocolError(`${name}, ${where}: ${what}`, {
    advice: expected,
    section: "protocolerror-csv",
    ...(code === undefined ? {} : { code }),
  });
}
