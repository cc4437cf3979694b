import type { Done, SyncSnapshot, TableProgress } from "../../sync/index.js";
import { clock, compact, grouped, span, speed } from "../formatting.js";
import { printable } from "../output.js";

/** The size of a terminal in characters. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** The minimum and maximum width of a table's bar. */
const [MIN_BAR, MAX_BAR] = [5, 40];
/** The minimum widths of the columns of rows, speed and time left: of `12.3k rows`, `12.3 MiB/s` and `1m 05s left`. */
const MIN_WIDTHS = [10, 10, 11];
/** How long an error is shown that is followed by a retry, in milliseconds. */
const ERROR_MS = 60_000;

/**
 * Formats the state of a sync for a terminal: a line for each table, one for the total, and one for the current wait.
 */
export function progressLines(snapshot: SyncSnapshot, { columns, rows }: Size): string[] {
  const { total, tables, secondsLeft } = snapshot;
  const gaps = total.gapBlocks > 0n ? `${grouped(total.gapBlocks)} missing blocks of tables on no node.` : undefined;
  const notes = [gaps, stateLine(snapshot), errorLine(snapshot)].filter((line) => line !== undefined);
  const capacity = Math.max(1, rows - 1);
  if (snapshot.history === undefined) {
    return notes.slice(0, capacity).map((line) => line.slice(0, columns - 1));
  }
  const totals = { name: "all tables", done: total, left: secondsLeft };
  const places = capacity - notes.length - 1;
  const shown = chosen(snapshot, tables.length <= places ? places : places - 1);
  const left = (table: TableProgress) =>
    table.missing === 0 ? 0 : table.rates.segments > 0 ? table.missing / table.rates.segments : undefined;
  const each = shown.map((table) => ({ name: table.table, done: table, left: left(table) }));
  const lines = aligned([...each, ...(tables.length === 1 ? [] : [totals])], columns - 1);
  const further = tables.length - shown.length;
  if (further > 0) {
    lines.splice(shown.length, 0, `${shown.length === 0 ? "" : "and "}${further} more tables`);
  }
  return [...lines, ...notes].slice(-capacity).map((line) => line.slice(0, columns - 1));
}

/** Chooses the tables that fit, in their order: those in flight before those that wait, and complete ones last. */
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
    `${compact(done.there.rows)} rows`,
    done.missing === 0 ? "" : speed(done.rates.bytes),
    done.missing === 0 ? "done" : left === undefined ? "" : `${span(left)} left`,
  ]);
  // The widths stay the same while the figures grow, so that the bars do not move.
  const segments = lines.map(({ done }) => `${done.segments}`.length);
  const widths = [0, 2 * Math.max(...segments) + 1, ...MIN_WIDTHS].map((minimum, column) =>
    Math.max(minimum, ...cells.map((line) => line[column]?.length ?? 0)),
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
  // Rounded down, so that only a complete table has a full bar.
  const full = segments === 0 ? width : Math.floor((done / segments) * width);
  const head = full < width && done > 0 ? ">" : "";
  return `${"=".repeat(full)}${head}`.padEnd(width);
}

/** Describes the current phase, if the lines of the tables do not show it. */
function stateLine({ phase, waiting, total, node, history }: SyncSnapshot): string | undefined {
  switch (phase) {
    case "starting":
      return "Reading the node's history and the ledger.";
    case "waiting":
      return `Waiting: ${printable(waiting?.message ?? "")}${retryText(waiting?.againAt)}`;
    case "idle":
      if (node !== undefined && history === undefined) {
        return `None of the node's segments, blocks ${node.fromBlock} to ${node.toBlock}, is within the range.`;
      }
      return total.missing === 0 && total.gapBlocks === 0n
        ? "Up to date. Waiting for new segments."
        : "Waiting for the next check.";
    case "syncing":
      return undefined;
  }
}

/** Describes the last error, while it is recent or units are failed. */
function errorLine({ failed, errors, at, phase }: SyncSnapshot): string | undefined {
  const last = errors.find(({ unit }) => unit !== undefined);
  const recent = last !== undefined && Date.parse(at) - Date.parse(last.at) < ERROR_MS;
  if (last?.unit === undefined || failed === 0 || (!recent && phase === "waiting")) {
    return undefined;
  }
  const { table, fromBlock, toBlock } = last.unit;
  const what = `${table} ${fromBlock}-${toBlock}: ${printable(last.message)}${retryText(last.againAt)}`;
  return `${failed} ${failed === 1 ? "export" : "exports"} failed. Last: ${what}`;
}

function retryText(at: string | undefined): string {
  return at === undefined ? "" : ` (retry at ${clock(at)})`;
}

/** Formats the state of a worker for a terminal: what it has loaded, and the units in flight. */
export function workerLines(snapshot: SyncSnapshot, { columns, rows }: Size): string[] {
  const units = snapshot.underWay.map(({ table, fromBlock, toBlock, node, seconds }) => {
    return `  ${table} of blocks ${fromBlock} to ${toBlock} from ${printable(node)}, ${Math.floor(seconds)} s`;
  });
  const error = errorLine(snapshot);
  const lines = [workerFigures(snapshot), ...units, ...(error === undefined ? [] : [error])];
  return lines.slice(0, Math.max(1, rows - 1)).map((line) => line.slice(0, columns - 1));
}

/** Formats the state of a worker as a line of a log. */
export function workerLogLine(snapshot: SyncSnapshot): string {
  return `${snapshot.at.slice(0, 19)}Z ${workerFigures(snapshot)}`;
}

function workerFigures({ total: { loaded, rates }, underWay, waiting, failed }: SyncSnapshot): string {
  return [
    `${grouped(loaded.units)} units, ${grouped(loaded.rows)} rows loaded`,
    speed(rates.bytes),
    underWay.length === 0 ? "no units to load" : `${underWay.length} in flight`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(waiting === undefined ? [] : [`waiting: ${printable(waiting.message)}`]),
  ].join(", ");
}
