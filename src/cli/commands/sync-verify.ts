import type { Command } from "commander";
import { monotonicMs } from "../../runtime/index.js";
import type { Verified } from "../../sync/options.js";
import { partingError } from "../../sync/parting.js";
import { type Repaired, repairSync } from "../../sync/repair.js";
import { type TableRange, type Verification, verifySync } from "../../sync/verify.js";
import { type CommandContext, errorText, json, printable, Reported } from "../output.js";
import { openClients, type SyncClientOptions, syncClientOptions } from "../sync/clients.js";
import { createDisplay } from "../sync/display.js";
import { grouped } from "../sync/figures.js";
import { type RangeOptions, rangeOf, rangeOptions } from "../sync/options.js";
import { readTarget, sinkOf, type TargetOptions, targetOptions } from "../sync/target.js";

interface VerifyCommandOptions extends TargetOptions, RangeOptions, SyncClientOptions {
  readonly deep?: boolean;
  readonly repair?: boolean;
  readonly json?: boolean;
}

/** The most units that are named as unsound. */
const MAX_NAMED = 20;
/** Milliseconds between two updates of the display. */
const DRAW_MS = 200;

/**
 * Add the command `sync verify`, which compares what stands in the tables with the ledger and with the node.
 *
 * @param sync the command `sync`, to which it is added
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addSyncVerify(sync: Command, context: CommandContext): void {
  const command = sync
    .command("verify")
    .allowExcessArguments(false)
    .description("Count the rows of each unit against the ledger; with --deep, compare them with what the node sends.")
    .option("--deep", "fetch each unit again, and compare it value by value")
    .option("--repair", "load units that are wrong anew from the node")
    .option("--json", "print one JSON object");
  for (const option of [...targetOptions(), ...rangeOptions(), ...syncClientOptions()]) {
    command.addOption(option);
  }
  command.action((options: VerifyCommandOptions) => runVerify(options, context));
}

async function runVerify(options: VerifyCommandOptions, context: CommandContext): Promise<void> {
  const { out, err, notes, signal } = context;
  const target = readTarget(options, context);
  const sink = sinkOf(target);
  const range = rangeOf(options);
  const display = notes.isTTY === true ? createDisplay(notes) : undefined;
  let [units, rows, drawn] = [0n, 0n, 0];
  const onVerified = (verified: Verified) => {
    [units, rows] = [units + 1n, rows + verified.rows];
    if (monotonicMs() - drawn > DRAW_MS) {
      drawn = monotonicMs();
      display?.draw([`${grouped(units)} units, ${grouped(rows)} rows verified`]);
    }
  };
  await using nodes = openClients(options, { notes: display ?? notes, environment: context.environment });
  const clients = options.deep === true ? { clients: nodes.clients } : {};
  const found = await verifySync(sink, {
    ...range,
    ...clients,
    deep: options.deep === true,
    signal,
    onVerified,
  }).finally(() => display?.end());
  const repaired =
    options.repair === true && found.listed.length > 0
      ? await repairSync(nodes.clients, {
          sink: sinkOf(target),
          units: found.listed.map(({ entry }) => entry),
          signal,
        })
      : undefined;
  if (options.json === true) {
    const { listed, ...counts } = found;
    const failed = repaired?.failed.map(({ unit, error }) => ({ unit, error }));
    out.write(json({ ...counts, listed, ...(repaired && { repaired: { ...repaired, failed } }) }));
  } else {
    out.write(foundText(found, sink.name, options.deep === true));
    out.write(repaired === undefined ? "" : repairedText(repaired));
    if (found.parting !== undefined) {
      err.write(errorText(partingError(sink.name, found.parting)));
    }
  }
  const isRepaired = repaired !== undefined && repaired.failed.length === 0 && BigInt(repaired.units) === found.unsound;
  if ((found.unsound > 0n && !isRepaired) || found.parting !== undefined) {
    throw new Reported();
  }
}

function foundText(
  { chainId, units, rows, compared, uncompared = [], unsound, listed, gaps, missing }: Verification,
  name: string,
  deep: boolean,
): string {
  if (chainId === undefined) {
    return `${printable(name)} holds nothing yet.\n`;
  }
  const did = deep ? `; ${grouped(compared)} were fetched again and compared value by value` : "";
  const lines = listed.slice(0, MAX_NAMED).map((verified) => `  ${unsoundText(verified)}\n`);
  const further = unsound > MAX_NAMED ? `  and ${grouped(unsound - BigInt(MAX_NAMED))} more\n` : "";
  const verdict =
    unsound === 0n
      ? deep
        ? "All are sound.\n"
        : "Row counts match; values are compared with --deep.\n"
      : `${grouped(unsound)} ${unsound === 1n ? "is" : "are"} not as the ledger says:\n${lines.join("")}${further}--repair loads them anew.\n`;
  const lacking =
    missing === undefined || missing === 0n ? "" : `${grouped(missing)} segments of tables are missing.\n`;
  const missingUnits = rangesText("Units are missing between others; `tradewire sync` fetches them", gaps);
  const counted = rangesText("Counted and not compared, as no node has them", uncompared);
  return `${grouped(units)} units with ${grouped(rows)} rows in ${printable(name)}${did}. ${verdict}${counted}${missingUnits}${lacking}`;
}

function rangesText(what: string, ranges: readonly TableRange[]): string {
  const lines = ranges
    .slice(0, MAX_NAMED)
    .map(({ table, fromBlock, toBlock }) => `  ${table} of blocks ${fromBlock} to ${toBlock}\n`);
  const more = ranges.length > MAX_NAMED ? `  and ${ranges.length - MAX_NAMED} more\n` : "";
  return ranges.length === 0 ? "" : `${what}:\n${lines.join("")}${more}`;
}

function repairedText({ units, rows, failed }: Repaired): string {
  const lines = failed.slice(0, MAX_NAMED).map(({ unit: { table, fromBlock, toBlock }, error }) => {
    return `  ${table} of blocks ${fromBlock} to ${toBlock}: ${printable(error.summary)}\n`;
  });
  const left = failed.length === 0 ? "" : `${grouped(failed.length)} could not be:\n${lines.join("")}`;
  return `${grouped(units)} units with ${grouped(rows)} rows were loaded anew.\n${left}`;
}

function unsoundText({ entry, rows, deep, error }: Verified): string {
  const found = [
    ...(error === undefined ? [] : [printable(error.summary)]),
    ...(rows === entry.rows || error !== undefined ? [] : [`${rows} rows, and the ledger says ${entry.rows}`]),
    ...(deep === undefined || deep.missing === 0n ? [] : [`${deep.missing} rows of the node's are missing`]),
    ...(deep === undefined || deep.extra === 0n ? [] : [`${deep.extra} rows are not the node's`]),
    ...(deep === undefined || deep.sameCsv ? [] : ["the node sends another file than was loaded"]),
  ];
  const what = found.length === 0 ? "not of the node's history" : found.join("; ");
  return `${entry.table} of blocks ${entry.fromBlock} to ${entry.toBlock}: ${what}`;
}
