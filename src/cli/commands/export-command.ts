import { RequestError } from "../../base/errors/index.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { rangeError } from "../../data/history/export-request.js";
import { findRange } from "../../data/history/segments.js";
import { absoluteRange } from "../../data/history/select-blocks.js";
import { readPeriod } from "../../data/listing/listing-filters.js";
import type { BlockRange, Client, ExportOptions, NetworkHistoryExport } from "../../index.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { parseSavePath, printSavedArchive, STANDARD } from "../command-files.js";
import { choice, defineCommand, flag, flagOf, type OptionValues, text, withDefault } from "../declarations.js";
import { type ExportedPart, exactRange, isRefusal, partFiles, selectPart } from "../export-rows.js";
import { type CommandContext, writeOut } from "../output.js";
import { jsonFlag, OUTPUT, outputFormat, outputFormats, printReport } from "../output-format.js";
import { checkPrintRowsOptions, printRows, printRowsOptions } from "../print-rows.js";
import { createProgress, type ProgressLine } from "../progress.js";
import { blocksIn, checkOwners, namedOwners } from "../row-selection.js";
import {
  estimateOption,
  extensionsOption,
  forceOption,
  parallelOption,
  partOptions,
  rowOptions,
  tableOption,
  toOption,
} from "../shared-options.js";

const exportOptions = {
  table: tableOption,
  ...partOptions(
    "an archive must start with a segment, unless you use --snap (default: the node's first)",
    "an archive must end with a segment, unless you use --snap (default: the node's last)",
  ),
  ...rowOptions,
  snap: flag("widen the range to the boundaries of its first and last segment"),
  output: withDefault(
    choice(
      "<format>",
      "format of the output; zip saves the archive, the others print its rows",
      ["zip", ...outputFormats],
      OUTPUT,
    ),
    "zip",
  ),
  to: withDefault(toOption("a folder, a file, or - for standard output"), "."),
  extensions: extensionsOption,
  verify: choice("<what>", "check the content of each file (the default), or only the structure of the archive", [
    "content",
    "structure",
  ]),
  parallel: parallelOption(1),
  estimate: estimateOption,
  resume: text("<folder>", "keep partial downloads in this folder and resume from them"),
  force: forceOption,
  json: jsonFlag,
  ...printRowsOptions,
  ...clientOptions,
};

type ExportCommandOptions = OptionValues<typeof exportOptions>;

/** Defines the command `export`. */
export const addExport = defineCommand(exportOptions, runExport);

async function runExport(options: ExportCommandOptions, context: CommandContext): Promise<void> {
  checkOutput(options);
  const { signal } = context;
  const { table, since, until } = options;
  await using client = commandClient(options, context);
  const toTerminal = context.out.isTTY === true && (options.output !== "zip" || options.to === STANDARD);
  const progress = createProgress(context);
  let hasArrived = false;
  const exportOptions: ExportOptions = {
    signal,
    extensions: options.extensions,
    snap: options.snap === true,
    maxRowBytes: options.maxRowBytes,
    onProgress: (state) => {
      hasArrived = true;
      if (toTerminal) {
        progress.end(); // The rows take the place of the progress.
      } else {
        progress.update(state);
      }
    },
  };
  const part = { ...blocksIn(options), since, until };
  try {
    if (options.estimate === true) {
      await printEstimate({ client, table, part, owners: {}, options: exportOptions }, options, context);
    } else if (options.output === "zip") {
      const asked = { client, table, part, owners: {}, options: exportOptions };
      await saveRange(asked, options, context, progress).finally(progress.end);
    } else {
      const owners = await namedOwners(options, client, context);
      const rows = partFiles({ client, table, part, owners, options: exportOptions });
      await printRows(rows, { ...options, format: options.output }, context).finally(progress.end);
    }
  } catch (reason) {
    const range = exactRange(part);
    throw hasArrived || signal.aborted || range === undefined
      ? reason
      : await explainRefusal(reason, client, range, signal);
  }
}

async function printEstimate(
  asked: ExportedPart,
  options: ExportCommandOptions,
  context: CommandContext,
): Promise<void> {
  const { estimateExport, estimateReport } = await import("../estimate.js");
  const isExact = options.output === "zip" && options.snap !== true;
  const estimate = await estimateExport(
    { ...asked, options: { ...asked.options, onProgress: undefined } },
    { isExact, parallel: options.parallel ?? 1 },
    context,
  );
  const output = options.output === "zip" ? undefined : options.output;
  const format = outputFormat({ output, json: options.json }, context);
  await printReport(estimateReport(estimate, undefined, context), format, context);
}

