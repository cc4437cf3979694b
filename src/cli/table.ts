import stringWidth from "fast-string-width";
import { yieldToEventLoop } from "../base/runtime/index.js";
import { wrapped } from "./formatting.js";
import { type OutputContext, type Streams, styled, widthOf, writeOut } from "./output.js";

/** The minimum width of a shortened cell, in columns of the terminal. */
const MIN_CELL = 20;

/** The maximum number of omitted columns that are named. */
const MAX_NAMED = 8;

/** The text between two columns. */
const GAP = "  ";

/** How the columns of a table are shown. */
export interface Layout {
  /** The indexes of the columns that are shown. */
  readonly shown: readonly number[];
  /** The width of each column, by its index. */
  readonly widths: readonly number[];
  /** Whether a cell may be shortened. */
  readonly isShortened: boolean;
}

/** A table with its layout. */
export interface LaidOut {
  /** The names of all columns. */
  readonly header: readonly string[];
  readonly layout: Layout;
}

/**
 * How to fit a table that is too wide. `columns`: as many columns as possible, with long cells shortened. `values`: whole values;
 * the least important columns are omitted, and only the last remaining one may be shortened.
 */
export type Preference = "columns" | "values";

/**
 * Lays out the columns of a table in the width of a terminal. If they are too wide, long cells are shortened, in the least
 * important columns first; then the least important columns are omitted.
 */
export function layOut(
  natural: readonly number[],
  width: number,
  ranked: readonly number[],
  prefers: Preference = "columns",
): Layout {
  for (let count = ranked.length; count > 0; count -= 1) {
    const chosen = ranked.slice(0, count);
    const widths = [...natural];
    let excess = chosen.reduce((sum, place) => sum + (widths[place] ?? 0) + GAP.length, -GAP.length) - width;
    for (const place of prefers === "columns" ? chosen.toReversed() : chosen.slice(-1)) {
      const before = widths[place] ?? 0;
      const reduction = Math.max(0, Math.min(excess, before - (count === 1 ? 1 : MIN_CELL)));
      widths[place] = before - reduction;
      excess -= reduction;
    }
    if (excess <= 0) {
      const isShortened = chosen.some((place) => widths[place] !== natural[place]);
      return { shown: chosen.toSorted((a, b) => a - b), widths, isShortened };
    }
  }
  return { shown: ranked.slice(0, 1), widths: natural, isShortened: false };
}

export function rankedPlaces(header: readonly string[], ranked: readonly string[]): number[] {
  const first = ranked.map((name) => header.indexOf(name)).filter((place) => place >= 0);
  return [...first, ...[...header.keys()].filter((place) => !first.includes(place))];
}

export function tableLine(
  cells: readonly string[],
  { shown, widths, isShortened }: Layout,
  isNumeric: (cell: string, place: number) => boolean,
): string {
  return shown
    .map((place) => {
      const full = cells[place] ?? "";
      const width = widths[place] ?? 0;
      const cell = isShortened ? shortened(full, width) : full;
      const padding = " ".repeat(Math.max(0, width - stringWidth(cell)));
      return isNumeric(full, place) ? `${padding}${cell}` : `${cell}${padding}`;
    })
    .join(GAP)
    .trimEnd();
}

export function describeOmissions(tables: readonly LaidOut[], advice: string, width: number): string {
  const omitted = new Set(tables.flatMap(({ header, layout }) => header.filter((_, at) => !layout.shown.includes(at))));
  const named = [...omitted].slice(0, MAX_NAMED);
  const further = omitted.size > MAX_NAMED ? ` and ${omitted.size - MAX_NAMED} more` : "";
  const isShortened = tables.some(({ layout }) => layout.isShortened);
  const sentences = [
    ...(omitted.size === 0 ? [] : [`Columns hidden to fit the terminal: ${named.join(", ")}${further}.`]),
    ...(isShortened ? [`Long values are shortened${omitted.size === 0 ? " to fit the terminal" : ""}.`] : []),
  ];
  return sentences.length === 0 ? "" : wrapped([...sentences, advice].join(" "), width).join("\n");
}

