import { RequestError } from "../errors/index.js";

/** One row: a field's text, or `null` for NULL, in the order of the columns. */
export type CsvRow = (string | null)[];

/** One row by the names of its columns. */
export type CsvRecord = Record<string, string | null>;

/** The part of the format on which writer and reader of a file must agree. */
export interface CsvFormat {
  /**
   * The NULL parameter string: an unquoted field with this text is NULL, a quoted one is this text. It is empty by
   * default. As in PostgreSQL it holds no comma, no quote and no line break (specification, 4.1).
   */
  readonly nullString?: string | undefined;
}

/**
 * Read the NULL string of a format.
 *
 * @param format the format; without a NULL string it is empty
 * @returns the NULL string
 * @throws {@link RequestError} where it holds a comma, a quote or a line break
 */
export function nullStringOf({ nullString = "" }: CsvFormat): string {
  if (/[",\r\n]/.test(nullString)) {
    throw new RequestError(`the NULL string ${JSON.stringify(nullString)} cannot stand in a CSV file`, {
      advice: "Choose one without commas, quotes and line breaks.",
    });
  }
  return nullString;
}
