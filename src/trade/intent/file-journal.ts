import { type BigIntStats, statSync } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import * as v from "valibot";
import { Code } from "../../base/errors/code.js";
import { quoted } from "../../base/errors/error-text.js";
import { FileError, TradewireError } from "../../base/errors/index.js";
import { fileError } from "../../base/errors/node-errors.js";
import { syncFolder } from "../../base/file/atomic-file.js";
import { isMountPoint } from "../../base/file/device.js";
import { type Lock, takeLock } from "../../base/file/lock-file.js";
import { assertText } from "../../base/input/assert.js";
import { tryParseJson } from "../../base/input/decode.js";
import { strictObject, wholeNumber } from "../../base/input/schemas.js";
import type { Journal } from "./journal.js";

/** The maximum number of intents in a file: the place of each is in memory, about 200 bytes. */
const MAX_INTENTS = 1_000_000;

/** The maximum size of an entry on disk, in bytes. */
const MAX_ENTRY_BYTES = 4 * 1024 * 1024;

/** How each line begins. */
const LINE_START = Buffer.from('{"id":"');

/** How many bytes are read together when a file is opened. */
const READ_BYTES = 1024 * 1024;

const lineSchema = strictObject({ id: v.string(), position: wholeNumber, isLast: v.boolean(), entry: v.string() });

interface Placed {
  readonly lines: { readonly offset: number; readonly length: number }[];
  isEnded: boolean;
}

interface Pending {
  readonly line: Buffer;
  readonly written: (offset: number) => void;
  readonly failed: (reason: unknown) => void;
}

/**
 * Opens a journal in a file, which is created if it is missing. Entries are appended as lines of JSON and synced to disk;
 * those that are appended at the same time share one sync. A last line that a crash has truncated was never confirmed, so it
 * is removed.
 *
 * One process uses a file at a time. A file holds at most a million intents; once none is open, begin a new one.
 *
 * @param path path of the file, in a folder that exists
 * @returns the journal; disposing of it frees the file
 * @throws {@link FileError} if another process uses it, it has several names or is mounted by itself, it cannot be read or written,
 *   or it is not a journal
 *
 * @example
 * await using journal = await openFileJournal("orders.journal");
 */
export async function openFileJournal(path: string): Promise<Journal> {
  assertText("path", path, "orders.journal");
  const realPath = await createdFile(path).catch((reason: unknown) => {
    throw fileError(reason, path);
  });
  const lock = await takeLock(`${realPath}.lock`).catch((reason: unknown) => {
    throw fileError(reason, `${realPath}.lock`);
  });
  if (!lock.held) {
    const by = lock.pid === undefined ? "another process" : `process ${lock.pid}`;
    throw new FileError(`${path} is in use by ${by}`, {
      code: Code.FailedPrecondition,
      advice:
        "Only one process can use a journal at a time. Stop the other process, or use a separate journal for each process.",
    });
  }
  let file: FileHandle | undefined;
  try {
    file = await open(realPath, "a+", 0o600);
    const stats = await file.stat({ bigint: true });
    // Each path has a lock of its own.
    if (stats.nlink > 1n) {
      throw severalPaths(path, "has other names, which are hard links", "Remove them, or copy the file");
    }
    if (await isMountPoint(realPath)) {
      const advice =
        "Mount the folder of the journal instead, for example with `docker run -v /data/journals:/journals`";
      throw severalPaths(path, "is mounted by itself, so it has another path", advice);
    }
    const { intents, size } = await readLines(file, path);
    await file.truncate(size);
    await file.sync();
    await syncFolder(dirname(realPath));
    return createFileJournal({ path, realPath, file, stats, lock, intents, size });
  } catch (reason) {
    await file?.close();
    await lock[Symbol.asyncDispose]();
    throw toFileError(reason, path);
  }
}