/** Saves the archive of a range, and says how it was widened. */
async function saveRange(
  asked: ExportedPart,
  options: ExportCommandOptions,
  context: CommandContext,
  progress: ProgressLine,
): Promise<void> {
  const { client, table, part, options: exportOptions } = asked;
  const request = exactRange(part) ?? (await archiveRange(asked));
  const exported = client.exportNetworkHistory({ table, ...request }, exportOptions);
  await runTarget(exported, options, context, progress);
  const { fromBlock, toBlock } = options.snap === true ? await exported.range() : request;
  if (fromBlock !== request.fromBlock || toBlock !== request.toBlock) {
    progress.end();
    context.notes.write(
      `Range widened from ${request.fromBlock}-${request.toBlock} to ${fromBlock}-${toBlock} (--snap).\n`,
    );
  }
}

/** Asks the node for the range of an archive. Times are those of complete segments. */
async function archiveRange(asked: ExportedPart): Promise<BlockRange> {
  const { client, part, options } = asked;
  if (part.since !== undefined || part.until !== undefined) {
    const { fromBlock, toBlock } = await selectPart(asked);
    return { fromBlock, toBlock };
  }
  const segments = await client.listSegments({ signal: options.signal });
  const range = absoluteRange(segments, part);
  const found = findRange(segments, range, { snap: options.snap === true });
  if (!found.valid) {
    throw rangeError(found, segments, range);
  }
  return range;
}

function checkOutput(options: ExportCommandOptions): void {
  const { output, to, verify, parallel, resume, force, json: asJson, ...rows } = options;
  const { since, until, snap, table } = rows;
  readPeriod({ since, until });
  checkOwners(rows, table);
  if (output === "zip") {
    const names = ["columns", "limit", "all", "null", "maxRowBytes", "market", "party"] as const;
    const times = ["since", "until"] as const;
    const rowOption = [...names, ...(snap === true ? [] : times)].find((name) => rows[name] !== undefined);
    if (rowOption !== undefined) {
      const whole =
        rowOption === "since" || rowOption === "until" ? " --snap saves the complete segments of these times." : "";
      throw new RequestError(`${flagOf(rowOption)} applies to rows, but the output is an archive`, {
        advice: `Choose a format of rows with --output: ${outputFormats.join(", ")}.${whole}`,
      });
    }
  } else {
    checkPrintRowsOptions(rows, output);
  }
  const toFile = output === "zip" && to !== STANDARD;
  const inParts = parallel !== undefined || resume !== undefined;
  const forFile = verify !== undefined || inParts || force === true || (asJson === true && output !== "json");
  if (!toFile && (forFile || (output !== "zip" && ![".", STANDARD].includes(to)))) {
    throw new RequestError(
      "--to, --verify, --parallel, --resume, --force and --json apply only to an archive that is saved to a file",
      { advice: "Remove them: the output goes to standard output." },
    );
  }
}

async function runTarget(
  exported: NetworkHistoryExport,
  options: ExportCommandOptions,
  context: CommandContext,
  progress: ProgressLine,
): Promise<void> {
  const { to: target } = options;
  if (target === STANDARD) {
    for await (const part of exported.bytes()) {
      await writeOut(context, part);
    }
  } else {
    const start = monotonicMs();
    const { verify, parallel, resume } = options;
    const saved = await exported.saveTo(await parseSavePath(target, ".zip"), {
      force: options.force === true,
      verify,
      parallel,
      resume,
    });
    progress.end();
    await printSavedArchive(saved, { start, format: outputFormat({ json: options.json }, context) }, context);
  }
}

/**
 * Explains the refusal of a range by the nearest range that the node can export. Other errors are returned unchanged, without
 * a request for the segments.
 */
async function explainRefusal(
  reason: unknown,
  client: Client,
  range: BlockRange,
  signal: AbortSignal,
): Promise<unknown> {
  if (!isRefusal(reason)) {
    return reason;
  }
  const segments = await client.listSegments({ signal }).catch(() => []);
  const check = findRange(segments, range, { snap: false });
  return check.valid || segments.length === 0 ? reason : rangeError(check, segments, range, reason);
}
