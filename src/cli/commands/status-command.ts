import { RequestError } from "../../base/errors/index.js";
import { unixMs } from "../../base/runtime/index.js";
import { wait } from "../../base/signal/wait.js";
import type { NodeStatus } from "../../index.js";
import { commandClient, reportsTo } from "../client.js";
import { clientOptions, loadClientConfig } from "../client-options.js";
import { originsOf } from "../config-origins.js";
import { defineCommand } from "../declarations.js";
import { clock } from "../formatting.js";
import { type CommandContext, printable, Reported } from "../output.js";
import { type OutputFormat, outputFormat, outputOptions, printReport } from "../output-format.js";
import { type Display, sizeOf } from "../progress.js";
import { createWatchOutput, watchOptions } from "../records/watch-records.js";
import { intervalOption } from "../shared-options.js";
import { fitTable, printTable } from "../table.js";

const statusOptions = {
  ...outputOptions,
  ...watchOptions,
  interval: intervalOption,
  ...clientOptions,
};

/** The default time between two rounds of calls, in milliseconds. */
const INTERVAL_MS = 2000;

/** Defines the command `status`, which shows how each node of the configuration answers, and whether it is used. */
export const addStatus = defineCommand(statusOptions, async (options, context) => {
  const { output, signal } = context;
  const loaded = loadClientConfig(options, context);
  const watch = createWatchOutput(options, context);
  if (watch === undefined && options.interval !== undefined) {
    throw new RequestError("--interval needs --watch or --follow", { advice: "Add one of them." });
  }
  output.role = watch === undefined ? "answer" : "rows";
  const reports = reportsTo(watch?.notes ?? context.notes, context);
  await using client = commandClient(options, reports, { config: loaded.config });
  const format = outputFormat(options, context);
  let nodes = await client.status({ signal });
  while (watch !== undefined) {
    await (watch.kind === "table" ? drawNodes(nodes, watch.display, context) : printNodes(nodes, "jsonl", context));
    await wait(options.interval ?? INTERVAL_MS, signal);
    nodes = await client.status({ signal });
  }
  signal.throwIfAborted(); // A node whose call was interrupted counts as unreachable.
  await printNodes(nodes, format, context);
  if (!nodes.some(({ state }) => state === "usable" || state === "unchecked")) {
    if (format === "table" && nodes.every(({ state }) => state === "unreachable")) {
      context.notes.write(`${printable(originsOf(loaded, context.environment))}\n`);
    }
    throw new Reported();
  }
});

async function printNodes(nodes: readonly NodeStatus[], format: OutputFormat, context: CommandContext): Promise<void> {
  const records = nodes.map(({ error, ...node }) => ({ ...node, ...(error && { error: error.summary }) }));
  const report = {
    table: () => printNodeTable(nodes, context),
    object: () => ({ nodes: records }),
    records: () => records,
  };
  await printReport(report, format, context);
}

const HEADER = ["node", "state", "chainId", "height", "behindBlocks", "latencyMs", "lag.behindClockMs", "version"];

function printNodeTable(nodes: readonly NodeStatus[], context: CommandContext): void {
  printTable(HEADER, nodes.map(cellsOf), context);
  for (const reason of reasonsOf(nodes)) {
    context.notes.write(`${reason}\n`);
  }
}

/** Redraws the table in place. */
function drawNodes(nodes: readonly NodeStatus[], display: Display, { out }: CommandContext): void {
  const { text } = fitTable(HEADER, nodes.map(cellsOf), { width: sizeOf(out).columns - 1 });
  const state = `${clock(new Date(unixMs()).toISOString())}  Ctrl-C ends`;
  display.draw([...text.trimEnd().split("\n"), ...reasonsOf(nodes), state]);
}

/** Returns a line for each node that is not used, with the reason. */
function reasonsOf(nodes: readonly NodeStatus[]): string[] {
  return nodes.flatMap(({ name, refusal, error }) => {
    const reason = refusal ?? error?.summary;
    return reason === undefined ? [] : [`${printable(name)}: ${printable(reason)}`];
  });
}

function cellsOf({ name, url, state, chainId, height, behindBlocks, latencyMs, lag, version }: NodeStatus): string[] {
  const times = [latencyMs, lag?.behindClockMs].map((ms) => ms && Math.round(ms));
  const numbers = [height, behindBlocks, ...times].map((value) => (value === undefined ? "" : String(value)));
  return [
    url === undefined || name.includes(url) ? name : `${name} ${url}`,
    state,
    chainId ?? "",
    ...numbers,
    version ?? "",
  ].map(printable);
}