function severalPaths(path: string, problem: string, advice: string): FileError {
  return new FileError(`${path} ${problem}`, {
    code: Code.FailedPrecondition,
    advice: `${advice}: a program that opens the journal by another path could send the same intent.`,
  });
}

/** Creates a file unless it exists, and returns its path without symbolic links: all paths to a file share its lock. */
async function createdFile(path: string): Promise<string> {
  const file = await open(path, "a", 0o600);
  await file.close();
  return realpath(path);
}

/** Reads the lines of a file, up to the last line feed. */
async function readLines(
  file: FileHandle,
  path: string,
): Promise<{ readonly intents: Map<string, Placed>; readonly size: number }> {
  const intents = new Map<string, Placed>();
  let size = 0;
  let count = 0;
  let rest = Buffer.alloc(0);
  for (;;) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(READ_BYTES), 0, READ_BYTES, size + rest.length);
    if (bytesRead === 0) {
      const start = rest.subarray(0, LINE_START.length);
      if (size === 0 && !start.equals(LINE_START.subarray(0, start.length))) {
        throw broken(path, 1, "not a journal entry"); // Another file, which must not be truncated.
      }
      return { intents, size };
    }
    let text = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      count += 1;
      const { id, ...at } = parseLine(text.subarray(0, end), path, count);
      if (!isNext(intents, id, at.position)) {
        throw broken(path, count, `not the next entry of intent ${quoted(id)}`);
      }
      requireRoom(intents, id, path);
      place(intents, id, at.isLast, { offset: size, length: end + 1 });
      size += end + 1;
      text = text.subarray(end + 1);
    }
    if (text.length > MAX_ENTRY_BYTES) {
      throw broken(path, count + 1, `the line exceeds ${MAX_ENTRY_BYTES} bytes`);
    }
    rest = text;
  }
}

function parseLine(line: Buffer, path: string, number: number): v.InferOutput<typeof lineSchema> {
  const json = tryParseJson(line.toString());
  if (json === undefined) {
    throw broken(path, number, "invalid JSON");
  }
  const parsed = v.safeParse(lineSchema, json);
  if (!parsed.success) {
    throw broken(path, number, "not a journal entry");
  }
  return parsed.output;
}

function broken(path: string, line: number, problem: string): FileError {
  return new FileError(`${path}, line ${line}: ${problem}`, {
    code: Code.DataLoss,
    advice: "Use a file that openFileJournal() wrote. If it was edited, restore it: it records what was sent.",
  });
}

function toFileError(reason: unknown, path: string): TradewireError {
  return reason instanceof TradewireError ? reason : fileError(reason, path);
}

function isNext(intents: ReadonlyMap<string, Placed>, id: string, position: number): boolean {
  const { lines, isEnded } = intents.get(id) ?? { lines: [], isEnded: false };
  return !isEnded && lines.length === position;
}

function requireRoom(intents: ReadonlyMap<string, Placed>, id: string, path: string): void {
  if (intents.size >= MAX_INTENTS && !intents.has(id)) {
    throw new FileError(`${path} has reached the maximum of ${MAX_INTENTS} intents`, {
      code: Code.ResourceExhausted,
      advice: "Settle the open intents with resume(), and start a new file.",
    });
  }
}

function place(intents: Map<string, Placed>, id: string, isLast: boolean, line: Placed["lines"][number]): void {
  const placed = intents.get(id) ?? { lines: [], isEnded: false };
  placed.lines.push(line);
  placed.isEnded = isLast;
  intents.set(id, placed);
}

/** An open file, and what is in it. */
interface OpenFile {
  readonly path: string;
  /** The path without symbolic links. */
  readonly realPath: string;
  readonly file: FileHandle;
  readonly stats: BigIntStats;
  readonly lock: Lock;
  readonly intents: Map<string, Placed>;
  readonly size: number;
}

