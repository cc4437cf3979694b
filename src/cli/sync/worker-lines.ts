import type { SyncSnapshot } from "../../sync/watch/snapshot.js";
import { printable } from "../output.js";
import { grouped } from "./figures.js";
import { errorLine, type Size } from "./progress-lines.js";

/**
 * Write how a worker goes for a terminal: what it has loaded, and the units under way.
 *
 * @param snapshot how it goes
 * @param size of the terminal
 * @returns at most one line less than the terminal has, each shorter than it is wide
 */
export function workerLines(snapshot: SyncSnapshot, { columns, rows }: Size): string[] {
  const units = snapshot.underWay.map(({ table, fromBlock, toBlock, node, seconds }) => {
    return `  ${table} of blocks ${fromBlock} to ${toBlock} from ${printable(node)}, ${Math.floor(seconds)} s`;
  });
  const error = errorLine(snapshot);
  const lines = [figures(snapshot), ...units, ...(error === undefined ? [] : [error])];
  return lines.slice(0, Math.max(1, rows - 1)).map((line) => line.slice(0, columns - 1));
}

/**
 * Write how a worker goes in one line of a log.
 *
 * @param snapshot how it goes
 * @returns the line, with its time
 */
export function workerLogLine(snapshot: SyncSnapshot): string {
  return `${snapshot.at.slice(0, 19)}Z ${figures(snapshot)}`;
}

function figures({ total: { loaded, rates }, underWay, waiting, failed }: SyncSnapshot): string {
  return [
    `${grouped(loaded.units)} units, ${grouped(loaded.rows)} rows loaded`,
    `${(rates.bytes / 1e6).toFixed(1)} MB/s`,
    underWay.length === 0 ? "no unit to load" : `${underWay.length} under way`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(waiting === undefined ? [] : [`waiting: ${printable(waiting.message)}`]),
  ].join(", ");
}
