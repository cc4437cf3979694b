import { RequestError, SinkError, TradewireError } from "../../base/errors/index.js";
import { describeLag } from "../../data/history/data-node-lag.js";
import { divergenceError } from "../../sync/divergence.js";
import { type QueueStatus, queueStatus, type SyncStatus, syncStatus, type Unit } from "../../sync/index.js";
import { reportsTo } from "../client.js";
import { type ClientOptions, clientOptions } from "../client-options.js";
import { defineCommand, type OptionValues } from "../declarations.js";
import { grouped, size, wrapped } from "../formatting.js";
import { type CommandContext, errorText, printable, Reported } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { GAPS_HEADING, openClients, rangeOf, rangeOptions, rangesText } from "../sync/sync-options.js";
import { postgresOf, readTarget, type SyncTarget, sinkOf, targetExists, targetOptions } from "../sync/target.js";
import { createTables, type Tables } from "../table.js";

const statusOptions = {
  ...outputOptions,
  ...targetOptions,
  ...rangeOptions,
  ...clientOptions,
};

type StatusCommandOptions = OptionValues<typeof statusOptions> & ClientOptions;

/** The status, and the reason why it could not be compared with a node. */
interface StatusReport {
  readonly status: SyncStatus;
  readonly nodeError?: TradewireError;
}

/** Defines the command `sync status`, which shows which segments are loaded and which are missing. */
export const addSyncStatus = defineCommand(statusOptions, async (options, context) => {
  const { out, output, err } = context;
  output.role = "answer";
  const format = outputFormat(options, context);
  const target = readTarget(options, context);
  const exists = await targetExists(target);
  const found = { ...(await readStatus(options, context)), exists };
  const { status, nodeError } = found;
  const { name } = sinkOf(target);
  const queue = await findQueue(target);
  const report = {
    table() {
      const tables = createTables(context);
      out.write(statusText(found, name, tables));
      out.write(queue === undefined ? "" : `\n${queueText(queue, tables.format)}`);
      tables.printOmissions();
      if (nodeError !== undefined) {
        err.write(`Not compared with a node: ${printable(nodeError.summary)}\n`);
      }
    },
    object: () => ({ ...status, ...(nodeError && { node: { error: nodeError } }), ...(queue && { queue }) }),
    records: () => status.tables,
  };
  await printReport(report, format, context);
  const { divergence, gaps } = status;
  if (divergence !== undefined && format !== "json") {
    err.write(errorText(divergenceError(name, divergence)));
  }
  if (divergence !== undefined || (gaps.length > 0 && nodeError === undefined)) {
    throw new Reported();
  }
});

/** Compares the sink with the node; if the node is unreachable, reports the sink alone. */
async function readStatus(options: StatusCommandOptions, context: CommandContext): Promise<StatusReport> {
  const { signal } = context;
  const target = readTarget(options, context);
  const query = { ...rangeOf(options), signal };
  // The report says that the node is unreachable; --verbose also shows the attempts.
  await using nodes = openClients(
    options,
    options.verbose === true ? context : reportsTo({ write: () => true }, context),
  );
  try {
    return { status: await syncStatus(sinkOf(target), { ...query, clients: nodes.clients }) };
  } catch (reason) {
    const ofNode = reason instanceof TradewireError && !(reason instanceof SinkError || reason instanceof RequestError);
    if (signal.aborted || !ofNode) {
      throw reason;
    }
    return { status: await syncStatus(sinkOf(target), query), nodeError: reason };
  }
}

/** Reads the status of the queue, if there is one. Without the package pg-boss, there is none to read. */
async function findQueue(target: SyncTarget): Promise<QueueStatus | undefined> {
  if (target.kind !== "postgres") {
    return undefined;
  }
  try {
    return await queueStatus(postgresOf(target, "a queue"));
  } catch (reason) {
    if (reason instanceof RequestError) {
      return undefined;
    }
    throw reason;
  }
}

