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
import { checkColumnNames } from "../columns.js";
import { choice, defineCommand, type OptionValues, text, withDefault } from "../declarations.js";
import { followedRange, followedTests } from "../follow-rows.js";
import { grouped } from "../formatting.js";
import { type CommandContext, isTerminated, printable, writeOut } from "../output.js";
import { OUTPUT } from "../output-format.js";
import { columnChooser, columnPicker, readText, takeRows } from "../print-rows.js";
import { createRowFormat } from "../row-format.js";
import { blocksIn, checkOwners, namedOwners, timesOf } from "../row-selection.js";
import {
  amountOptions,
  columnsOption,
  extensionsOption,
  followedRowOptions,
  intervalOption,
  maxRowBytesOption,
  partOptions,
  tableOption,
} from "../shared-options.js";

const followOptions = {
  table: tableOption,
  ...partOptions("default: the node's first", "default: none, it goes on"),
  ...followedRowOptions,
  columns: columnsOption,
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
  const { table, columns, interval, extensions, maxRowBytes, limit } = options;
  const { signal } = context;
  checkColumnNames(columns ?? []);
  checkOwners(options, table);
  const file = options.cursorFile === undefined ? undefined : await openCursorFile(options.cursorFile, table);
  const cursor = file?.cursor ?? options.cursor;
  await using client = commandClient(options, context);
  const reporter = createFollowReporter(context);
  const owners = await namedOwners(options, client, context);
  const readTimes = timesOf(client, { signal, extensions });
  const part = { ...blocksIn(options), since: options.since, isResumed: cursor !== undefined };
  const range = await followedRange(part, client, readTimes, signal);
  const { fromBlock, toBlock } = range;
  const items = client.follow(
    { table, fromBlock, toBlock },
    { cursor, pollMs: interval, extensions, maxRowBytes, signal, onEvent: reporter.onEvent },
  );
  const printing = { limit, columns, file, testOf: followedTests(range, owners, readTimes), reporter };
  try {
    await print(items, printing, context).finally(() => {
      reporter.end();
      return file?.end();
    });
  } catch (reason) {
    // A follow without --to-block ends in no other way, so SIGTERM is a success, as service managers expect.
    if (!signal.aborted || toBlock !== undefined || !isTerminated(signal)) {
      throw reason;
    }
  }
}

type Items = AsyncIterable<FollowedRows<Record<string, string | null>>>;

interface Printing {
  readonly limit: number | undefined;
  readonly columns: readonly string[] | undefined;
  readonly file: CursorFile | undefined;
  readonly testOf: ReturnType<typeof followedTests>;
  readonly reporter: FollowReporter;
}

async function print(
  items: Items,
  { limit = Number.POSITIVE_INFINITY, columns: chosen, file, testOf, reporter }: Printing,
  context: CommandContext,
): Promise<void> {
  const format = createRowFormat("jsonl", undefined);
  const columnsOf = columnChooser(chosen, format, undefined);
  let left = limit;
  for await (const { rows, columns, segment, complete, cursorAfter } of items) {
    if (complete) {
      await file?.store(cursorAfter(0));
      continue;
    }
    const test = await testOf({ segment, columns });
    const values = rows.map((row) => columns.map((column) => row[column] ?? null));
    const { taken, read, failure } = takeRows(values, { left, test });
    const header = await columnsOf({ name: segment.table, columns });
    const pick = columnPicker(header, columns);
    await writeOut(context, format.text(header, pick === undefined ? taken : taken.map(pick)));
    left -= taken.length;
    reporter.onPrinted({ read, printed: taken.length, isSelected: test !== undefined });
    await file?.store(cursorAfter(read));
    if (failure !== undefined) {
      throw failure.reason;
    }
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
  onPrinted(rows: { readonly read: number; readonly printed: number; readonly isSelected: boolean }): void;
  /** Removes the line. If rows are selected, a note says how many. */
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
  const counts = { read: 0, isSelected: false };
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
    notes.write(counts.isSelected ? readText(counts.read, line.rows) : "");
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
    onPrinted({ read, printed, isSelected }) {
      line.rows += printed;
      counts.read += read;
      counts.isSelected ||= isSelected;
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
