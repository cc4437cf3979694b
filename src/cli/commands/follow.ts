import { type Command, Option } from "commander";
import { RequestError } from "../../errors/index.js";
import type { FollowedRows } from "../../live/follow.js";
import { readTable, tableNames } from "../../schema/tables.js";
import { commandClient } from "../client.js";
import { type ClientOptions, clientOptions, milliseconds } from "../client-options.js";
import { type CursorFile, openCursorFile } from "../follow/cursor-file.js";
import { createFollowReporter } from "../follow/reporter.js";
import { type CommandContext, isTerminated, writeThrough } from "../output.js";
import { maxRowBytesOption } from "../print-rows.js";
import { createRowFormat } from "../row-format.js";
import { blockHeight, wholeNumber } from "../whole-number.js";

interface FollowCommandOptions extends ClientOptions {
  readonly table: string;
  readonly fromBlock?: bigint;
  readonly toBlock?: bigint;
  readonly cursor?: string;
  readonly cursorFile?: string;
  readonly poll?: number;
  readonly limit?: number;
  readonly extensions?: "required" | "optional";
  readonly maxRowBytes?: number;
}

/**
 * Add the command `follow`, which prints the rows of a table and goes on with those of new segments.
 *
 * @param command the command `follow`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addFollow(command: Command, context: CommandContext): void {
  command.requiredOption("--table <name>", `the table: ${tableNames.join(", ")}`);
  const own = [
    new Option(
      "--from-block <height>",
      "begin with the segment that holds it (default: the first of the node)",
    ).argParser(blockHeight),
    new Option("--to-block <height>", "end with the segment that holds it (default: go on)").argParser(blockHeight),
    new Option("--cursor <text>", "go on behind the rows that it came with, in place of --from-block"),
    new Option("--cursor-file <file>", "go on from the cursor in this file, if it is there, and keep it up to date"),
    new Option("--format <name>", "how to print the rows: a JSON object a line").choices(["jsonl"]).default("jsonl"),
    new Option("--poll <duration>", "time between two looks for new segments, such as 30s, 5m (default: 1m)").argParser(
      (text: string) => milliseconds("--poll", text),
    ),
    new Option("--limit <count>", "end after this many rows").argParser(wholeNumber),
    new Option("--extensions <rule>", "whether the first chunk must carry extensions").choices([
      "required",
      "optional",
    ]),
    maxRowBytesOption(),
  ];
  for (const option of [...own, ...clientOptions()]) {
    command.addOption(option);
  }
  command.action((options: FollowCommandOptions) => runFollow(options, context));
}

async function runFollow(options: FollowCommandOptions, context: CommandContext): Promise<void> {
  if (options.cursor !== undefined && options.cursorFile !== undefined) {
    throw new RequestError("--cursor and --cursor-file both say where to go on", { advice: "Give one of them." });
  }
  const table = readTable(options.table);
  const file = options.cursorFile === undefined ? undefined : await openCursorFile(options.cursorFile, table);
  await using client = commandClient(options, context);
  const reporter = createFollowReporter(context);
  const { fromBlock, toBlock, poll, extensions, maxRowBytes, limit } = options;
  const items = client.follow(
    { table, fromBlock, toBlock },
    {
      cursor: file?.cursor ?? options.cursor,
      pollMs: poll,
      extensions,
      maxRowBytes,
      signal: context.signal,
      onEvent: reporter.take,
    },
  );
  try {
    await print(items, { limit, file, printed: reporter.printed }, context).finally(() => {
      reporter.end();
      return file?.end();
    });
  } catch (reason) {
    // One without an end ends in no other way: for it, SIGTERM is a success, as service managers expect.
    if (!context.signal.aborted || toBlock !== undefined || !isTerminated(context.signal)) {
      throw reason;
    }
  }
}

interface Printing {
  readonly limit: number | undefined;
  readonly file: CursorFile | undefined;
  readonly printed: (rows: number) => void;
}

async function print(
  items: AsyncIterable<FollowedRows<Record<string, string | null>>>,
  { limit = Number.POSITIVE_INFINITY, file, printed }: Printing,
  context: CommandContext,
): Promise<void> {
  const format = createRowFormat("jsonl", undefined);
  let left = limit;
  if (left === 0) {
    return;
  }
  for await (const { rows, columns, cursorAfter } of items) {
    const wanted = rows.slice(0, left);
    const values = wanted.map((row) => columns.map((column) => row[column] ?? null));
    await writeThrough(context, format.text(columns, values));
    left -= wanted.length;
    printed(wanted.length);
    await file?.keep(cursorAfter(wanted.length));
    if (left === 0) {
      return;
    }
  }
}
