import type { Command } from "commander";
import { monotonicMs } from "../../runtime/index.js";
import { divergenceError } from "../../sync/divergence.js";
import {
  type Repaired,
  repairSync,
  type TableRange,
  type Verification,
  type Verified,
  verifySync,
} from "../../sync/index.js";
import { addOptions, flag, type OptionValues } from "../declarations.js";
import { grouped } from "../formatting.js";
import { type CommandContext, errorText, json, printable, Reported } from "../output.js";
import { createDisplay } from "../progress.js";
import { openClients, rangeOf, rangeOptions, syncClientOptions } from "../sync/sync-options.js";
import { readTarget, sinkOf, targetOptions } from "../sync/target.js";

const verifyOptions = {
  deep: flag("fetch each unit again, and compare it value by value"),
  repair: flag("load units that are wrong anew from the node"),
  json: flag("print one JSON object"),
  ...targetOptions,
  ...rangeOptions,
  ...syncClientOptions,
};

type VerifyCommandOptions = OptionValues<typeof verifyOptions>;

/** The maximum number of units that are listed. */
const MAX_NAMED = 20;
/** Milliseconds between two updates of the display. */
const DRAW_MS = 200;

/**
 * Defines the command `sync verify`, which compares the tables with the ledger and with the node.
 *
 * @param sync the command `sync`, to which it is added
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addSyncVerify(sync: Command, context: CommandContext): void {
  const command = sync
    .command("verify")
    .allowExcessArguments(false)
    .description("Count the rows of each unit against the ledger; with --deep, compare them with what the node sends.");
  addOptions(command, verifyOptions).action((options: VerifyCommandOptions) => runVerify(options, context));
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
    if (found.divergence !== undefined) {
      err.write(errorText(divergenceError(sink.name, found.divergence)));
    }
  }
  const isRepaired = repaired !== undefined && repaired.failed.length === 0 && BigInt(repaired.units) === found.unsound;
  if ((found.unsound > 0n && !isRepaired) || found.divergence !== undefined) {
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
