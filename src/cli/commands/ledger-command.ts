import { RequestError } from "../../base/errors/index.js";
import { monotonicMs } from "../../base/runtime/index.js";
import type { LedgerExport } from "../../index.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { parseSavePath, STANDARD } from "../command-files.js";
import { choice, defineCommand, flagOf, type OptionValues, required, single } from "../declarations.js";
import { size } from "../formatting.js";
import type { CommandContext } from "../output.js";
import { jsonFlag, OUTPUT, type OutputFormat, outputFormat, outputFormats, printReport } from "../output-format.js";
import { checkPrintRowsOptions, printRows, printRowsOptions, type RowsFile } from "../print-rows.js";
import { createProgress, type ProgressLine } from "../progress.js";
import { createNames } from "../records/record-names.js";
import { forceOption, partyOption, timeOptions, toOption } from "../shared-options.js";

const ledgerOptions = {
  party: required(partyOption),
  asset: single("<asset>", "only this asset: its symbol, its ID, or the start of its ID", (asset) => asset, {
    isFilter: true,
  }),
  ...timeOptions,
  to: toOption("a folder, a file, or - for standard output (default: the current folder)"),
  output: choice(
    "<format>",
    "format of the output; without it, the CSV is saved as the node sends it",
    outputFormats,
    OUTPUT,
  ),
  force: forceOption,
  json: jsonFlag,
  ...printRowsOptions,
  ...clientOptions,
};

type LedgerCommandOptions = OptionValues<typeof ledgerOptions>;

/** Defines the command `ledger`, which exports the entries of a party's ledger. */
export const addLedger = defineCommand(ledgerOptions, runLedger);

async function runLedger(options: LedgerCommandOptions, context: CommandContext): Promise<void> {
  const { party, asset, since, until, maxRowBytes } = options;
  const format = options.output ?? (options.to === STANDARD ? "csv" : undefined);
  checkTarget(options, format);
  await using client = commandClient(options, context);
  const toTerminal = context.out.isTTY === true && format !== undefined;
  const progress = createProgress(context);
  const names = createNames(client, {}, context);
  const partyId = await names.party(party);
  const assetId = asset === undefined ? undefined : await names.asset(asset);
  const dateRange = { startTimestamp: since, endTimestamp: until };
  const ledger = client.exportLedgerEntries(
    { partyId, assetId, dateRange },
    { signal: context.signal, maxRowBytes, onProgress: toTerminal ? progress.end : progress.update },
  );
  const run =
    format === undefined ? save(ledger, options, context, progress) : print(ledger, { ...options, format }, context);
  await run.finally(progress.end);
}

function checkTarget({ to, force, json: asJson, ...rows }: LedgerCommandOptions, format: OutputFormat | undefined) {
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
  if (force === true || (asJson === true && format !== "json") || (to !== undefined && to !== STANDARD)) {
    throw new RequestError("--to, --force and --json apply only to a file, but rows are printed", {
      advice: "Remove them, or remove --output to save the CSV that the node sends.",
    });
  }
}

async function save(
  ledger: LedgerExport,
  { to = ".", force = false, json: asJson }: LedgerCommandOptions,
  context: CommandContext,
  progress: ProgressLine,
): Promise<void> {
  const start = monotonicMs();
  const saved = await ledger.saveTo(await parseSavePath(to, ".csv"), { force });
  progress.end();
  const table = () => {
    const seconds = (monotonicMs() - start) / 1000;
    context.out.write(`${saved.path}\n`);
    context.notes.write(
      `${size(saved.bytes)} in ${seconds.toFixed(1)} s, SHA-256 ${saved.sha256}, ${saved.rows} rows\n`,
    );
  };
  await printReport({ table, object: () => saved }, outputFormat({ json: asJson }, context), context);
}

async function print(
  ledger: LedgerExport,
  options: LedgerCommandOptions & { readonly format: OutputFormat },
  context: CommandContext,
): Promise<void> {
  await printRows({ files: fileOf(ledger) }, options, context);
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
