import { Code } from "@connectrpc/connect";
import { NodeError, RequestError } from "../../base/errors/index.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { rangeError } from "../../data/history/export-request.js";
import { findRange } from "../../data/history/segments.js";
import { readTable, tableNames } from "../../data/schema/table-names.js";
import type { BlockRange, Client, NetworkHistoryExport } from "../../index.js";
import { commandClient } from "../client.js";
import { clientOptions, extensionsOption, tableOption } from "../client-options.js";
import { parseOutPath, printSavedArchive, STANDARD } from "../command-files.js";
import {
  choice,
  defineCommand,
  flag,
  flagOf,
  type OptionValues,
  parsed,
  required,
  text,
  withDefault,
} from "../declarations.js";
import { type CommandContext, writeOut } from "../output.js";
import { OUTPUT, outputFormats } from "../output-format.js";
import { parseBlockHeight, parseInteger } from "../parsers.js";
import { checkPrintRowsOptions, printRows, printRowsOptions } from "../print-rows.js";
import { createProgress, type ProgressLine } from "../progress.js";

const exportOptions = {
  table: required(tableOption(`the table: ${tableNames.join(", ")}`)),
  fromBlock: required(
    parsed("<height>", "first block of the range; must start a segment, unless you use --snap", parseBlockHeight),
  ),
  toBlock: required(
    parsed("<height>", "last block of the range; must end a segment, unless you use --snap", parseBlockHeight),
  ),
  snap: flag("widen the range to the boundaries of its first and last segment"),
  output: withDefault(
    choice("<format>", "save the archive, or print its rows as they arrive", ["zip", ...outputFormats], OUTPUT),
    "zip",
  ),
  out: withDefault(text("<path>", "folder to save to, path of the file, or - for standard output"), "."),
  extensions: extensionsOption,
  verify: choice("<what>", "check the content of each file (the default), or only the structure of the archive", [
    "content",
    "structure",
  ]),
  parallel: parsed("<count>", "number of parts to fetch in parallel (default: 1)", parseInteger),
  resume: text("<folder>", "keep partial downloads in this folder and resume from them"),
  force: flag("overwrite an existing file"),
  json: flag("with zip: describe the saved archive as a JSON object"),
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
  const toTerminal = context.out.isTTY === true && (options.output !== "zip" || options.out === STANDARD);
  const progress = createProgress(context);
  let hasArrived = false;
  const request = { table: readTable(options.table), fromBlock: options.fromBlock, toBlock: options.toBlock };
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
  const { output, out, verify, parallel, resume, force, json: asJson, ...rows } = options;
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
  const toFile = output === "zip" && out !== STANDARD;
  const inParts = parallel !== undefined || resume !== undefined;
  const forFile = verify !== undefined || inParts || force === true || asJson === true;
  if (!toFile && (forFile || (output !== "zip" && ![".", STANDARD].includes(out)))) {
    throw new RequestError(
      "--out, --verify, --parallel, --resume, --force and --json apply only to an archive that is saved to a file",
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
  const { output, out: target } = options;
  if (output !== "zip") {
    await printRows(exported.files(), { ...options, format: output }, context);
  } else if (target === STANDARD) {
    for await (const part of exported.bytes()) {
      await writeOut(context, part);
    }
  } else {
    const start = monotonicMs();
    const { verify, parallel, resume } = options;
    const saved = await exported.saveTo(await parseOutPath(target, ".zip"), {
      force: options.force === true,
      verify,
      parallel,
      resume,
    });
    progress.end();
    await printSavedArchive(saved, { start, format: options.json === true ? "json" : "table" }, context);
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
