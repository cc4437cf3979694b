import { type Command, Option } from "commander";
import { RequestError } from "../../errors/index.js";
import type { LedgerExport } from "../../ledger/ledger-export.js";
import { monotonicMs } from "../../runtime/index.js";
import { commandClient } from "../client.js";
import { type ClientOptions, clientOptions } from "../client-options.js";
import { STANDARD } from "../input.js";
import { outTarget } from "../out-target.js";
import { type CommandContext, json, size } from "../output.js";
import {
  checkPrintRowsOptions,
  type PrintRowsOptions,
  printRows,
  printRowsOptions,
  type RowsFile,
} from "../print-rows.js";
import { createProgress, type ProgressLine } from "../progress.js";
import { type RowFormatName, rowFormats } from "../row-format.js";
import { parseTime } from "../time.js";

interface LedgerCommandOptions extends ClientOptions, PrintRowsOptions {
  readonly party: string;
  readonly asset?: string;
  readonly from?: bigint;
  readonly to?: bigint;
  readonly out?: string;
  readonly format?: RowFormatName;
  readonly force?: boolean;
  readonly json?: boolean;
}

/**
 * Add the command `ledger`, which exports the entries of a party's ledger.
 *
 * @param command the command `ledger`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addLedger(command: Command, context: CommandContext): void {
  command
    .requiredOption("--party <id>", "the party: its public key")
    .option("--asset <id>", "only entries of this asset")
    .addOption(
      new Option(
        "--from <time>",
        "only from this time on: ISO 8601 or Unix nanoseconds; deployed nodes take seconds",
      ).argParser(parseTime),
    )
    .addOption(new Option("--to <time>", "only before this time").argParser(parseTime))
    .option("--out <path>", "folder to save to (the default: this one), path of the file, or - for standard output")
    .addOption(new Option("--format <name>", "print the rows as they arrive, with no file").choices(rowFormats))
    .option("--force", "replace a file that exists")
    .option("--json", "print the result as a JSON object");
  for (const option of [...printRowsOptions(), ...clientOptions()]) {
    command.addOption(option);
  }
  command.action((options: LedgerCommandOptions) => runLedger(options, context));
}

async function runLedger(options: LedgerCommandOptions, context: CommandContext): Promise<void> {
  const { party, asset, from, to, maxRowBytes } = options;
  const { format = options.out === STANDARD ? "csv" : undefined } = options;
  checkTarget(options, format);
  await using client = commandClient(options, context);
  const toTerminal = context.out.isTTY === true && format !== undefined;
  const progress = createProgress(context);
  const dateRange = { startTimestamp: from, endTimestamp: to };
  const ledger = client.exportLedgerEntries(
    { partyId: party, assetId: asset, dateRange },
    { signal: context.signal, maxRowBytes, onProgress: toTerminal ? progress.end : progress.update },
  );
  const run =
    format === undefined ? save(ledger, options, context, progress) : print(ledger, { ...options, format }, context);
  await run.finally(progress.end);
}

/** Check that the options of the output fit together. */
function checkTarget({ out, force, json: asJson, ...rows }: LedgerCommandOptions, format: RowFormatName | undefined) {
  if (format === undefined) {
    const given = (["columns", "limit", "all", "null"] as const).find((name) => rows[name] !== undefined);
    if (given !== undefined) {
      throw new RequestError(`--${given} is about rows that are printed, but a file is asked for`, {
        advice: `Choose how to print them with --format: ${rowFormats.join(", ")}.`,
      });
    }
    return;
  }
  checkPrintRowsOptions(rows, format);
  if (force === true || asJson === true || (out !== undefined && out !== STANDARD)) {
    throw new RequestError("--out, --force and --json are for a file, but rows are printed", {
      advice: "Leave them out, or leave --format out: a file holds CSV as the node sends it.",
    });
  }
}

async function save(
  ledger: LedgerExport,
  { out = ".", force = false, json: asJson = false }: LedgerCommandOptions,
  { out: standardOutput, notes }: CommandContext,
  progress: ProgressLine,
): Promise<void> {
  const start = monotonicMs();
  const saved = await ledger.saveTo(await outTarget(out, ".csv"), { force });
  progress.end();
  if (asJson) {
    standardOutput.write(json(saved));
    return;
  }
  const seconds = (monotonicMs() - start) / 1000;
  standardOutput.write(`${saved.path}\n`);
  notes.write(`${size(saved.bytes)} in ${seconds.toFixed(1)} s, SHA-256 ${saved.sha256}, ${saved.rows} rows\n`);
}

async function print(
  ledger: LedgerExport,
  options: LedgerCommandOptions & { readonly format: RowFormatName },
  context: CommandContext,
): Promise<void> {
  await printRows(fileOf(ledger), options, context);
}

/** The export as the one file that it is, with the columns of its first batch. */
async function* fileOf(ledger: LedgerExport): AsyncGenerator<RowsFile> {
  const batches = ledger.batches()[Symbol.asyncIterator]();
  const first = await batches.next();
  if (first.done === true) {
    return; // Without a header the export has thrown.
  }
  try {
    yield {
      name: "the ledger",
      columns: first.value.columns,
      async *batches() {
        yield first.value;
        for (let next = await batches.next(); next.done !== true; next = await batches.next()) {
          yield next.value;
        }
      },
    };
  } finally {
    await batches.return?.();
  }
}
