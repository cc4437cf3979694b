import type { Command } from "commander";
import type { NodeStatus } from "../../index.js";
import { wait } from "../../signal/wait.js";
import { commandClient } from "../client.js";
import { clientOptions, loadClientConfig } from "../client-options.js";
import { originsOf } from "../config-origins.js";
import { addOptions, type OptionValues, parsed } from "../declarations.js";
import { type CommandContext, printable, Reported } from "../output.js";
import { type OutputFormat, printReport, recordsFormat, recordsOutput } from "../output-format.js";
import { parseDuration } from "../parsers.js";
import { printTable } from "../table.js";

const statusOptions = {
  ...recordsOutput,
  watch: parsed("<duration>", "repeat at this interval, such as 2s, until Ctrl-C", parseDuration),
  ...clientOptions,
};

/**
 * Defines the command `status`, which shows how each node of the configuration answers, and whether it is used.
 *
 * @param command the command `status`, which gets its options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addStatus(command: Command, context: CommandContext): void {
  const { signal } = context;
  addOptions(command, statusOptions).action(async (options: OptionValues<typeof statusOptions>) => {
    const loaded = loadClientConfig(options, context);
    await using client = commandClient(options, context, { config: loaded.config });
    const format = recordsFormat(options, context);
    let nodes = await client.status({ signal });
    await printNodes(nodes, format, context);
    while (options.watch !== undefined) {
      await wait(options.watch, signal);
      nodes = await client.status({ signal });
      await printNodes(nodes, format, context);
    }
    if (!nodes.some(({ state }) => state === "usable" || state === "unchecked")) {
      if (format === "table" && nodes.every(({ state }) => state === "unreachable")) {
        context.notes.write(`${printable(originsOf(loaded, context.environment))}\n`);
      }
      throw new Reported();
    }
  });
}

async function printNodes(nodes: readonly NodeStatus[], format: OutputFormat, context: CommandContext): Promise<void> {
  const records = nodes.map(({ error, ...node }) => ({ ...node, ...(error && { error: error.summary }) }));
  const report = {
    table: () => printNodeTable(nodes, context),
    object: () => ({ nodes: records }),
    records: () => records,
  };
  await printReport(report, format, context);
}

function printNodeTable(nodes: readonly NodeStatus[], context: CommandContext): void {
  const header = ["node", "state", "chain", "height", "behind", "latency", "block age", "version"];
  const rows = nodes.map((node) => cellsOf(node).map(printable));
  printTable(header, rows, context);
  for (const { name, refusal, error } of nodes) {
    const reason = refusal ?? error?.summary;
    if (reason !== undefined) {
      context.notes.write(`${printable(name)}: ${printable(reason)}\n`);
    }
  }
}

function cellsOf({ name, url, state, chainId, height, behindBlocks, latencyMs, lag, version }: NodeStatus): string[] {
  const numbers = [height, behindBlocks].map((value) => (value === undefined ? "" : String(value)));
  const latency = latencyMs === undefined ? "" : `${Math.round(latencyMs)} ms`;
  return [
    url === undefined || name.includes(url) ? name : `${name} ${url}`,
    state,
    chainId ?? "",
    ...numbers,
    latency,
    lag === undefined ? "" : `${Math.round(lag.behindClockMs / 1000)} s`,
    version ?? "",
  ];
}
