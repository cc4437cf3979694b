import { monotonicMs } from "../../base/runtime/index.js";
import { divergenceError } from "../../sync/divergence.js";
import { type Repaired, repairSync, type Verification, type Verified, verifySync } from "../../sync/index.js";
import { reportsTo } from "../client.js";
import { clientOptions } from "../client-options.js";
import { defineCommand, flag, type OptionValues } from "../declarations.js";
import { grouped } from "../formatting.js";
import { type CommandContext, errorText, printable, Reported } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { createDisplay } from "../progress.js";
import { GAPS_HEADING, openClients, rangeOf, rangeOptions, rangesText } from "../sync/sync-options.js";
import { readTarget, sinkOf, targetOptions } from "../sync/target.js";

const verifyOptions = {
  deep: flag("fetch each unit again, and compare every value"),
  repair: flag("reload units that do not match"),
  ...outputOptions,
  ...targetOptions,
  ...rangeOptions,
  ...clientOptions,
};

type VerifyCommandOptions = OptionValues<typeof verifyOptions>;

/** The maximum number of units that are listed. */
const MAX_NAMED = 20;
/** Milliseconds between two updates of the display. */
const DRAW_MS = 200;

/** Defines the command `sync verify`, which compares the tables with the ledger and with the node. */
export const addSyncVerify = defineCommand(verifyOptions, runVerify);

async function runVerify(options: VerifyCommandOptions, context: CommandContext): Promise<void> {
  const { out, output, err, notes, signal } = context;
  output.role = "answer";
  const target = readTarget(options, context);
  const sink = sinkOf(target);
  const range = rangeOf(options);
  const display = notes.isTTY === true ? createDisplay(notes) : undefined;
  let [units, rows, drawn] = [0, 0n, 0];
  const onVerified = (verified: Verified) => {
    [units, rows] = [units + 1, rows + verified.rows];
    if (monotonicMs() - drawn > DRAW_MS) {
      drawn = monotonicMs();
      display?.draw([`${grouped(units)} ${units === 1 ? "unit" : "units"}, ${grouped(rows)} rows verified`]);
    }
  };
  await using nodes = openClients(options, reportsTo(display ?? notes, context));
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
  const report = {
    table() {
      out.write(foundText(found, sink.name, options.deep === true));
      out.write(repaired === undefined ? "" : repairedText(repaired));
      if (found.divergence !== undefined) {
        err.write(errorText(divergenceError(sink.name, found.divergence)));
      }
    },
    object() {
      const failed = repaired?.failed.map(({ unit, error }) => ({ unit, error }));
      return { ...found, ...(repaired && { repaired: { ...repaired, failed } }) };
    },
  };
  await printReport(report, outputFormat(options, context), context);
  const isRepaired = repaired !== undefined && repaired.failed.length === 0 && repaired.units === found.unsound;
  const isIncomplete = found.gaps.length > 0 || (found.missing ?? 0n) > 0n;
  if (
    found.chainId === undefined ||
    (found.unsound > 0 && !isRepaired) ||
    found.divergence !== undefined ||
    isIncomplete
  ) {
    throw new Reported();
  }
}

function foundText(
  { chainId, units, rows, compared, uncompared = [], unsound, listed, gaps, missing }: Verification,
  name: string,
  deep: boolean,
): string {
  if (chainId === undefined) {
    return `${printable(name)} does not exist or is empty, so there is nothing to verify.\nCheck --to, or run \`tradewire sync\` first.\n`;
  }
  const did = deep ? `; ${grouped(compared)} were fetched again and compared by value` : "";
  const lines = listed.slice(0, MAX_NAMED).map((verified) => `  ${unsoundText(verified)}\n`);
  const further = unsound > MAX_NAMED ? `  and ${grouped(unsound - MAX_NAMED)} more\n` : "";
  const verdict =
    unsound === 0
      ? deep
        ? "All units match.\n"
        : "Row counts match. To compare values, use --deep.\n"
      : `${grouped(unsound)} ${unsound === 1 ? "does" : "do"} not match:\n${lines.join("")}${further}To reload them, use --repair.\n`;
  const lacking =
    missing === undefined || missing === 0n
      ? ""
      : `${grouped(missing)} segments of tables are missing; \`tradewire sync\` loads them.\n`;
  const gapsHeading = deep
    ? GAPS_HEADING
    : "Missing blocks between units; `tradewire sync` loads those that a node has";
  const missingUnits = rangesText(gapsHeading, gaps);
  const counted = rangesText("Counted but not compared, because no node has them", uncompared);
  return `${grouped(units)} units with ${grouped(rows)} rows in ${printable(name)}${did}. ${verdict}${counted}${missingUnits}${lacking}`;
}

function repairedText({ units, rows, failed }: Repaired): string {
  const lines = failed.slice(0, MAX_NAMED).map(({ unit: { table, fromBlock, toBlock }, error }) => {
    return `  ${table} of blocks ${fromBlock} to ${toBlock}: ${printable(error.summary)}\n`;
  });
  const left = failed.length === 0 ? "" : `${grouped(failed.length)} could not be reloaded:\n${lines.join("")}`;
  return `${grouped(units)} units with ${grouped(rows)} rows were reloaded.\n${left}`;
}

function unsoundText({ entry, rows, deep, error }: Verified): string {
  const found = [
    ...(error === undefined ? [] : [printable(error.summary)]),
    ...(rows === entry.rows || error !== undefined ? [] : [`${rows} rows, but the ledger has ${entry.rows}`]),
    ...(deep === undefined || deep.missing === 0n ? [] : [`${deep.missing} rows of the node are missing`]),
    ...(deep === undefined || deep.extra === 0n ? [] : [`${deep.extra} rows are not on the node`]),
    ...(deep === undefined || deep.sameCsv ? [] : ["the node sends a different file than the loaded one"]),
  ];
  const what = found.length === 0 ? "not in the node's history" : found.join("; ");
  return `${entry.table} of blocks ${entry.fromBlock} to ${entry.toBlock}: ${what}`;
}
