import { access, constants, readFile, stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { FileError, RequestError } from "../base/errors/index.js";
import { fileError, hasErrorCode, READ_ADVICE, shownPath } from "../base/errors/node-errors.js";
import { saveUnverified } from "../base/file/atomic-file.js";
import { refuseToReplace } from "../base/file/device.js";
import { type StopTimer, startTimer } from "../base/runtime/index.js";
import type { TableName } from "../data/schema/table-names.js";
import { readCursor } from "../trade/live/follow-cursor.js";

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