/** Formats a table with aligned columns, in a given width. */
export function fitTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  fit: {
    readonly width?: number;
    readonly ranked?: readonly number[] | undefined;
    readonly prefers?: Preference | undefined;
    readonly styleHeader?: (line: string) => string;
  } = {},
): LaidOut & { readonly text: string } {
  const { lines, ...laidOut } = fitLines(header, rows, fit);
  return { ...laidOut, text: [...lines].join("") };
}

/** Lays out a table like {@link fitTable}, and formats one line after the other. */
function fitLines(
  header: readonly string[],
  rows: Iterable<readonly string[]>,
  fit: Parameters<typeof fitTable>[2] = {},
): LaidOut & { readonly lines: Iterable<string> } {
  const { width = Number.POSITIVE_INFINITY, ranked = [...header.keys()], prefers, styleHeader = (line) => line } = fit;
  const widths = widthsOf([header], header.length);
  const numeric = header.map(() => true);
  for (const row of rows) {
    widen(widths, row);
    for (const place of header.keys()) {
      numeric[place] &&= /^-?[\d.,]*$/.test(row[place] ?? "");
    }
  }
  const layout = layOut(widths, width, ranked, prefers);
  const line = (cells: readonly string[]) => tableLine(cells, layout, (_, place) => numeric[place] === true);
  function* lines(): Generator<string> {
    yield `${styleHeader(line(header))}\n`;
    for (const row of rows) {
      yield `${line(row)}\n`;
    }
  }
  return { header, layout, lines: { [Symbol.iterator]: lines } };
}

export function widthsOf(rows: readonly (readonly string[])[], count: number): number[] {
  const widths = Array.from({ length: count }, () => 0);
  for (const cells of rows) {
    widen(widths, cells);
  }
  return widths;
}

export function tableWidth([header = [], ...rows]: readonly (readonly string[])[]): number {
  return widthsOf([header, ...rows], header.length).reduce((sum, width) => sum + width + GAP.length, -GAP.length);
}

/** Breaks a line that is a single word, such as a path, where it is longer than a width. */
function broken(line: string, width: number): string[] {
  const count = Math.ceil(line.length / width);
  return count <= 1 ? [line] : Array.from({ length: count }, (_, at) => line.slice(at * width, (at + 1) * width));
}

/** The minimum width of a column whose texts are broken into lines. */
const MIN_WRAPPED = 20;

/** Breaks the texts of the last column into lines, so that the table fits a width and nothing is shortened. */
export function wrapLastColumn(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
): string[][] {
  const others = header.length - 1;
  const left = width - tableWidth([header, ...rows].map((cells) => cells.slice(0, others))) - GAP.length;
  return rows.flatMap((cells) => {
    const columns = Math.max(MIN_WRAPPED, left);
    const lines = wrapped(cells[others] ?? "", columns);
    const [first = "", ...further] = lines.flatMap((line) => broken(line, columns));
    return [[...cells.slice(0, others), first], ...further.map((line) => [...header.slice(1).map(() => ""), line])];
  });
}

function widen(widths: number[], cells: readonly string[]): void {
  for (const [place, width] of widths.entries()) {
    widths[place] = Math.max(width, stringWidth(cells[place] ?? ""));
  }
}

/** Shortens a text to a width, with an ellipsis at its end. */
export function shortened(text: string, width: number): string {
  if (stringWidth(text) <= width) {
    return text;
  }
  let [chosen, used] = ["", 0];
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += stringWidth(segment);
    if (used > width - 1) {
      break;
    }
    chosen += segment;
  }
  return `${chosen}…`;
}

