import { RequestError } from "../errors/index.js";

/** One row: a field's text, or `null` for NULL, in the order of the columns. */
export type CsvRow = (string | null)[];

/** One row by the names of its columns. */
export type CsvRecord = Record<string, string | null>;

/** What both ends of a file have to agree on. */
export interface CsvFormat {
  /**
   * The NULL parameter string: an unquoted field with this text is NULL, a quoted one is this text. The default is empty.
   * As in PostgreSQL it holds no comma, no quote and no line break.
   */
  readonly nullString?: string | undefined;
}

/** The NULL string of a format, checked. */
export function nullStringOf({ nullString = "" }: CsvFormat): string {
  if (/[",\r\n]/.test(nullString)) {
    throw new RequestError(`the NULL string ${JSON.stringify(nullString)} cannot stand in a CSV file`, {
      advice: "Choose one without commas, quotes and line breaks.",
    });
  }
  return nullString;
}
