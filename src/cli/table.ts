import stringWidth from "fast-string-width";

/** How many columns of a terminal a cell keeps at least, where cells are shortened. */
const LEAST = 20;

/** The most columns that are named where columns are left out. */
const NAMED = 8;

/** What stands between two columns. */
const GAP = "  ";

/** How the columns of a table are shown. */
export interface Layout {
  /** The places of the columns that are shown. */
  readonly shown: readonly number[];
  /** The width of each column, by its place. */
  readonly widths: readonly number[];
  /** Whether a cell may be shortened. */
  readonly isCut: boolean;
}

/** A table that is laid out. */
export interface LaidOut {
  /** The names of all columns. */
  readonly header: readonly string[];
  readonly layout: Layout;
}

/**
 * Lay out the columns of a table in the width of a terminal. Where they are too wide, long cells are shortened, those of
 * the columns of the lowest rank first, and then such columns left out.
 *
 * @param natural the width that each column needs
 * @param width the width of the terminal; infinite where there is none
 * @param ranked the places of all columns, the most important first
 * @returns the layout, with at least the first of `ranked`
 */
export function layOut(natural: readonly number[], width: number, ranked: readonly number[]): Layout {
  for (let count = ranked.length; count > 0; count -= 1) {
    const kept = ranked.slice(0, count);
    const widths = [...natural];
    let over = kept.reduce((sum, place) => sum + (widths[place] ?? 0) + GAP.length, -GAP.length) - width;
    for (const place of kept.toReversed()) {
      const now = widths[place] ?? 0;
      const less = Math.max(0, Math.min(over, now - (count === 1 ? 1 : LEAST)));
      widths[place] = now - less;
      over -= less;
    }
    if (over <= 0) {
      const isCut = kept.some((place) => widths[place] !== natural[place]);
      return { shown: kept.toSorted((a, b) => a - b), widths, isCut };
    }
  }
  return { shown: ranked.slice(0, 1), widths: natural, isCut: false };
}

/**
 * Write a line of a table. Numbers are aligned to the right.
 *
 * @param cells the cells of all columns, safe for a terminal
 * @param layout how they are shown
 * @param isNumeric tells whether a cell is aligned to the right
 * @returns the line, without a line feed
 */
export function tableLine(
  cells: readonly string[],
  { shown, widths, isCut }: Layout,
  isNumeric: (cell: string, place: number) => boolean,
): string {
  return shown
    .map((place) => {
      const whole = cells[place] ?? "";
      const width = widths[place] ?? 0;
      const cell = isCut ? shortened(whole, width) : whole;
      const room = " ".repeat(Math.max(0, width - stringWidth(cell)));
      return isNumeric(whole, place) ? `${room}${cell}` : `${cell}${room}`;
    })
    .join(GAP)
    .trimEnd();
}

/**
 * Say what is left out of tables.
 *
 * @param tables the tables of one output
 * @param advice how to see all
 * @returns a sentence; empty where all is shown
 */
export function leftOutOf(tables: readonly LaidOut[], advice: string): string {
  const lacking = new Set(tables.flatMap(({ header, layout }) => header.filter((_, at) => !layout.shown.includes(at))));
  const named = [...lacking].slice(0, NAMED);
  const further = lacking.size > NAMED ? ` and ${lacking.size - NAMED} more` : "";
  const what = [
    ...(lacking.size === 0 ? [] : [`left out: ${named.join(", ")}${further}`]),
    ...(tables.some(({ layout }) => layout.isCut) ? ["long values are shortened"] : []),
  ].join("; ");
  return what === "" ? "" : `To fit the terminal, ${what}. ${advice}`;
}

/**
 * Format a table with aligned columns, in the width that there is.
 *
 * @param header the names of the columns
 * @param rows the cells of each row, safe for a terminal
 * @param fit `width`, infinite by default; `ranked`, the places of all columns, the most important first, by default
 *   from left to right; `styleHeader`, how the header is styled
 * @returns lines of text, and how they are laid out
 */
export function fitTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  fit: {
    readonly width?: number;
    readonly ranked?: readonly number[] | undefined;
    readonly styleHeader?: (line: string) => string;
  } = {},
): LaidOut & { readonly text: string } {
  const { lines, ...laidOut } = fitLines(header, rows, fit);
  return { ...laidOut, text: [...lines].join("") };
}

/**
 * Lays out a table as {@link fitTable} does, and formats one line after the other.
 *
 * @param header the names of the columns
 * @param rows the cells of each row, safe for a terminal; they are iterated twice
 * @param fit as for {@link fitTable}
 * @returns the lines, each with a line feed, and how they are laid out
 */
export function fitLines(
  header: readonly string[],
  rows: Iterable<readonly string[]>,
  fit: Parameters<typeof fitTable>[2] = {},
): LaidOut & { readonly lines: Iterable<string> } {
  const { width = Number.POSITIVE_INFINITY, ranked = [...header.keys()], styleHeader = (line) => line } = fit;
  const widths = widthsOf([header], header.length);
  const numeric = header.map(() => true);
  for (const row of rows) {
    widen(widths, row);
    for (const place of header.keys()) {
      numeric[place] &&= /^[\d.,]*$/.test(row[place] ?? "");
    }
  }
  const layout = layOut(widths, width, ranked);
  const line = (cells: readonly string[]) => tableLine(cells, layout, (_, place) => numeric[place] === true);
  function* lines(): Generator<string> {
    yield `${styleHeader(line(header))}\n`;
    for (const row of rows) {
      yield `${line(row)}\n`;
    }
  }
  return { header, layout, lines: { [Symbol.iterator]: lines } };
}

/**
 * Measure the columns of a table.
 *
 * @param rows the cells of each row
 * @param count the number of columns
 * @returns the width that each column needs, in columns of a terminal
 */
export function widthsOf(rows: readonly (readonly string[])[], count: number): number[] {
  const widths = Array.from({ length: count }, () => 0);
  for (const cells of rows) {
    widen(widths, cells);
  }
  return widths;
}

/** Widens columns to what the cells of a row need. */
function widen(widths: number[], cells: readonly string[]): void {
  for (const [place, width] of widths.entries()) {
    widths[place] = Math.max(width, stringWidth(cells[place] ?? ""));
  }
}

/** Shorten a text to a width, with an ellipsis in place of what is left out. */
function shortened(text: string, width: number): string {
  if (stringWidth(text) <= width) {
    return text;
  }
  let [kept, used] = ["", 0];
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += stringWidth(segment);
    if (used > width - 1) {
      break;
    }
    kept += segment;
  }
  return `${kept}…`;
}