function createFileJournal({ path, realPath, file, stats, lock, intents, size: initialSize }: OpenFile): Journal {
  let size = initialSize;
  let pending: Pending[] = [];
  let writing: Promise<void> | undefined;
  /** Why nothing can be written any more: after a failed write, it is not known what is on disk. */
  let failure: FileError | undefined;
  let closing: Promise<void> | undefined;
  /** The intents to which an entry is being appended. */
  const reserved = new Set<string>();

  async function end(): Promise<void> {
    await writing;
    failure ??= new FileError(`${path} was closed`, {
      code: Code.Canceled,
      advice: "Close a journal only after the orders that use it.",
    });
    await file.close();
    await lock[Symbol.asyncDispose]();
  }

  function requireLock(): void {
    if (!lock.isHeld()) {
      throw new FileError(`another process has taken over ${path}`, {
        code: Code.Aborted,
        advice: "This process was suspended for too long, or the lock file was removed. Open the journal again.",
      });
    }
  }

  /** Throws if the file has lost its name: the next program would begin with an empty journal, and send intents again. */
  function requireName(): void {
    const now = statSync(realPath, { bigint: true, throwIfNoEntry: false });
    if (now?.ino !== stats.ino || now.dev !== stats.dev) {
      throw new FileError(`${path} was moved, removed or replaced`, {
        code: Code.Aborted,
        advice: "Put the journal back, and open it again: it records what was sent.",
      });
    }
  }

  /**
   * Removes the remains of a failed write: the next process to open the file would send it, although its submission has failed.
   */
  async function removeUnconfirmed(): Promise<void> {
    try {
      if (lock.isHeld()) {
        await file.truncate(size);
        await file.datasync();
      }
    } catch {
      // It is sent once at most in any case.
    }
  }

  /** Writes all pending lines with one sync, until there are none. */
  async function writePending(): Promise<void> {
    while (pending.length > 0) {
      const batch = pending;
      pending = [];
      try {
        if (failure !== undefined) {
          throw failure;
        }
        requireLock();
        requireName();
        await file.appendFile(Buffer.concat(batch.map(({ line }) => line)));
        await file.datasync();
        requireLock(); // What another process reads from now on is complete; nothing of this is sent.
      } catch (reason) {
        if (failure === undefined) {
          failure = toFileError(reason, path);
          await removeUnconfirmed();
        }
        for (const { failed } of batch) {
          failed(failure);
        }
        continue;
      }
      for (const { line, written } of batch) {
        written(size);
        size += line.length;
      }
    }
    writing = undefined;
  }

  function write(line: Buffer): Promise<number> {
    return new Promise((written, failed) => {
      pending.push({ line, written, failed });
      writing ??= Promise.resolve().then(writePending);
    });
  }

  return {
    async read(id) {
      const entries: string[] = [];
      for (const { offset, length } of intents.get(id)?.lines ?? []) {
        const { buffer } = await file.read(Buffer.alloc(length), 0, length, offset);
        entries.push(parseLine(buffer.subarray(0, length - 1), path, entries.length + 1).entry);
      }
      return entries;
    },

    async append(id, entry, { position, isLast }) {
      if (!isNext(intents, id, position) || reserved.has(id)) {
        return false;
      }
      requireRoom(intents, id, path);
      const line = Buffer.from(`${JSON.stringify({ id, position, isLast, entry })}\n`);
      if (line.length > MAX_ENTRY_BYTES) {
        throw new FileError(`an entry of ${path} is too large: ${line.length} bytes`, {
          code: Code.ResourceExhausted,
          advice: `The maximum is ${MAX_ENTRY_BYTES} bytes.`,
        });
      }
      reserved.add(id);
      try {
        const offset = await write(line);
        place(intents, id, isLast, { offset, length: line.length });
        return true;
      } finally {
        reserved.delete(id);
      }
    },

    async open() {
      return [...intents].flatMap(([id, { isEnded }]) => (isEnded ? [] : [id]));
    },

    close() {
      closing ??= end();
      return closing;
    },

    [Symbol.asyncDispose]() {
      return this.close();
    },
  };
}
