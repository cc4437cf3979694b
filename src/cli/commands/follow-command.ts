import { access, constants, readFile, stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { FileError, RequestError } from "../../base/errors/index.js";
import { fileError, hasErrorCode, READ_ADVICE, shownPath } from "../../base/errors/node-errors.js";
import { saveUnverified } from "../../base/file/atomic-file.js";
import { refuseToReplace } from "../../base/file/device.js";
import { monotonicMs, type StopTimer, startTimer } from "../../base/runtime/index.js";
import type { TableName } from "../../data/schema/table-names.js";
import type { FollowEvent, FollowedRows } from "../../index.js";
import { readCursor } from "../../trade/live/next-segments.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { choice, defineCommand, type OptionValues, text, withDefault } from "../declarations.js";
import { grouped } from "../formatting.js";
import { type CommandContext, isTerminated, printable, writeOut } from "../output.js";
import { OUTPUT } from "../output-format.js";
import { createRowFormat } from "../row-format.js";
import {
  amountOptions,
  blockOptions,
  extensionsOption,
  intervalOption,
  maxRowBytesOption,
  tableOption,
} from "../shared-options.js";

const followOptions = {
  table: tableOption,
  ...blockOptions(
    "the rows begin with its segment (default: the node's first block)",
    "the rows end with its segment (default: none, it goes on)",
  ),
  cursor: text("<text>", "resume after the rows that this cursor covers, instead of --from-block"),
  cursorFile: text("<file>", "resume from the cursor in this file, if it exists, and keep the file up to date"),
  output: withDefault(choice("<format>", "format of the output", ["jsonl"], OUTPUT), "jsonl"),
  interval: intervalOption,
  limit: amountOptions.limit,
  extensions: extensionsOption,
  maxRowBytes: maxRowBytesOption,
  ...clientOptions,
};

type FollowCommandOptions = OptionValues<typeof followOptions>;

/** Defines the command `follow`, which prints the rows of a table and continues with those of new segments. */
export const addFollow = defineCommand(followOptions, runFollow);

async function runFollow(options: FollowCommandOptions, context: CommandContext): Promise<void> {
  if (options.cursor !== undefined && options.cursorFile !== undefined) {
    throw new RequestError("--cursor and --cursor-file cannot be combined", { advice: "Use one of them." });
  }
  const { table } = options;
  const file = options.cursorFile === undefined ? undefined : await openCursorFile(options.cursorFile, table);
  await using client = commandClient(options, context);
  const reporter = createFollowReporter(context);
  const { fromBlock, toBlock, interval, extensions, maxRowBytes, limit } = options;
  const items = client.follow(
    { table, fromBlock, toBlock },
    {
      cursor: file?.cursor ?? options.cursor,
      pollMs: interval,
      extensions,
      maxRowBytes,
      signal: context.signal,
      onEvent: reporter.onEvent,
    },
  );
  try {
    await print(items, { limit, file, onPrinted: reporter.onPrinted }, context).finally(() => {
      reporter.end();
      return file?.end();
    });
  } catch (reason) {
    // A follow without --to-block ends in no other way, so SIGTERM is a success, as service managers expect.
    if (!context.signal.aborted || toBlock !== undefined || !isTerminated(context.signal)) {
      throw reason;
    }
  }
}

interface Printing {
  readonly limit: number | undefined;
  readonly file: CursorFile | undefined;
  readonly onPrinted: (rows: number) => void;
}

async function print(
  items: AsyncIterable<FollowedRows<Record<string, string | null>>>,
  { limit = Number.POSITIVE_INFINITY, file, onPrinted }: Printing,
  context: CommandContext,
): Promise<void> {
  const format = createRowFormat("jsonl", undefined);
  let left = limit;
  for await (const { rows, columns, cursorAfter } of items) {
    const wanted = rows.slice(0, left);
    const values = wanted.map((row) => columns.map((column) => row[column] ?? null));
    await writeOut(context, format.text(columns, values));
    left -= wanted.length;
    onPrinted(wanted.length);
    await file?.store(cursorAfter(wanted.length));
    if (left === 0) {
      return;
    }
  }
}

/** Milliseconds between two updates of the line. */
const UPDATE_MS = 200;

/** Reports the progress of `follow`. */
interface FollowReporter {
  readonly onEvent: (event: FollowEvent) => void;
  onPrinted(rows: number): void;
  /** Removes the line. */
  end(): void;
}

/** The line that shows the progress of `follow`. */
interface FollowLine {
  rows: number;
  /** The blocks of the current segment. */
  blocks: string;
  /** The reason why nothing is printed now. */
  pause: string;
  /** When the line was last drawn, in milliseconds of `monotonicMs()`. */
  drawnAt: number | undefined;
}

/**
 * Reports the progress of `follow` on standard error: with a line for each problem that differs from the previous one and,
 * if standard error is a terminal and the rows go elsewhere, with a line that is redrawn in place.
 */
function createFollowReporter({ out, notes }: Pick<CommandContext, "out" | "notes">): FollowReporter {
  const isDrawn = notes.isTTY === true && out.isTTY !== true;
  const line: FollowLine = { rows: 0, blocks: "", pause: "", drawnAt: undefined };
  let reportedProblem: string | undefined;

  function draw(isDue: boolean): void {
    if (isDrawn && (isDue || line.drawnAt === undefined || monotonicMs() - line.drawnAt >= UPDATE_MS)) {
      line.drawnAt = monotonicMs();
      notes.write(`\r\x1b[K${line.blocks}${grouped(line.rows)} rows${line.pause}`);
    }
  }
  function end(): void {
    if (line.drawnAt !== undefined) {
      notes.write("\r\x1b[K");
    }
  }
  function report(problem: string): void {
    if (problem !== reportedProblem) {
      reportedProblem = problem;
      notes.write(`tradewire: ${printable(problem)}\n`);
    }
  }

  return {
    onEvent(event) {
      line.pause = "";
      switch (event.kind) {
        case "began":
          reportedProblem = undefined;
          line.blocks = `blocks ${event.segment.fromBlock} to ${event.segment.toBlock}, `;
          break;
        case "idle":
          reportedProblem = undefined;
          line.pause = ", waiting for new segments";
          break;
        case "behind":
          report("the node's history ends before the rows that were delivered; waiting until the node has caught up");
          break;
        case "waiting":
          report(`${event.error.summary}; retrying`);
          break;
      }
      draw(line.pause !== "");
    },
    onPrinted(count) {
      line.rows += count;
      draw(false);
    },
    end,
  };
}

/** How long a cursor waits to be saved, in milliseconds. Many follow it in that time while the follow catches up. */
const SAVE_MS = 1000;

/** A file that stores a cursor. */
export interface CursorFile {
  /** The cursor that was in the file at the start; `undefined` if there was no file. */
  readonly cursor: string | undefined;
  /**
   * Stores a cursor in place of the previous one, within a second.
   *
   * @throws {@link FileError} if an earlier cursor could not be saved
   */
  store(cursor: string): Promise<void>;
  /**
   * Saves the last cursor.
   *
   * @throws {@link FileError} if it cannot be saved
   */
  end(): Promise<void>;
}

/**
 * Opens a file that stores a cursor. Whenever the process is killed, the file contains one complete cursor.
 *
 * @throws {@link FileError} if it cannot be read, or its folder cannot be written to
 * @throws {@link RequestError} if it contains no cursor, or one of another table
 */
export async function openCursorFile(path: string, table: TableName): Promise<CursorFile> {
  const cursor = await readCursorText(path);
  if (cursor === undefined) {
    await assertWritable(dirname(resolve(path)));
  } else {
    assertCursor(path, cursor, table);
  }
  let unsaved: string | undefined;
  let stopTimer: StopTimer | undefined;
  let saving: Promise<void> = Promise.resolve();

  async function save(): Promise<void> {
    const cursor = unsaved;
    unsaved = undefined;
    if (cursor !== undefined) {
      const where = { target: resolve(path), fileName: () => basename(path), force: true };
      await saveUnverified(lineBytes(cursor), where);
    }
  }

  return {
    cursor,
    async store(cursor) {
      await saving;
      unsaved = cursor;
      stopTimer ??= startTimer(() => {
        stopTimer = undefined;
        saving = save();
        saving.catch(() => undefined); // The next call of `store` or `end` awaits it.
      }, SAVE_MS);
    },
    async end() {
      stopTimer?.();
      await saving;
      await save();
    },
  };
}

async function readCursorText(path: string): Promise<string | undefined> {
  try {
    refuseToReplace(path, await stat(path));
    return (await readFile(path, "utf8")).trimEnd();
  } catch (reason) {
    const error = reason instanceof FileError ? reason : fileError(reason, path, READ_ADVICE);
    if (hasErrorCode(reason, "ENOENT")) {
      return undefined;
    }
    throw error;
  }
}

/** Checks, before the first row is printed, that its cursor can be saved. */
async function assertWritable(folder: string): Promise<void> {
  await access(folder, constants.W_OK).catch((reason: unknown) => {
    throw fileError(reason, folder, { ENOENT: "Create the folder first, or choose another path." });
  });
}

function assertCursor(path: string, cursor: string, table: TableName): void {
  try {
    readCursor(cursor, table);
  } catch (reason) {
    throw reason instanceof RequestError
      ? new RequestError(`${shownPath(path)}: ${reason.summary}`, {
          advice: "Use another --cursor-file, or delete this one to start from the beginning.",
          cause: reason,
        })
      : reason;
  }
}

async function* lineBytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${text}\n`);
}
