import type { Command } from "commander";
import type { NodeStatus } from "../../index.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { addOptions, type OptionValues } from "../declarations.js";
import { type CommandContext, printable, Reported } from "../output.js";
import { printReport, recordsFormat, recordsOutput } from "../output-format.js";
import { printTable } from "../table.js";

const nodesOptions = { ...recordsOutput, ...clientOptions };

/**
 * Defines the command `nodes`, which shows how each node of the configuration answers, and whether it is used.
 *
 * @param command the command `nodes`, which gets its options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addNodes(command: Command, context: CommandContext): void {
  const { signal } = context;
  addOptions(command, nodesOptions).action(async (options: OptionValues<typeof nodesOptions>) => {
    await using client = commandClient(options, context);
    const nodes = await client.status({ signal });
    const records = nodes.map(({ error, ...node }) => ({ ...node, ...(error && { error: error.summary }) }));
    const report = {
      table: () => printNodes(nodes, context),
      object: () => ({ nodes: records }),
      records: () => records,
    };
    await printReport(report, recordsFormat(options, context), context);
    if (!nodes.some(({ state }) => state === "usable" || state === "unchecked")) {
      throw new Reported();
    }
  });
}

function printNodes(nodes: readonly NodeStatus[], context: CommandContext): void {
  const rows = nodes.map((node) => cellsOf(node).map(printable));
  printTable(["node", "state", "chain", "height", "behind", "latency", "version"], rows, context);
  for (const { name, refusal, error } of nodes) {
    const reason = refusal ?? error?.summary;
    if (reason !== undefined) {
      context.notes.write(`${printable(name)}: ${printable(reason)}\n`);
    }
  }
}

function cellsOf({ name, url, state, chainId, height, behindBlocks, latencyMs, version }: NodeStatus): string[] {
  const numbers = [height, behindBlocks].map((value) => (value === undefined ? "" : String(value)));
  const latency = latencyMs === undefined ? "" : `${Math.round(latencyMs)} ms`;
  return [
    url === undefined || name.includes(url) ? name : `${name} ${url}`,
    state,
    chainId ?? "",
    ...numbers,
    latency,
    version ?? "",
  ];
}
