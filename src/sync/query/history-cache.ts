import { createHash } from "node:crypto";
import { readdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { fileError, hasErrorCode } from "../../base/errors/node-errors.js";
import { sweepLocks, takeLock } from "../../base/file/lock-file.js";
import { sweepTemporary } from "../../base/file/temporary-files.js";
import { unixMs } from "../../base/runtime/index.js";
import { wait } from "../../base/signal/wait.js";

/** A file of the cache, which nobody else uses until it is released. */
export interface CacheFile extends AsyncDisposable {
  /** The path of the DuckDB file, which may not exist. */
  readonly path: string;
  /** Returns its size in bytes, with its log; 0 if it does not exist. */
  size(): Promise<number>;
  /** Deletes it. */
  remove(): Promise<void>;
  /** Notes that it was used, and deletes files that were not used for longest, until all files have at most this size in bytes. */
  markUsed(maxBytes: number): Promise<void>;
}

/** The time between two attempts to get the lock of a file, in milliseconds. */
const LOCK_MS = 100;

/**
 * Takes a file of the cache for this process alone, after other queries of the same part of the same chain have ended.
 *
 * @param folder the folder of the cache, which exists
 * @param key what the file contains, such as the chain; any text
 * @param onWait called once if another process uses the file
 * @throws {@link CanceledError} if the signal is aborted; {@link FileError} if the folder cannot be used
 */
export async function takeCacheFile(
  folder: string,
  key: string,
  { onWait, signal }: { readonly onWait: (pid: number | undefined) => void; readonly signal: AbortSignal },
): Promise<CacheFile> {
  await sweepTemporary(folder);
  await sweepLocks(folder);
  const path = join(folder, `${createHash("sha256").update(key).digest("hex").slice(0, 32)}.duckdb`);
  const lockPath = `${path}.lock`;
  let lock = await inFolder(folder, takeLock(lockPath));
  if (!lock.held) {
    onWait(lock.pid);
  }
  while (!lock.held) {
    await wait(LOCK_MS, signal);
    lock = await inFolder(folder, takeLock(lockPath));
  }
  return {
    path,
    size: () => sizeOf(path),
    remove: () => removeDatabase(path),
    async markUsed(maxBytes) {
      const now = new Date(unixMs());
      await inFolder(path, utimes(path, now, now));
      await removeUnused(folder, path, maxBytes);
    },
    [Symbol.asyncDispose]: lock[Symbol.asyncDispose],
  };
}

/** The files of a DuckDB database. */
const filesOf = (path: string) => [path, `${path}.wal`];

async function sizeOf(path: string): Promise<number> {
  const sizes = await Promise.all(filesOf(path).map(async (file) => (await statOf(file))?.size ?? 0));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function removeDatabase(path: string): Promise<void> {
  for (const file of filesOf(path)) {
    await inFolder(file, rm(file, { force: true }));
  }
}

/** Deletes the files that were not used for longest, except one and those in use. */
async function removeUnused(folder: string, kept: string, maxBytes: number): Promise<void> {
  const names = (await inFolder(folder, readdir(folder))).filter((name) => name.endsWith(".duckdb"));
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      return { path, size: await sizeOf(path), usedMs: (await statOf(path))?.mtimeMs ?? 0 };
    }),
  );
  let total = found.reduce((sum, { size }) => sum + size, 0);
  for (const { path, size } of found.sort((a, b) => a.usedMs - b.usedMs)) {
    if (total <= maxBytes) {
      return;
    }
    if (path === kept) {
      continue;
    }
    await using lock = asDisposable(await inFolder(folder, takeLock(`${path}.lock`)));
    if (lock.held) {
      await removeDatabase(path);
      total -= size;
    }
  }
}

type Taken = Awaited<ReturnType<typeof takeLock>>;

function asDisposable(lock: Taken): { readonly held: boolean } & AsyncDisposable {
  return lock.held ? lock : { ...lock, async [Symbol.asyncDispose]() {} };
}

async function statOf(path: string) {
  try {
    return await stat(path);
  } catch (reason) {
    if (hasErrorCode(reason, "ENOENT")) {
      return undefined;
    }
    throw fileError(reason, path);
  }
}

async function inFolder<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (reason) {
    throw fileError(reason, path);
  }
}
