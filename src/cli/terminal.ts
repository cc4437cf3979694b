import { yieldToEventLoop } from "../runtime/index.js";
import { type CommandContext, type Streams, writeOut } from "./output.js";
import { styled } from "./style.js";
import { fitLines, fitTable, type LaidOut, leftOutOf } from "./table.js";

/** The columns of a terminal that tells nothing of its size. */
const COLUMNS = 80;

/** The most records that are listed on a terminal where nothing else is asked for. */
export const LISTED = 100;

/** The size of the parts in which a table is written, in characters. */
const PART_CHARACTERS = 64 * 1024;

/**
 * The width to fit tables into: that of the terminal, for which the environment variable COLUMNS can give another. What
 * goes elsewhere is never shortened.
 *
 * @param streams where the table goes, and the environment variables
 * @returns the number of columns; infinite where it is no terminal
 */
export function widthOf({ out: { isTTY, columns }, environment }: Pick<Streams, "out" | "environment">): number {
  if (isTTY !== true) {
    return Number.POSITIVE_INFINITY;
  }
  const given = Number(environment["COLUMNS"]);
  return Number.isSafeInteger(given) && given > 0 ? given : columns || COLUMNS;
}

/** The tables of one output. */
export interface Tables {
  /**
   * Format a table, in the width of the terminal.
   *
   * @param header the names of the columns
   * @param rows the cells of each row, safe for a terminal
   * @param how `ranked`, the names of columns, the most important first, before all others; `indent`, what each line
   *   begins with
   * @returns lines of text
   */
  format(
    header: readonly string[],
    rows: readonly (readonly string[])[],
    how?: { readonly ranked?: readonly string[] | undefined; readonly indent?: string },
  ): string;
  /**
   * Writes a table in the width of the terminal, however many rows it has: its text is never in memory as a whole.
   *
   * @param context standard output, and the signal that ends the writing
   * @param header the names of the columns
   * @param rows the cells of each row, safe for a terminal; they are iterated twice
   * @throws what {@link writeOut} throws
   */
  write(
    context: Pick<CommandContext, "out" | "signal">,
    header: readonly string[],
    rows: Iterable<readonly string[]>,
  ): Promise<void>;
  /** Say once what of all of them does not fit; to be called at the end. */
  tellLeftOut(): void;
}

/**
 * Make what formats the tables of one output.
 *
 * @param streams where the tables go, and the note that says what does not fit
 * @param advice how to see all
 * @returns the tables
 */
export function createTables(
  streams: Pick<Streams, "out" | "notes" | "environment">,
  advice = "--json prints all.",
): Tables {
  const { out, notes, environment } = streams;
  const formatted: LaidOut[] = [];
  const styleHeader = (line: string) => styled(out, "bold", line, environment);
  return {
    format(header, rows, { ranked = [], indent = "" } = {}) {
      const first = ranked.map((name) => header.indexOf(name)).filter((place) => place >= 0);
      const places = [...first, ...[...header.keys()].filter((place) => !first.includes(place))];
      const fitted = fitTable(header, rows, { width: widthOf(streams) - indent.length, ranked: places, styleHeader });
      formatted.push(fitted);
      return fitted.text.replaceAll(/^(?=.)/gm, indent);
    },
    async write(context, header, rows) {
      const { lines, ...laidOut } = fitLines(header, rows, { width: widthOf(streams), styleHeader });
      formatted.push(laidOut);
      let part = "";
      for (const line of lines) {
        part += line;
        if (part.length >= PART_CHARACTERS) {
          await writeOut(context, part);
          await yieldToEventLoop(); // An interruption is noticed, and other calls go on.
          part = "";
        }
      }
      await writeOut(context, part);
    },
    tellLeftOut() {
      const sentence = leftOutOf(formatted, advice);
      if (sentence !== "") {
        notes.write(`${sentence}\n`);
      }
    },
  };
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
  streams: Pick<Streams, "out" | "notes" | "environment">,
  { ranked, advice }: { readonly ranked?: readonly string[] | undefined; readonly advice?: string | undefined } = {},
): void {
  const tables = createTables(streams, advice);
  streams.out.write(tables.format(header, rows, { ranked }));
  tables.tellLeftOut();
}
