import { csvLine } from "../csv/encode.js";
import type { CsvRow } from "../csv/format.js";
import { escapedJson, printable } from "./output.js";
import { type Layout, layOut, leftOutOf, tableLine, widthsOf } from "./table.js";

/** The formats in which rows can be printed. */
export const rowFormats = ["jsonl", "csv", "table"] as const;

export type RowFormatName = (typeof rowFormats)[number];

/** A format that turns rows into text. */
export interface RowFormat {
  /** Whether all rows share one header, and so must have the same columns. */
  readonly header: boolean;
  /** Convert rows with these columns to text. The header precedes the first rows. */
  text(columns: readonly string[], rows: readonly CsvRow[]): string;
  /** The text that is still to be printed after the last row. */
  end(): string;
  /** The text that marks the rows before it as incomplete, for a reader that does not learn of the failure. */
  broken(): string;
}

/** What a table has to fit into. */
export interface Terminal {
  readonly width: number;
  /** Style the header. */
  header(line: string): string;
  /** Told, in a sentence, what does not fit. */
  leftOut(sentence: string): void;
}

const NOWHERE: Terminal = { width: Number.POSITIVE_INFINITY, header: (line) => line, leftOut: () => {} };

/**
 * Create a format.
 *
 * @param name the name of the format
 * @param nullText the text for NULL in `csv` (empty by default) and `table` (`NULL` by default); JSON has `null`
 * @param terminal the width that a table has to fit into, and what is told where it does not; by default any
 * @returns the format, which serves one output
 */
export function createRowFormat(name: RowFormatName, nullText: string | undefined, terminal = NOWHERE): RowFormat {
  switch (name) {
    case "jsonl":
      return jsonLines();
    case "csv":
      return csv(nullText ?? "");
    case "table":
      return alignedTable(nullText ?? "NULL", terminal);
  }
}

/** One JSON object a line. The keys are encoded once for all rows with the same columns. */
function jsonLines(): RowFormat {
  let known: readonly string[] | undefined;
  let keys: string[] = [];
  return {
    header: false,
    text(columns, rows) {
      if (columns !== known) {
        known = columns;
        keys = columns.map((column, index) => `${index === 0 ? "{" : ","}${JSON.stringify(column)}:`);
      }
      let text = "";
      for (const row of rows) {
        let line = "";
        for (const [index, key] of keys.entries()) {
          const value = row[index] ?? null;
          line += key + (value === null ? "null" : JSON.stringify(value));
        }
        text += `${escapedJson(line)}}\n`;
      }
      return text;
    },
    end: () => "",
    broken: () => "",
  };
}

/** CSV as the node writes it (specification, 4.1). */
function csv(nullText: string): RowFormat {
  let number = 0;
  const line = (row: Readonly<CsvRow>) => {
    number += 1;
    return csvLine(row, nullText, number);
  };
  return {
    header: true,
    text(columns, rows) {
      let text = number === 0 ? csvLine(columns.slice(), nullText, 1) : "";
      number ||= 1;
      for (const row of rows) {
        text += line(row);
      }
      return text;
    },
    end: () => "",
    // A quote that is never closed: COPY refuses such input, and none of the rows before it is kept. As a header row it
    // would be passed over.
    broken: () => (number === 0 ? '\n"' : '"'),
  };
}

/** The most rows that are examined before the widths of the columns are set. */
const SAMPLE_ROWS = 200;

/** The most text in those rows, in characters. */
const SAMPLE_SIZE = 1024 * 1024;

/** The largest width of a column. Elsewhere than on a terminal, a longer value shifts the rest of its row. */
const MAX_WIDTH = 80;

/** Aligned columns, as wide as the first rows need. An empty text, and a text equal to that for NULL, is quoted. */
function alignedTable(nullText: string, terminal: Terminal): RowFormat {
  let header: readonly string[] = [];
  let waiting: string[][] = [];
  let waitingSize = 0;
  let layout: Layout | undefined;
  let isShortened = false;
  const cell = (value: string | null) => {
    if (value === null) {
      return nullText;
    }
    const text = printable(value);
    return text === "" || text === nullText ? `"${text}"` : text;
  };
  const line = (cells: readonly string[], found: Layout) =>
    tableLine(cells, found, (text) => /^-?\d[\d.]*$/.test(text));
  const isTooWide = (widths: readonly number[], { shown, widths: given }: Layout) =>
    Number.isFinite(terminal.width) && shown.some((place) => (widths[place] ?? 0) > (given[place] ?? 0));
  const release = () => {
    const needed = widthsOf([header, ...waiting], header.length);
    const widths = needed.map((width) => Math.min(MAX_WIDTH, width));
    const found = layOut(widths, terminal.width, [...header.keys()]);
    // A cell that is wider than those that were examined shifts the rest of its row, but on a terminal.
    const taken = { ...found, isCut: Number.isFinite(terminal.width) };
    layout = taken;
    isShortened = isTooWide(needed, taken);
    const lines = [terminal.header(line(header, taken)), ...waiting.map((cells) => line(cells, taken))];
    waiting = [];
    return `${lines.join("\n")}\n`;
  };
  return {
    header: true,
    text(columns, rows) {
      const known = layout;
      if (known !== undefined) {
        const cells = rows.map((row) => row.map(cell));
        isShortened ||= isTooWide(widthsOf(cells, header.length), known);
        return cells.map((each) => `${line(each, known)}\n`).join("");
      }
      header = columns.map(printable);
      for (const row of rows) {
        const cells = row.map(cell);
        waiting.push(cells);
        waitingSize += cells.reduce((size, text) => size + text.length, 0);
      }
      return waiting.length >= SAMPLE_ROWS || waitingSize >= SAMPLE_SIZE ? release() : "";
    },
    end() {
      const text = layout === undefined && header.length > 0 ? release() : "";
      const lacking =
        layout === undefined
          ? ""
          : leftOutOf(
              [{ header, layout: { ...layout, isCut: isShortened } }],
              "--columns chooses; --format csv prints all.",
            );
      if (lacking !== "") {
        terminal.leftOut(lacking);
      }
      return text;
    },
    broken: () => "",
  };
}
