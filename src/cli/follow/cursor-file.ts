import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { fileError, readingAdvice } from "../../errors/file-error.js";
import { saveWhole } from "../../file/save-whole.js";

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
 * @returns the file
 * @throws {@link FileError} where it cannot be read
 */
export async function openCursorFile(path: string): Promise<CursorFile> {
  let unsaved: string | undefined;
  let timer: NodeJS.Timeout | undefined;
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
    cursor: await contentOf(path),
    async keep(cursor) {
      await saving;
      unsaved = cursor;
      timer ??= setTimeout(() => {
        timer = undefined;
        saving = save();
        saving.catch(() => undefined); // It is awaited before the next one.
      }, SAVE_MS);
    },
    async end() {
      clearTimeout(timer);
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
    if (reason instanceof Error && "code" in reason && reason.code === "ENOENT") {
      return undefined;
    }
    throw error;
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
