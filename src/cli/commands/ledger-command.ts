import type { Command } from "commander";
import { RequestError } from "../../errors/index.js";
import type { LedgerExport } from "../../index.js";
import { monotonicMs } from "../../runtime/index.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { parseOutPath, STANDARD } from "../command-files.js";
import { addOptions, choice, flag, flagOf, type OptionValues, parsed, required, text } from "../declarations.js";
import { size } from "../formatting.js";
import { type CommandContext, json } from "../output.js";
import { parseTime } from "../parsers.js";
import { checkPrintRowsOptions, printRows, printRowsOptions, type RowsFile } from "../print-rows.js";
import { createProgress, type ProgressLine } from "../progress.js";
import { type RowFormatName, rowFormats } from "../row-format.js";

const ledgerOptions = {
  party: required(text("<id>", "the party: its public key")),
  asset: text("<id>", "only entries of this asset"),
  from: parsed(
    "<time>",
    "only from this time on: ISO 8601 or Unix nanoseconds; deployed nodes take seconds",
    parseTime,
  ),
  to: parsed("<time>", "only before this time", parseTime),
  out: text("<path>", "folder to save to (the default: this one), path of the file, or - for standard output"),
  format: choice("<name>", "print the rows as they arrive, with no file", rowFormats),
  force: flag("replace a file that exists"),
  json: flag("print the result as a JSON object"),
  ...printRowsOptions,
  ...clientOptions,
};

type LedgerCommandOptions = OptionValues<typeof ledgerOptions>;

/**
 * Defines the command `ledger`, which exports the entries of a party's ledger.
 *
 * @param command the command `ledger`, which gets its options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addLedger(command: Command, context: CommandContext): void {
  addOptions(command, ledgerOptions).action((options: LedgerCommandOptions) => runLedger(options, context));
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

/** Checks that the options of the output fit together. */
function checkTarget({ out, force, json: asJson, ...rows }: LedgerCommandOptions, format: RowFormatName | undefined) {
  if (format === undefined) {
    const rowOption = (["columns", "limit", "all", "null"] as const).find((name) => rows[name] !== undefined);
    if (rowOption !== undefined) {
      throw new RequestError(`${flagOf(rowOption)} is about rows that are printed, but a file is asked for`, {
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
  const saved = await ledger.saveTo(await parseOutPath(out, ".csv"), { force });
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

/** Yields the export as a single file, with the columns of its first batch. */
async function* fileOf(ledger: LedgerExport): AsyncGenerator<RowsFile> {
  const batches = ledger.batches()[Symbol.asyncIterator]();
  const first = await batches.next();
  if (first.done === true) {
    return; // An export without a header throws before.
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
