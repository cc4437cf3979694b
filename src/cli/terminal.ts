import type { Streams } from "./output.js";
import { styled } from "./style.js";
import { fitTable } from "./table.js";

/** The columns of a terminal that tells nothing of its size. */
const COLUMNS = 80;

/** The most records that are listed on a terminal where nothing else is asked for. */
export const LISTED = 100;

/**
 * The width to fit tables into: that of the terminal, for which the environment variable COLUMNS can give another. What
 * goes elsewhere is never shortened.
 *
 * @param out where the table goes
 * @returns the number of columns; infinite where it is no terminal
 */
export function widthOf({ isTTY, columns }: Streams["out"]): number {
  if (isTTY !== true) {
    return Number.POSITIVE_INFINITY;
  }
  const given = Number(process.env["COLUMNS"]);
  return Number.isSafeInteger(given) && given > 0 ? given : columns || COLUMNS;
}

/**
 * Print a table, in the width of the terminal. A note says what does not fit.
 *
 * @param header the names of the columns
 * @param rows the cells of each row, safe for a terminal
 * @param streams where the table and the note go
 * @param how `ranked`, the names of columns, the most important first, before all others; `advice`, how to see all
 */
export function printTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { out, notes }: Pick<Streams, "out" | "notes">,
  {
    ranked = [],
    advice = "--json prints all.",
  }: { readonly ranked?: readonly string[] | undefined; readonly advice?: string | undefined } = {},
): void {
  const first = ranked.map((name) => header.indexOf(name)).filter((place) => place >= 0);
  const places = [...first, ...[...header.keys()].filter((place) => !first.includes(place))];
  const styleHeader = (line: string) => styled(out, "bold", line);
  const { text, leftOut } = fitTable(header, rows, { width: widthOf(out), ranked: places, advice, styleHeader });
  out.write(text);
  if (leftOut !== "") {
    notes.write(`${leftOut}\n`);
  }
}