function statusText(
  { status, nodeError, exists }: StatusReport & { readonly exists: boolean },
  name: string,
  { format, width }: Tables,
): string {
  const { chainId, blocks, segments, lags = [], tables, gaps } = status;
  const compared = nodeError === undefined;
  const rows = tables.map(({ table, units, rows: count, bytes, fromBlock = "", toBlock = "", missing }) =>
    [table, units, count, size(Number(bytes)), fromBlock, toBlock, ...(compared ? [missing] : [])].map(String),
  );
  const history =
    chainId === undefined
      ? `${printable(name)} ${exists ? "is empty" : "does not exist yet: nothing was loaded"}.`
      : `${printable(name)} has the history of chain ${printable(chainId)}.`;
  const node =
    blocks === undefined
      ? ""
      : ` The node has ${grouped(segments ?? 0)} segments, blocks ${blocks.fromBlock} to ${blocks.toBlock}.`;
  const lagging = lags.map(({ node: of, lag }) => printable(` The data node of ${of} ${describeLag(lag)}.`));
  const missing = tables.reduce((sum, each) => sum + each.missing, 0n);
  const rest = !compared
    ? ""
    : missing > 0n
      ? `${grouped(missing)} segments of tables are missing; \`tradewire sync\` loads them.`
      : gaps.length === 0
        ? "Nothing is missing."
        : "";
  const lost = rangesText(compared ? GAPS_HEADING : "Missing blocks between units", gaps);
  const header = ["table", "units", "rows", "bytes", "fromBlock", "toBlock", ...(compared ? ["missing"] : [])];
  const ranked = ["table", "missing", "units", "rows", "toBlock", "fromBlock"];
  const sentences = wrapped(`${history}${node}${lagging.join("")}`, width).join("\n");
  return `${sentences}\n\n${format(header, rows, { ranked })}${rest === "" ? "" : `\n${wrapped(rest, width).join("\n")}\n`}${lost === "" ? "" : `\n${lost}`}`;
}

/** The maximum number of workers, and of failed units, that are shown. */
const MAX_SHOWN = 20;

function queueText(status: QueueStatus, format: Tables["format"]): string {
  const { leader, waiting, backoff, underWay, deadLetters, workers, nodes } = status;
  const counts = `${grouped(waiting)} units waiting, ${grouped(backoff)} waiting for a retry, ${grouped(underWay.length)} in flight, ${grouped(deadLetters.length)} failed.`;
  const planner = leader === undefined ? "No planner is running." : `Leader: ${printable(leader)}.`;
  const claimed = new Map(underWay.map(({ worker, unit }) => [worker, unitText(unit)]));
  const rows = workers.slice(0, MAX_SHOWN).map(({ id, host, pid, heartbeatAt, silent }) => {
    return [`${printable(host)} ${pid}`, silent ? `silent since ${heartbeatAt}` : "alive", claimed.get(id) ?? ""];
  });
  const coolingDown = nodes.filter(({ restUntil }) => restUntil !== undefined);
  return [
    `Queue: ${counts} ${planner}\n`,
    workers.length === 0
      ? "No worker is running.\n"
      : `\n${format(["worker", "state", "unit"], rows)}${more(workers.length)}`,
    ...coolingDown.map(({ node, restUntil, error }) => {
      return `${printable(node)} is in cooldown until ${restUntil}: ${printable(error ?? "")}\n`;
    }),
    deadLetters.length === 0
      ? ""
      : "\nFailed units, which `tradewire sync --queue --retry-failed` returns to the queue:\n",
    ...deadLetters.slice(0, MAX_SHOWN).map(({ unit, tries, error, at }) => {
      return `  ${unitText(unit)}, ${tries} attempts, the last at ${at}: ${printable(error)}\n`;
    }),
    deadLetters.length === 0 ? "" : more(deadLetters.length),
  ].join("");
}

function more(count: number): string {
  return count > MAX_SHOWN ? `and ${grouped(count - MAX_SHOWN)} more\n` : "";
}

function unitText({ table: name, fromBlock, toBlock }: Unit): string {
  return `${name} of blocks ${fromBlock} to ${toBlock}`;
}
