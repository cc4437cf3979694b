import type { Done, SyncSnapshot, TableProgress } from "../../sync/watch/snapshot.js";
import { printable } from "../output.js";
import { clock, compact, span } from "./figures.js";

/** The size of a terminal in characters. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** How wide the bar of a table may be. */
const [MIN_BAR, MAX_BAR] = [5, 40];
/** How wide the columns of rows, speed and time left are at least, as of `12.3k rows`, `12.3 MB/s` and `1m 05s left`. */
const FIGURES = [10, 9, 11];
/** For how long an error that is tried again is shown, in milliseconds. */
const ERROR_MS = 60_000;

/**
 * Write how a sync stands for a terminal: a line for each table, one for all of them, and what is waited for.
 *
 * @param snapshot how it stands
 * @param size of the terminal; where not all tables fit, those that are not done come first
 * @returns at most one line less than the terminal has, each shorter than it is wide
 */
export function progressLines(snapshot: SyncSnapshot, { columns, rows }: Size): string[] {
  const { total, tables, secondsLeft } = snapshot;
  const notes = [stateLine(snapshot), errorLine(snapshot)].filter((line) => line !== undefined);
  const room = Math.max(1, rows - 1);
  if (snapshot.history === undefined) {
    return notes.slice(0, room).map((line) => line.slice(0, columns - 1));
  }
  const whole = { name: "all tables", done: total, left: secondsLeft };
  const places = room - notes.length - 1;
  const shown = chosen(snapshot, tables.length <= places ? places : places - 1);
  const left = (table: TableProgress) =>
    table.missing === 0 ? 0 : table.rates.segments > 0 ? table.missing / table.rates.segments : undefined;
  const each = shown.map((table) => ({ name: table.table, done: table, left: left(table) }));
  const lines = aligned([...each, ...(tables.length === 1 ? [] : [whole])], columns - 1);
  const further = tables.length - shown.length;
  if (further > 0) {
    lines.splice(shown.length, 0, `${shown.length === 0 ? "" : "and "}${further} more tables`);
  }
  return [...lines, ...notes].slice(-room).map((line) => line.slice(0, columns - 1));
}

/** The tables that there is room for, in their order: those under way before those that wait, and those before done ones. */
function chosen({ tables, underWay }: SyncSnapshot, places: number): TableProgress[] {
  const busy = new Set(underWay.map(({ table }) => table));
  const rank = ({ table, missing }: TableProgress) => (busy.has(table) ? 0 : missing > 0 ? 1 : 2);
  const first = new Set([...tables].sort((a, b) => rank(a) - rank(b)).slice(0, Math.max(0, places)));
  return tables.filter((table) => first.has(table));
}

interface Line {
  readonly name: string;
  readonly done: Done;
  readonly left: number | undefined;
}

function aligned(lines: readonly Line[], width: number): string[] {
  const cells = lines.map(({ name, done, left }) => [
    name,
    `${done.done}/${done.segments}`,
    `${compact(Number(done.there.rows))} rows`,
    done.missing === 0 ? "" : `${(done.rates.bytes / 1e6).toFixed(1)} MB/s`,
    done.missing === 0 ? "done" : left === undefined ? "" : `${span(left)} left`,
  ]);
  // Columns keep their widths while figures grow, so that the bars stand still.
  const segments = lines.map(({ done }) => `${done.segments}`.length);
  const widths = [0, 2 * Math.max(...segments) + 1, ...FIGURES].map((least, column) =>
    Math.max(least, ...cells.map((line) => line[column]?.length ?? 0)),
  );
  const gaps = 2 * widths.length;
  const bar = Math.min(MAX_BAR, width - gaps - widths.reduce((sum, one) => sum + one, 0) - 2);
  return lines.map(({ name, done }, at) => {
    const [, ...figures] = cells[at] ?? [];
    const padded = figures.map((text, column) => text.padStart(widths[column + 1] ?? 0));
    const drawn = bar < MIN_BAR ? [] : [`[${barOf(done, bar)}]`];
    return [name.padEnd(widths[0] ?? 0), ...drawn, ...padded].join("  ").trimEnd();
  });
}

function barOf({ done, segments }: Done, width: number): string {
  // Rounded down, so that only what is done is full.
  const full = segments === 0 ? width : Math.floor((done / segments) * width);
  const head = full < width && done > 0 ? ">" : "";
  return `${"=".repeat(full)}${head}`.padEnd(width);
}

/** What is done now, where that is not to be seen in the tables. */
function stateLine({ phase, waiting, total, node, history }: SyncSnapshot): string | undefined {
  switch (phase) {
    case "starting":
      return "Reading the node's history and what is there.";
    case "waiting":
      return `Waiting: ${printable(waiting?.message ?? "")}${again(waiting?.againAt)}`;
    case "idle":
      if (node !== undefined && history === undefined) {
        return `No segment of the node, blocks ${node.fromBlock} to ${node.toBlock}, lies within the range.`;
      }
      return total.missing === 0 ? "All is there. Waiting for new segments." : "Waiting for the next look.";
    case "syncing":
      return undefined;
  }
}

/** The last error, while it is recent or units are failed. */
export function errorLine({ failed, errors, at, phase }: SyncSnapshot): string | undefined {
  const last = errors.find(({ unit }) => unit !== undefined);
  const recent = last !== undefined && Date.parse(at) - Date.parse(last.at) < ERROR_MS;
  if (last?.unit === undefined || failed === 0 || (!recent && phase === "waiting")) {
    return undefined;
  }
  const { table, fromBlock, toBlock } = last.unit;
  const what = `${table} ${fromBlock}-${toBlock}: ${printable(last.message)}${again(last.againAt)}`;
  return `${failed} ${failed === 1 ? "unit" : "units"} failed. Last: ${what}`;
}

function again(at: string | undefined): string {
  return at === undefined ? "" : ` (again at ${clock(at)})`;
}