/** Formats the values of a record below each other, so that nothing has to be omitted or shortened. */
export function recordLines(
  values: readonly (readonly [name: string, value: string])[],
  styleName = (name: string) => name,
): string {
  const [width = 0] = widthsOf(values, 1);
  const padded = (name: string) => `${styleName(name)}${" ".repeat(width - stringWidth(name))}${GAP}`;
  return values.map(([name, value]) => `${value === "" ? styleName(name) : `${padded(name)}${value}`}\n`).join("");
}

/** The number of records that a terminal lists by default. */
export const LISTED = 100;

/** The size of the parts in which a table is written, in characters. */
const PART_CHARACTERS = 64 * 1024;

/** How a table is fitted into the width of a terminal. */
export interface TableFit {
  /** The names of columns, the most important first, before all others. */
  readonly ranked?: readonly string[] | undefined;
  readonly prefers?: Preference | undefined;
}

/** The tables of one output. */
export interface Tables {
  /** The width of the terminal, in columns; infinite if the output is not a terminal. */
  readonly width: number;
  /** Formats a table in the width of the terminal. */
  format(
    header: readonly string[],
    rows: readonly (readonly string[])[],
    how?: TableFit & { readonly indent?: string },
  ): string;
  /**
   * Writes a table in the width of the terminal, line by line, so that it may have any number of rows.
   *
   * @throws the errors of {@link writeOut}
   */
  write(context: OutputContext, header: readonly string[], rows: Iterable<readonly string[]>): Promise<void>;
  /** Prints a note about everything that did not fit. Call it once, at the end. */
  printOmissions(): void;
}

export function createTables(
  streams: Pick<Streams, "out" | "notes" | "environment">,
  advice = "Use --json to print all.",
): Tables {
  const { out, notes, environment } = streams;
  const formatted: LaidOut[] = [];
  const styleHeader = (line: string) => styled(out, "bold", line, environment);
  const terminalWidth = widthOf(streams);
  return {
    width: terminalWidth,
    format(header, rows, { ranked = [], prefers, indent = "" } = {}) {
      const places = rankedPlaces(header, ranked);
      const width = terminalWidth - indent.length;
      const fitted = fitTable(header, rows, { width, ranked: places, prefers, styleHeader });
      formatted.push(fitted);
      return fitted.text.replaceAll(/^(?=.)/gm, indent);
    },
    async write(context, header, rows) {
      const { lines, ...laidOut } = fitLines(header, rows, { width: terminalWidth, styleHeader });
      formatted.push(laidOut);
      let part = "";
      for (const line of lines) {
        part += line;
        if (part.length >= PART_CHARACTERS) {
          await writeOut(context, part);
          await yieldToEventLoop(); // Lets an interruption and other calls proceed.
          part = "";
        }
      }
      await writeOut(context, part);
    },
    printOmissions() {
      const sentence = describeOmissions(formatted, advice, terminalWidth);
      if (sentence !== "") {
        notes.write(`${sentence}\n`);
      }
    },
  };
}

/** Prints whole records: as a table if it fits the terminal, otherwise with each value on its own line. */
export function printWhole(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  streams: Pick<Streams, "out" | "environment">,
): void {
  const { out, environment } = streams;
  const bold = (text: string) => styled(out, "bold", text, environment);
  const isTable = tableWidth([header, ...rows]) <= widthOf(streams);
  const recordOf = (cells: readonly string[]) =>
    recordLines(
      header.map((name, place) => [name, cells[place] ?? ""]),
      bold,
    );
  out.write(isTable ? fitTable(header, rows, { styleHeader: bold }).text : rows.map(recordOf).join("\n"));
}

/** Prints a table in the width of the terminal, with a note about omitted columns. */
export function printTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  streams: Pick<Streams, "out" | "notes" | "environment">,
  { advice, ...fit }: TableFit & { readonly advice?: string | undefined } = {},
): void {
  const tables = createTables(streams, advice);
  streams.out.write(tables.format(header, rows, fit));
  tables.printOmissions();
}
