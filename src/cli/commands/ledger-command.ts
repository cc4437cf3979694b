import { RequestError } from "../../base/errors/index.js";
import { monotonicMs } from "../../base/runtime/index.js";
import type { LedgerExport } from "../../index.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { parseOutPath, STANDARD } from "../command-files.js";
import { choice, defineCommand, flag, flagOf, type OptionValues, parsed, required, text } from "../declarations.js";
import { size } from "../formatting.js";
import { type CommandContext, json } from "../output.js";
import { OUTPUT, type OutputFormat, outputFormats } from "../output-format.js";
import { parseTime } from "../parsers.js";
import { checkPrintRowsOptions, printRows, printRowsOptions, type RowsFile } from "../print-rows.js";
import { createProgress, type ProgressLine } from "../progress.js";

const ledgerOptions = {
  party: required(text("<id>", "public key of the party")),
  asset: text("<id>", "only entries of this asset"),
  from: parsed(
    "<time>",
    "start of the date range: ISO 8601 or Unix nanoseconds; deployed nodes drop fractions of seconds",
    parseTime,
  ),
  to: parsed("<time>", "end of the date range (exclusive)", parseTime),
  out: text("<path>", "folder to save to, path of the file, or - for standard output (default: the current folder)"),
  output: choice("<format>", "print the rows as they arrive instead of saving a file", outputFormats, OUTPUT),
  force: flag("overwrite an existing file"),
  json: flag("describe the saved file as a JSON object"),
  ...printRowsOptions,
  ...clientOptions,
};

type LedgerCommandOptions = OptionValues<typeof ledgerOptions>;

/** Defines the command `ledger`, which exports the entries of a party's ledger. */
export const addLedger = defineCommand(ledgerOptions, runLedger);

async function runLedger(options: LedgerCommandOptions, context: CommandContext): Promise<void> {
  const { party, asset, from, to, maxRowBytes } = options;
  const format = options.output ?? (options.out === STANDARD ? "csv" : undefined);
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

function checkTarget({ out, force, json: asJson, ...rows }: LedgerCommandOptions, format: OutputFormat | undefined) {
  if (format === undefined) {
    const rowOption = (["columns", "limit", "all", "null"] as const).find((name) => rows[name] !== undefined);
    if (rowOption !== undefined) {
      throw new RequestError(`${flagOf(rowOption)} applies to printed rows, but the output is a file`, {
        advice: `Choose a format of rows with --output: ${outputFormats.join(", ")}.`,
      });
    }
    return;
  }
  checkPrintRowsOptions(rows, format);
  if (force === true || asJson === true || (out !== undefined && out !== STANDARD)) {
    throw new RequestError("--out, --force and --json apply only to a file, but rows are printed", {
      advice: "Remove them, or remove --output to save the CSV that the node sends.",
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
  options: LedgerCommandOptions & { readonly format: OutputFormat },
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
