import { Code } from "../../base/errors/code.js";
import { type ErrorText, quoted } from "../../base/errors/error-text.js";
import { ProtocolError, RequestError } from "../../base/errors/index.js";

/** One row: a field's text, or `null` for NULL, in the order of the columns. */
export type CsvRow = (string | null)[];

/** One row by the names of its columns. */
export type CsvRecord = Record<string, string | null>;

/** The part of the format that the writer and the reader of a file must agree on. */
export interface CsvFormat {
  /**
   * The NULL string: an unquoted field with this text is NULL, a quoted one is this text. Empty by default. As in
   * PostgreSQL, it cannot contain a comma, a quote or a line break.
   */
  readonly nullString?: string | undefined;
}

/**
 * Validates the NULL string of a format.
 *
 * @throws {@link RequestError} if it contains a comma, a quote or a line break
 */
export function nullStringOf({ nullString = "" }: CsvFormat): string {
  if (/[",\r\n]/.test(nullString)) {
    throw new RequestError(`the NULL string ${JSON.stringify(nullString)} cannot be written to a CSV file`, {
      advice: "Use a string without commas, quotes and line breaks.",
    });
  }
  return nullString;
}

/** A position in a file, counted from 1: `line` by line feeds, as in a text editor, and `field` within its row. */
export interface Position {
  readonly line: number;
  readonly field: number;
}

/** What is wrong with a file, and what was expected instead. */
export interface CsvProblem {
  readonly summary: string;
  readonly advice: ErrorText;
  readonly code?: Code;
}

export const quoteInPlainField: CsvProblem = {
  summary: "a quote inside an unquoted field",
  advice: "A value that contains a quote must be quoted, and each quote inside it must be doubled.",
};

export const textAfterQuote: CsvProblem = {
  summary: "text after a closing quote",
  advice: "Expected a comma or a line end. A quote that belongs to the value must be doubled.",
};

export const loneCarriageReturn: CsvProblem = {
  summary: "a carriage return without a line feed",
  advice: "Rows end with LF or CRLF. A value that contains a carriage return must be quoted.",
};

export const notUtf8: CsvProblem = {
  summary: "bytes that are not UTF-8",
  advice: "The file is damaged, or has another encoding.",
};

export const noHeader: CsvProblem = {
  summary: "the file is empty",
  advice: "Expected at least a header row with the names of the columns.",
};

export const emptyName: CsvProblem = {
  summary: "a column without a name",
  advice: "The header row must name every column.",
};

export const duplicateName: CsvProblem = {
  summary: "duplicate column name",
  advice: "All names in the header row must be different.",
};

export const truncatedInQuotes: CsvProblem = {
  summary: "the file ends inside the quoted field that starts here",
  advice: "The closing quote is missing: the file was truncated. Fetch it again.",
};

export const truncatedInQuotedField: CsvProblem = {
  summary: "the file ends inside a quoted field",
  advice: truncatedInQuotes.advice,
};

export const truncatedInRow: CsvProblem = {
  summary: "the file ends in the middle of a row",
  advice:
    'The last line end is missing: the file was truncated. Fetch it again, or if its writer omits the last line end, decode with finalNewline: "optional".',
};

export function tooFewFields(found: number, width: number): CsvProblem {
  return {
    summary: `the row has only ${found} of ${width} fields`,
    advice: "Each row must have as many fields as the header row has columns.",
  };
}

export function tooManyFields(width: number): CsvProblem {
  return {
    summary: `the row has more than ${width} ${width === 1 ? "field" : "fields"}`,
    advice: "Each row must have as many fields as the header row has columns.",
  };
}

/** Describes a header row with more names than a query in PostgreSQL can have columns. */
export function tooManyColumns(maxColumns: number): CsvProblem {
  return {
    summary: `the header row exceeds the limit of ${maxColumns} columns`,
    advice: "The limit is PostgreSQL's limit for a query: this is not a table of a node.",
    code: Code.ResourceExhausted,
  };
}

export function rowTooLong(maxRowBytes: number): CsvProblem {
  return {
    summary: `the row exceeds ${maxRowBytes} bytes`,
    advice: (nameOf) =>
      `If rows of this size are expected, raise ${nameOf("maxRowBytes")}. Otherwise an earlier closing quote is missing.`,
    code: Code.ResourceExhausted,
  };
}

/** Creates the error for a problem. The message names file, line, field and, if known, the column. */
export function csvError(
  name: string,
  { line, field }: Position,
  columns: readonly string[] | undefined,
  { summary, advice, code }: CsvProblem,
): ProtocolError {
  const column = columns?.[field - 1];
  const named = column === undefined ? "" : ` (column ${quoted(column)})`;
  return new ProtocolError(`${name}, line ${line}, field ${field}${named}: ${summary}`, {
    advice,
    errorCode: "TW_INVALID_CSV",
    ...(code === undefined ? {} : { code }),
  });
}

/** Creates the error for a problem in a file whose fields are not parsed. */
export function csvRowError(name: string, row: number, { summary, advice, code }: CsvProblem): ProtocolError {
  const where = row === 0 ? "the header row" : `row ${row}`;
  return new ProtocolError(`${name}, ${where}: ${summary}`, {
    advice,
    errorCode: "TW_INVALID_CSV",
    ...(code === undefined ? {} : { code }),
  });
}
