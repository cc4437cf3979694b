import type { QueueStatus } from "../../sync/queue/index.js";
import type { Unit } from "../../sync/unit.js";
import { printable } from "../output.js";
import type { Tables } from "../terminal.js";
import { grouped } from "./figures.js";

/** The most workers, and the most units that were given up, that are shown. */
const MAX_SHOWN = 20;

/**
 * Write how a queue stands for a person.
 *
 * @param status how it stands
 * @param format formats tables
 * @returns lines of text
 */
export function queueText(status: QueueStatus, format: Tables["format"]): string {
  const { leader, waiting, backoff, underWay, dead, workers, nodes } = status;
  const counts = `${grouped(waiting)} units wait, ${grouped(backoff)} wait to be tried again, ${grouped(underWay.length)} are under way, ${grouped(dead.length)} were given up.`;
  const planner = leader === undefined ? "No planner runs." : `Planned by ${printable(leader)}.`;
  const held = new Map(underWay.map(({ worker, unit }) => [worker, unitText(unit)]));
  const rows = workers.slice(0, MAX_SHOWN).map(({ id, host, pid, beatAt, silent }) => {
    return [`${printable(host)} ${pid}`, silent ? `silent since ${beatAt}` : "alive", held.get(id) ?? ""];
  });
  const resting = nodes.filter(({ restUntil }) => restUntil !== undefined);
  return [
    `Queue: ${counts} ${planner}\n`,
    workers.length === 0
      ? "No worker runs.\n"
      : `\n${format(["worker", "state", "unit"], rows)}${more(workers.length)}`,
    ...resting.map(({ node, restUntil, error }) => {
      return `${printable(node)} is left alone until ${restUntil}: ${printable(error ?? "")}\n`;
    }),
    dead.length === 0 ? "" : "\nGiven up; `tradewire sync --queue --retry-failed` puts them back:\n",
    ...dead.slice(0, MAX_SHOWN).map(({ unit, tries, error, at }) => {
      return `  ${unitText(unit)}, tried ${tries} times until ${at}: ${printable(error)}\n`;
    }),
    dead.length === 0 ? "" : more(dead.length),
  ].join("");
}

function more(count: number): string {
  return count > MAX_SHOWN ? `and ${grouped(count - MAX_SHOWN)} more\n` : "";
}

function unitText({ table: name, fromBlock, toBlock }: Unit): string {
  return `${name} of blocks ${fromBlock} to ${toBlock}`;
}
