import type { Command } from "commander";
import { RequestError, SinkError, TradewireError } from "../../errors/index.js";
import { describeLag } from "../../history/data-node-lag.js";
import { partingError } from "../../sync/parting.js";
import { type QueueStatus, queueStatus } from "../../sync/queue/index.js";
import { type SyncStatus, syncStatus } from "../../sync/status.js";
import { type CommandContext, errorText, json, printable, Reported, size } from "../output.js";
import { openClients, type SyncClientOptions, syncClientOptions } from "../sync/clients.js";
import { grouped } from "../sync/figures.js";
import { type RangeOptions, rangeOf, rangeOptions } from "../sync/options.js";
import { queueText } from "../sync/queue-text.js";
import { postgresOf, readTarget, sinkOf, type Target, type TargetOptions, targetOptions } from "../sync/target.js";
import { createTables, type Tables } from "../terminal.js";

interface StatusCommandOptions extends TargetOptions, RangeOptions, SyncClientOptions {
  readonly json?: boolean;
}

/** What was found, and why it could not be compared with a node. */
interface Found {
  readonly status: SyncStatus;
  readonly nodeError?: TradewireError;
}

/**
 * Add the command `sync status`, which tells what is there and what is missing.
 *
 * @param sync the command `sync`, to which it is added
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addSyncStatus(sync: Command, context: CommandContext): void {
  const command = sync
    .command("status")
    .allowExcessArguments(false)
    .description("Tell what is there and, beside the node, what is missing and where the histories part.")
    .option("--json", "print one JSON object");
  for (const option of [...targetOptions(), ...rangeOptions(), ...syncClientOptions()]) {
    command.addOption(option);
  }
  command.action(async (options: StatusCommandOptions) => {
    const { out, err } = context;
    const target = readTarget(options, context);
    const found = await find(options, context);
    const { status, nodeError } = found;
    const { name } = sinkOf(target);
    const queue = await findQueue(target);
    if (options.json === true) {
      out.write(json({ ...status, ...(nodeError && { node: { error: nodeError } }), ...(queue && { queue }) }));
    } else {
      const tables = createTables(context);
      out.write(statusText(found, name, options, tables.format));
      out.write(queue === undefined ? "" : `\n${queueText(queue, tables.format)}`);
      tables.tellLeftOut();
      if (nodeError !== undefined) {
        err.write(`No node to compare with: ${printable(nodeError.summary)}\n`);
      }
    }
    if (status.parting !== undefined) {
      if (options.json !== true) {
        err.write(errorText(partingError(name, status.parting)));
      }
      throw new Reported();
    }
  });
}

/** Asks the sink beside the node and, where the node does not answer, the sink alone. */
async function find(options: StatusCommandOptions, context: CommandContext): Promise<Found> {
  const { signal } = context;
  const target = readTarget(options, context);
  const asked = { ...rangeOf(options), signal };
  // That the node cannot be reached is told in the end; with --verbose, also how it was tried.
  await using nodes = openClients(
    options,
    options.verbose === true ? context : { notes: { write: () => true }, environment: context.environment },
  );
  try {
    return { status: await syncStatus(sinkOf(target), { ...asked, clients: nodes.clients }) };
  } catch (reason) {
    const ofNode = reason instanceof TradewireError && !(reason instanceof SinkError || reason instanceof RequestError);
    if (signal.aborted || !ofNode) {
      throw reason;
    }
    return { status: await syncStatus(sinkOf(target), asked), nodeError: reason };
  }
}

/** Looks for a queue beside the tables. Without the package of queues there is none that anybody here could ask. */
async function findQueue(target: Target): Promise<QueueStatus | undefined> {
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

/** The tables that are listed: those that were asked for; without such, those that hold something, or else all. */
function listedTables({ tables }: SyncStatus, { table }: RangeOptions): SyncStatus["tables"] {
  const filled = tables.filter(({ units }) => units > 0n);
  return table !== undefined || filled.length === 0 ? tables : filled;
}

function statusText({ status, nodeError }: Found, name: string, asked: RangeOptions, format: Tables["format"]): string {
  const { chainId, blocks, segments, lags = [] } = status;
  const compared = nodeError === undefined;
  const tables = listedTables(status, asked);
  const rows = tables.map(({ table, units, rows: count, bytes, fromBlock = "", toBlock = "", missing }) =>
    [table, units, count, size(Number(bytes)), fromBlock, toBlock, ...(compared ? [missing] : [])].map(String),
  );
  const held =
    chainId === undefined
      ? `${printable(name)} holds nothing yet.`
      : `${printable(name)} holds history of the chain ${printable(chainId)}.`;
  const node =
    blocks === undefined
      ? ""
      : ` The node has ${grouped(segments ?? 0)} segments, blocks ${blocks.fromBlock} to ${blocks.toBlock}.`;
  const lagging = lags
    .filter(({ lag }) => lag.state !== "current")
    .map(({ node: of, lag }) => printable(` The data node of ${of} ${describeLag(lag)}.`));
  const missing = tables.reduce((sum, each) => sum + each.missing, 0n);
  const others = status.tables.length - tables.length;
  const rest = [
    ...(compared
      ? [missing === 0n ? "Nothing is missing." : `${grouped(missing)} segments of tables are missing.`]
      : []),
    ...(others === 0 ? [] : [`${others} other tables hold nothing and are not counted; --table names tables to list.`]),
  ].join(" ");
  const header = ["table", "units", "rows", "CSV", "first block", "last block", ...(compared ? [MISSING] : [])];
  const ranked = ["table", MISSING, "units", "rows", "last block", "first block"];
  return `${held}${node}${lagging.join("")}\n\n${format(header, rows, { ranked })}${rest === "" ? "" : `\n${rest}\n`}`;
}

/** The header of the column that is there beside a node. */
const MISSING = "segments missing";
