import { Code } from "@connectrpc/connect";
import { type Command, Option } from "commander";
import type { Verification } from "../../archive/verify.js";
import type { Client } from "../../client/index.js";
import { NodeError, RequestError } from "../../errors/index.js";
import type { NetworkHistoryExport } from "../../history/network-history-export.js";
import { rangeError } from "../../history/request.js";
import { type BlockRange, checkRange } from "../../history/segments.js";
import { monotonicMs } from "../../runtime/index.js";
import { readTable, tableNames } from "../../schema/tables.js";
import { tellSaved } from "../archive-output.js";
import { commandClient } from "../client.js";
import { type ClientOptions, clientOptions } from "../client-options.js";
import { STANDARD } from "../input.js";
import { outTarget } from "../out-target.js";
import { type CommandContext, writeOut } from "../output.js";
import { checkPrintRowsOptions, type PrintRowsOptions, printRows, printRowsOptions } from "../print-rows.js";
import { createProgress, type ProgressLine } from "../progress.js";
import { type RowFormatName, rowFormats } from "../row-format.js";
import { blockHeight, wholeNumber } from "../whole-number.js";

interface ExportCommandOptions extends ClientOptions, PrintRowsOptions {
  readonly table: string;
  readonly fromBlock: bigint;
  readonly toBlock: bigint;
  readonly snap?: boolean;
  readonly format: "zip" | RowFormatName;
  readonly out: string;
  readonly extensions?: "required" | "optional";
  readonly verify?: Verification;
  readonly parallel?: number;
  readonly resume?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/**
 * Add the command `export` (specification, 4.1).
 *
 * @param command the command `export`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addExport(command: Command, context: CommandContext): void {
  command
    .requiredOption("--table <name>", `the table: ${tableNames.join(", ")}`)
    .addOption(
      new Option("--from-block <height>", "first block: the first of a segment")
        .argParser(blockHeight)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option("--to-block <height>", "last block: the last of a segment")
        .argParser(blockHeight)
        .makeOptionMandatory(),
    )
    .option("--snap", "widen the range to the boundaries of the segments that it begins and ends in")
    .addOption(
      new Option("--format <name>", "save the archive, or print its rows as they arrive, with no file")
        .choices(["zip", ...rowFormats])
        .default("zip"),
    )
    .option("--out <path>", "folder to save to, path of the file, or - for standard output", ".")
    .addOption(
      new Option("--extensions <rule>", "whether the first chunk must carry extensions").choices([
        "required",
        "optional",
      ]),
    )
    .addOption(
      new Option(
        "--verify <what>",
        "check the content of each file (the default), or only the records around them",
      ).choices(["content", "structure"]),
    )
    .addOption(
      new Option("--parallel <count>", "parts of the range that are fetched at once (default: 1)").argParser(
        wholeNumber,
      ),
    )
    .option("--resume <folder>", "keep the parts there until all have come, and go on with those that are there")
    .option("--force", "replace a file that exists")
    .option("--json", "print the result as a JSON object");
  for (const option of [...printRowsOptions(), ...clientOptions()]) {
    command.addOption(option);
  }
  command.action((options: ExportCommandOptions) => runExport(options, context));
}

async function runExport(options: ExportCommandOptions, context: CommandContext): Promise<void> {
  checkFormat(options);
  const { signal } = context;
  await using client = commandClient(options, context);
  const toTerminal = context.out.isTTY === true && (options.format !== "zip" || options.out === STANDARD);
  const progress = createProgress(context);
  let arrived = false;
  const request = { table: readTable(options.table), fromBlock: options.fromBlock, toBlock: options.toBlock };
  const exported = client.exportNetworkHistory(request, {
    signal,
    extensions: options.extensions,
    snap: options.snap === true,
    maxRowBytes: options.maxRowBytes,
    onProgress: (state) => {
      arrived = true;
      if (toTerminal) {
        progress.end(); // The rows are to be seen in its place.
      } else {
        progress.update(state);
      }
    },
  });
  try {
    await runTarget(exported, options, context, progress).finally(progress.end);
  } catch (reason) {
    throw arrived || signal.aborted ? reason : await explained(reason, client, request, signal);
  }
  if (options.snap === true) {
    const { fromBlock, toBlock } = await exported.range();
    if (fromBlock !== request.fromBlock || toBlock !== request.toBlock) {
      context.notes.write(
        `Blocks ${fromBlock} to ${toBlock} were taken for ${request.fromBlock} to ${request.toBlock}.\n`,
      );
    }
  }
}

/** Check that the options of the output fit together. */
function checkFormat(options: ExportCommandOptions): void {
  const { format, out, verify, parallel, resume, force, json: asJson, ...rows } = options;
  if (format === "zip") {
    const given = (["columns", "limit", "all", "null", "maxRowBytes"] as const).find(
      (name) => rows[name] !== undefined,
    );
    if (given !== undefined) {
      throw new RequestError(
        `--${given === "maxRowBytes" ? "max-row-bytes" : given} is about rows, but an archive is asked for`,
        {
          advice: `Choose how to print them with --format: ${rowFormats.join(", ")}.`,
        },
      );
    }
  } else {
    checkPrintRowsOptions(rows, format);
  }
  const toFile = format === "zip" && out !== STANDARD;
  const inParts = parallel !== undefined || resume !== undefined;
  const forFile = verify !== undefined || inParts || force === true || asJson === true;
  if (!toFile && (forFile || (format !== "zip" && ![".", STANDARD].includes(out)))) {
    throw new RequestError(
      "--out, --verify, --parallel, --resume, --force and --json are for an archive that is saved to a file",
      { advice: "Leave them out: what is asked for goes to standard output." },
    );
  }
}

async function runTarget(
  exported: NetworkHistoryExport,
  options: ExportCommandOptions,
  context: CommandContext,
  progress: ProgressLine,
): Promise<void> {
  const { format, out: target } = options;
  if (format !== "zip") {
    await printRows(exported.files(), { ...options, format }, context);
  } else if (target === STANDARD) {
    for await (const part of exported.bytes()) {
      await writeOut(context, part);
    }
  } else {
    const start = monotonicMs();
    const { verify, parallel, resume } = options;
    const saved = await exported.saveTo(await outTarget(target, ".zip"), {
      force: options.force === true,
      verify,
      parallel,
      resume,
    });
    progress.end();
    tellSaved(saved, { start, asJson: options.json === true }, context);
  }
}

/**
 * Explain the refusal of a range by the nearest range that the node can export. Only in that case is the node asked for
 * its segments.
 */
async function explained(reason: unknown, client: Client, range: BlockRange, signal: AbortSignal): Promise<unknown> {
  if (!(reason instanceof NodeError) || !RANGE_REFUSED.has(reason.code)) {
    return reason;
  }
  const segments = await client.listSegments({ signal }).catch(() => []);
  const check = checkRange(segments, range);
  return check.valid || segments.length === 0 ? reason : rangeError(check, segments, range, reason);
}

/** The codes with which nodes refuse a range: older nodes answer `Internal`. */
const RANGE_REFUSED = new Set([Code.InvalidArgument, Code.Internal]);
