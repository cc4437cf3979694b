import { access, constants, readFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { failedWith, fileError, quotedPath, readingAdvice } from "../../errors/file-error.js";
import { RequestError } from "../../errors/index.js";
import { saveWhole } from "../../file/save-whole.js";
import { readCursor } from "../../live/follow-position.js";
import { type StopTimer, startTimer } from "../../runtime/index.js";
import type { TableName } from "../../schema/tables.js";

/** How long a cursor waits to be saved, in milliseconds: many come in that time while a history is caught up with. */
const SAVE_MS = 1000;

/** A file that keeps a cursor. */
export interface CursorFile {
  /** The cursor that the file had at the start; `undefined` where there was no file. */
  readonly cursor: string | undefined;
  /**
   * Keep a cursor in place of the one before: within a second.
   *
   * @param cursor the cursor, whose rows were written out
   * @throws {@link FileError} where an earlier one could not be saved
   */
  keep(cursor: string): Promise<void>;
  /**
   * Save what was not saved yet.
   *
   * @throws {@link FileError} where it cannot be saved
   */
  end(): Promise<void>;
}

/**
 * Open a file that keeps a cursor. Whenever the process is killed, the file has one of the cursors, whole.
 *
 * @param path path of the file, which need not be there
 * @param table the table that its cursor has to be of
 * @returns the file
 * @throws {@link FileError} where it cannot be read, or its folder cannot be written to
 * @throws {@link RequestError} where it holds no cursor, or that of another table
 */
export async function openCursorFile(path: string, table: TableName): Promise<CursorFile> {
  const cursor = await contentOf(path);
  if (cursor === undefined) {
    await requireFolder(dirname(resolve(path)));
  } else {
    requireCursor(path, cursor, table);
  }
  let unsaved: string | undefined;
  let stopTimer: StopTimer | undefined;
  let saving: Promise<void> = Promise.resolve();

  async function save(): Promise<void> {
    const cursor = unsaved;
    unsaved = undefined;
    if (cursor !== undefined) {
      const where = { target: resolve(path), fileName: () => basename(path), force: true };
      await saveWhole(linesOf(cursor), where, { passing: drained, written: () => undefined });
    }
  }

  return {
    cursor,
    async keep(cursor) {
      await saving;
      unsaved = cursor;
      stopTimer ??= startTimer(() => {
        stopTimer = undefined;
        saving = save();
        saving.catch(() => undefined); // It is awaited before the next one.
      }, SAVE_MS);
    },
    async end() {
      stopTimer?.();
      await saving;
      await save();
    },
  };
}

async function contentOf(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trimEnd();
  } catch (reason) {
    const error = fileError(reason, path, readingAdvice);
    if (failedWith(reason, "ENOENT")) {
      return undefined;
    }
    throw error;
  }
}

/** Find out before the first row is printed whether its cursor could be saved. */
async function requireFolder(folder: string): Promise<void> {
  await access(folder, constants.W_OK).catch((reason: unknown) => {
    throw fileError(reason, folder, { ENOENT: "Make the folder first, or choose another path." });
  });
}

function requireCursor(path: string, cursor: string, table: TableName): void {
  try {
    readCursor(cursor, table);
  } catch (reason) {
    throw reason instanceof RequestError
      ? new RequestError(`${quotedPath(path)}: ${reason.summary}`, {
          advice: "Give another --cursor-file, or remove this one to begin anew.",
          cause: reason,
        })
      : reason;
  }
}

async function* linesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${text}\n`);
}

async function drained(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of bytes) {
    // It is written as it passes.
  }
}
