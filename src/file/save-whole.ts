import { createHash } from "node:crypto";
import { type FileHandle, link, lstat, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileError } from "../errors/file-error.js";
import type { TradewireError } from "../errors/index.js";
import { makeFolder } from "./make-folder.js";
import { sweepTemporary, temporaryName } from "./temporary.js";

/** How many bytes are gathered before they are written. */
const WRITE_SIZE = 1024 * 1024;

/** A file that was saved. */
export interface SavedFile {
  /** Absolute path of the file. */
  readonly path: string;
  /** Its size in bytes. */
  readonly bytes: number;
  /** Its SHA-256 in hex. */
  readonly sha256: string;
}

/** Where a file is saved. */
export interface FileTarget {
  /** A folder (one that exists, or a path that ends in a separator), or the path of the file. */
  readonly target: string;
  /**
   * Called once bytes arrive, or have ended, where the target is a folder.
   *
   * @returns the file's name in it
   */
  readonly fileName: () => string;
  /** Whether a file of that name is replaced. */
  readonly force: boolean;
  /**
   * Called once the file is written and checked, right before it takes its name.
   *
   * @param saved what the file will be
   * @throws where it is not to take its name; nothing is saved then
   */
  readonly beforeNaming?: ((saved: SavedFile) => Promise<void>) | undefined;
}

/** How a file is checked before it takes its name. */
export interface FileCheck<T, F> {
  /**
   * Read the bytes to their end, which writes them.
   *
   * @param bytes the bytes, each piece written as it is taken
   * @returns what was found
   * @throws where they are not what they should be; nothing is saved then
   */
  passing(bytes: AsyncIterable<Uint8Array>): Promise<T>;
  /**
   * Check the file once it is written.
   *
   * @param path the file's path, under a temporary name
   * @param found what `passing` found
   * @returns what is known of the file
   * @throws where it is not what it should be; nothing is saved then
   */
  written(path: string, found: T): F | Promise<F>;
}

/**
 * Write a file: whole, or not at all.
 *
 * The bytes go to a temporary file beside the target. It takes the target's name only after the bytes have ended
 * without an error and were checked. On failure it is removed. That of a process that was killed is removed when the
 * next file is saved to the folder, by a process of the same machine since its boot (on Linux).
 *
 * @param bytes the file's content, split anywhere; its errors are thrown unchanged
 * @param where the folder or file to write to, and whether an existing file is replaced
 * @param check tells whether the content is whole
 * @returns the path, size and checksum of the file, and what the check found
 * @throws {@link FileError} where the file cannot be written, or exists; all that `bytes` and `check` throw
 */
export async function saveWhole<T, F>(
  bytes: AsyncIterable<Uint8Array>,
  where: FileTarget,
  check: FileCheck<T, F>,
): Promise<SavedFile & { readonly found: F }> {
  const { folder, name } = await placeOf(where);
  await sweepTemporary(folder);
  const temporary = join(folder, await temporaryName());
  const file = await onFile(folder, open(temporary, "wx"));
  try {
    let path: string | undefined;
    const choosePath = async () => {
      const chosen = join(folder, name ?? where.fileName());
      if (!where.force && (await isThere(chosen))) {
        throw exists(chosen);
      }
      return chosen;
    };
    const writing = startWriting(file, folder);
    async function* passing(): AsyncGenerator<Uint8Array> {
      for await (const piece of bytes) {
        path ??= await choosePath();
        if (writing.add(piece) >= WRITE_SIZE) {
          await writing.flush();
        }
        yield piece;
      }
    }
    const passed = await check.passing(passing());
    path ??= await choosePath(); // No bytes came.
    const content = await writing.finish();
    await onFile(folder, file.sync());
    const found = await check.written(temporary, passed);
    await where.beforeNaming?.({ path, ...content });
    await (where.force ? onFile(path, rename(temporary, path)) : nameNew(temporary, path));
    await syncFolder(folder);
    return { path, ...content, found };
  } finally {
    // Failures of the cleaning up must not hide the first one.
    await file.close().catch(() => undefined);
    await rm(temporary).catch(() => undefined);
  }
}

/**
 * Find out where a file goes. A folder that does not exist is made.
 *
 * @param where the folder or file to write to, and whether an existing file is replaced
 * @returns the folder to write to, and the name in it where the target has one
 * @throws {@link FileError} where the file exists, or the folder cannot be made
 */
export async function placeOf({
  target,
  force,
}: Pick<FileTarget, "target" | "force">): Promise<{ readonly folder: string; readonly name?: string }> {
  const path = resolve(target);
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => undefined,
  );
  if (isFolder === true || /[/\\]$/.test(target)) {
    makeFolder(path);
    return { folder: path };
  }
  if (isFolder === false && !force) {
    throw exists(path);
  }
  return { folder: dirname(path), name: basename(path) };
}

/** Write pieces to a file while further ones arrive. */
function startWriting(file: FileHandle, folder: string) {
  const hash = createHash("sha256");
  let size = 0;
  let gathered: Uint8Array[] = [];
  let gatheredSize = 0;
  let written: Promise<unknown> = Promise.resolve();
  /** Begin to write what is gathered, once what was gathered before is written. */
  const flush = async () => {
    await written;
    written = onFile(folder, writeFully(file, gathered, gatheredSize));
    written.catch(() => undefined); // It is awaited before the next write.
    gathered = [];
    gatheredSize = 0;
  };
  return {
    /** Gather a piece; gives how many bytes are gathered. */
    add(piece: Uint8Array): number {
      gathered.push(piece);
      gatheredSize += piece.length;
      size += piece.length;
      hash.update(piece);
      return gatheredSize;
    },
    flush,
    async finish() {
      await flush();
      await written;
      return { bytes: size, sha256: hash.digest("hex") };
    },
  };
}

async function writeFully(file: FileHandle, pieces: Uint8Array[], size: number): Promise<void> {
  const { bytesWritten } = await file.writev(pieces);
  if (bytesWritten < size) {
    // A full disk takes only a part. Writing the rest then fails with the reason.
    await file.writeFile(Buffer.concat(pieces).subarray(bytesWritten));
  }
}

/** Give a file its name in one step, unless the name is taken. */
async function nameNew(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
  } catch {
    // The name is taken, or the file system has no links. There the check and the renaming are two steps.
    if (await isThere(path)) {
      throw exists(path);
    }
    await onFile(path, rename(temporary, path));
  }
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function exists(path: string): TradewireError {
  return fileError(Object.assign(new Error("file exists"), { code: "EEXIST" }), path);
}

/** Write the folder to disk, so that the file's name survives a crash. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    await handle.sync().finally(() => handle.close());
  } catch {
    // Windows cannot open folders. The file's content is on disk already.
  }
}

async function onFile<T>(path: string, operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (reason) {
    throw fileError(reason, path);
  }
}
