import { Code } from "../../base/errors/code.js";
import { NodeError, RequestError } from "../../base/errors/index.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { rangeError } from "../../data/history/export-request.js";
import { findRange } from "../../data/history/segments.js";
import type { BlockRange, Client, NetworkHistoryExport } from "../../index.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { parseSavePath, printSavedArchive, STANDARD } from "../command-files.js";
import {
  choice,
  defineCommand,
  flag,
  flagOf,
  type OptionValues,
  required,
  text,
  withDefault,
} from "../declarations.js";
import { type CommandContext, writeOut } from "../output.js";
import { jsonFlag, OUTPUT, outputFormat, outputFormats } from "../output-format.js";
import { checkPrintRowsOptions, printRows, printRowsOptions } from "../print-rows.js";
import { createProgress, type ProgressLine } from "../progress.js";
import {
  blockOptions,
  extensionsOption,
  forceOption,
  parallelOption,
  tableOption,
  toOption,
} from "../shared-options.js";

const RANGE = blockOptions(
  "it must start a segment, unless you use --snap",
  "it must end a segment, unless you use --snap",
);

const exportOptions = {
  table: tableOption,
  fromBlock: required(RANGE.fromBlock),
  toBlock: required(RANGE.toBlock),
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
  await using client = commandClient(options, context);
  const toTerminal = context.out.isTTY === true && (options.output !== "zip" || options.to === STANDARD);
  const progress = createProgress(context);
  let hasArrived = false;
  const request = { table: options.table, fromBlock: options.fromBlock, toBlock: options.toBlock };
  const exported = client.exportNetworkHistory(request, {
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
  });
  try {
    await runTarget(exported, options, context, progress).finally(progress.end);
  } catch (reason) {
    throw hasArrived || signal.aborted ? reason : await explainRefusal(reason, client, request, signal);
  }
  if (options.snap === true) {
    const { fromBlock, toBlock } = await exported.range();
    if (fromBlock !== request.fromBlock || toBlock !== request.toBlock) {
      context.notes.write(
        `Range widened from ${request.fromBlock}-${request.toBlock} to ${fromBlock}-${toBlock} (--snap).\n`,
      );
    }
  }
}

function checkOutput(options: ExportCommandOptions): void {
  const { output, to, verify, parallel, resume, force, json: asJson, ...rows } = options;
  if (output === "zip") {
    const rowOption = (["columns", "limit", "all", "null", "maxRowBytes"] as const).find(
      (name) => rows[name] !== undefined,
    );
    if (rowOption !== undefined) {
      throw new RequestError(`${flagOf(rowOption)} applies to rows, but the output is an archive`, {
        advice: `Choose a format of rows with --output: ${outputFormats.join(", ")}.`,
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
  const { output, to: target } = options;
  if (output !== "zip") {
    await printRows(exported.files(), { ...options, format: output }, context);
  } else if (target === STANDARD) {
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
  if (!(reason instanceof NodeError) || !RANGE_REFUSED.has(reason.code)) {
    return reason;
  }
  const segments = await client.listSegments({ signal }).catch(() => []);
  const check = findRange(segments, range, { snap: false });
  return check.valid || segments.length === 0 ? reason : rangeError(check, segments, range, reason);
}

/** The codes with which nodes refuse a range. Older nodes respond with `Internal`. */
const RANGE_REFUSED = new Set([Code.InvalidArgument, Code.Internal]);
