import type { JsonValue } from "@bufbuild/protobuf";
import { csvLine } from "../data/csv/encode-csv.js";
import { escapedJson, printable } from "./output.js";
import type { OutputFormat } from "./output-format.js";
import { describeOmissions, type Layout, layOut, rankedPlaces, tableLine, widthsOf } from "./table.js";

/** The values of a row. Those that are not text are written as such in JSON, and as text elsewhere. */
export type Row = readonly JsonValue[];

/** Returns a value as text, a list or an object as JSON; null if it is not set. */
export function textOf(value: JsonValue | undefined): string | null {
  if (value === undefined || value === null) {
    return null;
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A format that turns rows into text. */
export interface RowFormat {
  /** Whether all rows share one header, and so must have the same columns. */
  readonly header: boolean;
  /** Formats rows with these columns. The header precedes the first rows. */
  text(columns: readonly string[], rows: readonly Row[]): string;
  /** Returns the remaining text after the last row of all. */
  end(): string;
  /**
   * Returns the remaining text after the last row before a failure. It marks the rows as incomplete, for a reader that does
   * not learn of the failure.
   */
  broken(): string;
}

interface Terminal {
  readonly width: number;
  /** Styles the header. */
  header(line: string): string;
  /** Receives a sentence about the columns and values that do not fit. */
  onOmission(sentence: string): void;
}

/** How to see the columns that a table of rows omits. */
const ROWS_ADVICE = "Choose with --columns, or print all with --output csv.";

const UNLIMITED: Terminal = { width: Number.POSITIVE_INFINITY, header: (line) => line, onOmission: () => {} };

export function createRowFormat(name: OutputFormat, nullText: string | undefined, terminal = UNLIMITED): RowFormat {
  switch (name) {
    case "json":
      return jsonArray();
    case "jsonl":
      return jsonLines();
    case "csv":
      return csv(nullText ?? "");
    case "table":
      return alignedTable(nullText ?? "NULL", terminal);
  }
}

/** Formats each row as a JSON object on a line. The keys are encoded once for all rows with the same columns. */
function jsonLines(): RowFormat {
  let encoded: readonly string[] | undefined;
  let keys: string[] = [];
  return {
    header: false,
    text(columns, rows) {
      if (columns !== encoded) {
        encoded = columns;
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

/** Formats all rows as one JSON array, which a failure leaves open. */
function jsonArray(): RowFormat {
  const lines = jsonLines();
  let isEmpty = true;
  return {
    header: false,
    text(columns, rows) {
      let text = "";
      for (const row of rows) {
        text += `${isEmpty ? "[\n" : ",\n"}${lines.text(columns, [row]).trimEnd()}`;
        isEmpty = false;
      }
      return text;
    },
    end: () => (isEmpty ? "[]\n" : "\n]\n"),
    broken: () => (isEmpty ? "" : "\n"),
  };
}

/** Formats rows as CSV like the node does. */
function csv(nullText: string): RowFormat {
  let lines = 0;
  const line = (row: Row) => {
    lines += 1;
    return csvLine(row.map(textOf), nullText, lines);
  };
  return {
    header: true,
    text(columns, rows) {
      let text = lines === 0 ? csvLine(columns.slice(), nullText, 1) : "";
      lines ||= 1;
      for (const row of rows) {
        text += line(row);
      }
      return text;
    },
    end: () => "",
    // A quote that is never closed makes COPY refuse the input with all rows before it. In place of the header row it would
    // be skipped, so it follows a line feed then. Empty input would be read as no rows.
    broken: () => (lines === 0 ? '\n"' : '"'),
  };
}

/** The maximum number of rows that are examined before the widths of the columns are set. */
const SAMPLE_ROWS = 200;

/** The maximum length of the text of these rows, in characters. */
const SAMPLE_SIZE = 1024 * 1024;

/** The maximum width of a column. Where the output is not a terminal, a longer value shifts the rest of its row. */
const MAX_WIDTH = 80;

/** The columns of the network's tables that a narrow terminal shows first. */
const IMPORTANT_COLUMNS = "id height market_id market side aggressor price size status party_id vega_time".split(" ");

/**
 * The state of a table: it collects its first rows as a sample, which decides on the layout, and then formats each row as it
 * comes.
 */
type TableState =
  | {
      readonly status: "sampling";
      readonly header: readonly string[];
      readonly rows: string[][];
      readonly size: number;
    }
  | {
      readonly status: "formatting";
      readonly header: readonly string[];
      readonly layout: Layout;
      /** Whether a value was shortened. */
      readonly isShortened: boolean;
    };

/** Formats rows in aligned columns, as wide as the sample needs. */
function alignedTable(nullText: string, terminal: Terminal): RowFormat {
  const isTerminal = Number.isFinite(terminal.width);
  const isTooWide = (needed: readonly number[], { shown, widths }: Layout) =>
    isTerminal && shown.some((place) => (needed[place] ?? 0) > (widths[place] ?? 0));
  let state: TableState = { status: "sampling", header: [], rows: [], size: 0 };

  function layOutSample(header: readonly string[], rows: readonly string[][]): string {
    const needed = widthsOf([header, ...rows], header.length);
    const widths = needed.map((width) => Math.min(MAX_WIDTH, width));
    // On a terminal, a cell that is wider than those of the sample is shortened; elsewhere it shifts the rest of its row.
    const layout = {
      ...layOut(widths, terminal.width, rankedPlaces(header, IMPORTANT_COLUMNS)),
      isShortened: isTerminal,
    };
    state = { status: "formatting", header, layout, isShortened: isTooWide(needed, layout) };
    return `${[terminal.header(rowLine(header, layout)), ...rows.map((cells) => rowLine(cells, layout))].join("\n")}\n`;
  }

  function restOfSample(): string {
    return state.status === "sampling" && state.header.length > 0 ? layOutSample(state.header, state.rows) : "";
  }

  return {
    header: true,
    text(columns, rows) {
      const cells = rows.map((row) => row.map((value) => cellText(textOf(value), nullText)));
      if (state.status === "formatting") {
        const { header, layout } = state;
        const isShortened = state.isShortened || isTooWide(widthsOf(cells, header.length), layout);
        state = { ...state, isShortened };
        return cells.map((each) => `${rowLine(each, layout)}\n`).join("");
      }
      const size = cells.flat().reduce((sum, text) => sum + text.length, state.size);
      state = { ...state, header: columns.map(printable), rows: [...state.rows, ...cells], size };
      const isSampled = state.rows.length >= SAMPLE_ROWS || size >= SAMPLE_SIZE;
      return isSampled ? layOutSample(state.header, state.rows) : "";
    },
    end() {
      const text = restOfSample();
      if (state.status === "formatting") {
        const { header, layout, isShortened } = state;
        const tables = [{ header, layout: { ...layout, isShortened } }];
        const omissions = describeOmissions(tables, ROWS_ADVICE, terminal.width);
        if (omissions !== "") {
          terminal.onOmission(omissions);
        }
      }
      return text;
    },
    broken: restOfSample,
  };
}

/** Formats a value. An empty text, and a text equal to that for NULL, is quoted. */
function cellText(value: string | null, nullText: string): string {
  if (value === null) {
    return nullText;
  }
  const text = printable(value);
  return text === "" || text === nullText ? `"${text}"` : text;
}

function rowLine(cells: readonly string[], layout: Layout): string {
  return tableLine(cells, layout, (text) => /^-?\d[\d.]*$/.test(text));
}
