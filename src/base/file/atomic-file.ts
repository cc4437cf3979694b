import type { Stats } from "node:fs";
import fs from "node:fs";
import type { FileHandle } from "node:fs/promises";
import paths from "node:path";
import type { TradewireError } from "../errors/index.js";
import { fileError, hasErrorCode, isError } from "../errors/node-errors.js";
import { refuseToReplace } from "./device.js";
import { sweepTemporary, temporaryName } from "./temporary-files.js";

/** How many bytes are buffered before they are written. */
const WRITE_SIZE = 1024 * 1024;

export interface SavedFile {
  /** Absolute path of the file. */
  readonly path: string;
  /** Size in bytes. */
  readonly bytes: number;
  /** SHA-256 in hex. */
  readonly sha256: string;
}

/** Where a file is saved. */
export interface FileTarget {
  /** A folder (one that exists, or a path that ends in a separator), or the path of the file. */
  readonly target: string;
  /** Returns the file's name if the target is a folder. Called once bytes arrive, or have ended. */
  readonly fileName: () => string;
  /** Whether an existing file is replaced. */
  readonly force: boolean;
  /**
   * Called once the file is written and verified, right before it gets its name.
   *
   * @throws to prevent this; nothing is saved then
   */
  readonly beforeNaming?: ((saved: SavedFile) => Promise<void>) | undefined;
}

/** How a file is verified before it gets its name. */
export interface FileVerification<T, F> {
  /**
   * Consumes the bytes to their end, which writes them.
   *
   * @throws if the bytes are invalid; nothing is saved then
   */
  consume(bytes: AsyncIterable<Uint8Array>): Promise<T>;
  /**
   * Verifies the file once it is written.
   *
   * @throws if the file is invalid; nothing is saved then
   */
  verify(path: string, found: T): F | Promise<F>;
}

/** Accepts any content. */
const NO_VERIFICATION: FileVerification<void, void> = {
  async consume(bytes) {
    for await (const _ of bytes) {
      // Consuming a chunk writes it.
    }
  },
  verify: () => undefined,
};

/**
 * Saves a file atomically: completely, or not at all.
 *
 * The bytes go to a temporary file in the target's folder. It gets its name only after the bytes have ended without an
 * error and were verified. A file that is replaced keeps its mode, owner and group if the system permits it, and a symbolic
 * link keeps pointing to it. On failure the temporary file is removed. The temporary file of a killed process is removed when the next file
 * is saved to the folder by a process of the same machine, since its boot (on Linux).
 *
 * @throws {@link FileError} if the file cannot be written, or exists; errors of `bytes` and `verification` unchanged
 */
export async function saveAtomically<T, F>(
  bytes: AsyncIterable<Uint8Array>,
  where: FileTarget,
  verification: FileVerification<T, F>,
): Promise<SavedFile & { readonly found: F }> {
  const { folder, name } = await locateTarget(where);
  const located = name === undefined ? undefined : await placeOf(paths.join(folder, name), where.force);
  // Opened before the first byte is requested, so that a folder that cannot be written to is noticed in time.
  let part = await openPart(located?.folder ?? folder);
  try {
    const start = async () => {
      const place = located ?? (await placeOf(paths.join(folder, where.fileName()), where.force));
      if (!where.force && (await exists(place.path))) {
        throw fileExists(place.path);
      }
      if (place.real !== place.path && place.folder !== part.folder) {
        // The name is a link to another folder, which may be on another disk.
        await part.discard();
        part = await openPart(place.folder);
      }
      return { place, writer: createWriter(part.file, part.folder) };
    };
    let begun: Awaited<ReturnType<typeof start>> | undefined;
    async function* writing(): AsyncGenerator<Uint8Array> {
      for await (const chunk of bytes) {
        begun ??= await start();
        if (begun.writer.add(chunk) >= WRITE_SIZE) {
          await begun.writer.flush();
        }
        yield chunk;
      }
    }
    const consumed = await verification.consume(writing());
    begun ??= await start(); // There were no bytes.
    const { path, real, before } = begun.place;
    const content = await begun.writer.finish();
    await withFileErrors(part.folder, keepAccess(part.file, before));
    await withFileErrors(part.folder, part.file.sync());
    const found = await verification.verify(part.path, consumed);
    await where.beforeNaming?.({ path, ...content });
    await (where.force ? withFileErrors(path, fs.promises.rename(part.path, real)) : nameNewFile(part.path, real));
    await syncFolder(part.folder);
    return { path, ...content, found };
  } finally {
    await part.discard();
  }
}

interface Part {
  readonly folder: string;
  readonly path: string;
  readonly file: FileHandle;
  /** Closes it, and removes it unless it has got its name. Failures of this must not hide the first error. */
  discard(): Promise<void>;
}

async function openPart(folder: string): Promise<Part> {
  await sweepTemporary(folder);
  const path = paths.join(folder, await temporaryName());
  const file = await withFileErrors(folder, fs.promises.open(path, "wx"));
  return {
    folder,
    path,
    file,
    async discard() {
      await file.close().catch(() => undefined);
      await fs.promises.rm(path).catch(() => undefined);
    },
  };
}

interface Place {
  /** The path that the user named. */
  readonly path: string;
  /** The path that it leads to, through symbolic links if a file is replaced, and its folder. */
  readonly real: string;
  readonly folder: string;
  /** The status of the file that is replaced, if there is one. */
  readonly before: Stats | undefined;
}

/** How many symbolic links Linux follows. */
const MAX_LINKS = 40;

/**
 * Follows the symbolic links of a path whose file is replaced.
 *
 * @throws {@link FileError} if a link may not be followed, or it leads to something that is not a file
 */
async function placeOf(path: string, force: boolean): Promise<Place> {
  if (!force) {
    return { path, real: path, folder: paths.dirname(path), before: undefined };
  }
  const { readlink, realpath, stat } = fs.promises;
  // The system checks here whether the links may be followed. A link may lead nowhere yet.
  const before = await stat(path).catch((reason: unknown) => {
    if (!hasErrorCode(reason, "ENOENT")) {
      throw fileError(reason, path);
    }
    return undefined;
  });
  if (before !== undefined) {
    refuseToReplace(path, before);
  }
  let real = path;
  for (let links = 0; links < MAX_LINKS; links += 1) {
    const to = await readlink(real).catch(() => undefined);
    if (to === undefined) {
      break;
    }
    const folder = await withFileErrors(path, realpath(paths.dirname(real)));
    real = paths.resolve(folder, to);
  }
  return { path, real, folder: paths.dirname(real), before };
}

/** Permission bits. */
const [ALL, GROUP, OTHERS] = [0o777, 0o070, 0o007];

/** Gives a file the mode, owner and group of the one that it replaces, as far as the system permits. */
async function keepAccess(file: FileHandle, before: Stats | undefined): Promise<void> {
  if (before === undefined) {
    return;
  }
  const { uid, gid, mode } = before;
  const isKept = await file.chown(uid, gid).then(
    () => true,
    () =>
      file.chown(-1, gid).then(
        () => true,
        () => false,
      ),
  );
  const bits = mode & ALL;
  // Another group than before gets no more than everyone.
  await file.chmod(isKept ? bits : (bits & ~GROUP) | ((bits & OTHERS) << 3));
}

/**
 * Saves a file as {@link saveAtomically} does, without verifying its content.
 *
 * @throws {@link FileError} if the file cannot be written, or exists; errors of `bytes` unchanged
 */
export async function saveUnverified(bytes: AsyncIterable<Uint8Array>, where: FileTarget): Promise<SavedFile> {
  const { found, ...saved } = await saveAtomically(bytes, where, NO_VERIFICATION);
  return saved;
}

/**
 * Writes a small file atomically, also with respect to a crash of the machine. Temporary files in its folder are not cleaned up.
 *
 * @throws the system's error if it cannot be written
 */
export async function writeAtomically(path: string, text: string, mode: "create" | "replace"): Promise<boolean> {
  const temporary = paths.join(paths.dirname(path), await temporaryName());
  try {
    const file = await fs.promises.open(temporary, "wx");
    await file
      .writeFile(text)
      .then(() => file.sync())
      .finally(() => file.close());
    await (mode === "replace" ? fs.promises.rename(temporary, path) : fs.promises.link(temporary, path));
    await syncFolder(paths.dirname(path));
    return true;
  } catch (reason) {
    if (mode === "create" && hasErrorCode(reason, "EEXIST")) {
      return false;
    }
    throw reason;
  } finally {
    await fs.promises.rm(temporary, { force: true }).catch(() => undefined); // The next sweep removes it.
  }
}

/**
 * Replaces a file atomically and synchronously. It is not synced to disk. Only one process may write to the folder.
 *
 * @throws the system's error if it cannot be written
 */
export function replaceFileSync(path: string, chunks: readonly Uint8Array[]): void {
  const temporary = `${path}.part`;
  fs.rmSync(temporary, { force: true }); // A killed process may have left one.
  for (const chunk of chunks) {
    fs.appendFileSync(temporary, chunk, { mode: 0o600 });
  }
  fs.renameSync(temporary, path);
}

/**
 * Resolves a target to a folder and a name. A missing folder is created.
 *
 * @throws {@link FileError} if the file exists, or the folder cannot be created
 */
export async function locateTarget({
  target,
  force,
}: Pick<FileTarget, "target" | "force">): Promise<{ readonly folder: string; readonly name?: string }> {
  const path = paths.resolve(target);
  const isFolder = await fs.promises.stat(path).then(
    (found) => found.isDirectory(),
    () => undefined,
  );
  if (isFolder === true || /[/\\]$/.test(target)) {
    createFolder(path);
    return { folder: path };
  }
  if (isFolder === false && !force) {
    throw fileExists(path);
  }
  return { folder: paths.dirname(path), name: paths.basename(path) };
}

/** Bytes that were added and not written yet. */
interface WriteBuffer {
  readonly chunks: Uint8Array[];
  size: number;
}

/** Creates a writer that writes chunks to a file while more chunks arrive. */
function createWriter(file: FileHandle, folder: string) {
  const hash = process.getBuiltinModule("node:crypto").createHash("sha256");
  let total = 0;
  let buffer: WriteBuffer = { chunks: [], size: 0 };
  let written: Promise<unknown> = Promise.resolve();
  /** Starts to write the buffer, once the previous one is written. */
  const flush = async () => {
    await written;
    written = withFileErrors(folder, writeFully(file, buffer));
    written.catch(() => undefined); // It is awaited before the next write.
    buffer = { chunks: [], size: 0 };
  };
  return {
    /** Adds a chunk. Returns the number of buffered bytes. */
    add(chunk: Uint8Array): number {
      buffer.chunks.push(chunk);
      buffer.size += chunk.length;
      total += chunk.length;
      hash.update(chunk);
      return buffer.size;
    },
    flush,
    async finish() {
      await flush();
      await written;
      return { bytes: total, sha256: hash.digest("hex") };
    },
  };
}

async function writeFully(file: FileHandle, { chunks, size }: WriteBuffer): Promise<void> {
  const { bytesWritten } = await file.writev(chunks);
  if (bytesWritten < size) {
    // A full disk accepts only a part. Writing the rest then fails with the reason.
    await file.writeFile(Buffer.concat(chunks).subarray(bytesWritten));
  }
}

/** Gives a file its name in one step, unless the name is taken. */
async function nameNewFile(temporary: string, path: string): Promise<void> {
  try {
    await fs.promises.link(temporary, path);
  } catch {
    // The name is taken, or the file system has no links: then checking and renaming are two steps.
    if (await exists(path)) {
      throw fileExists(path);
    }
    await withFileErrors(path, fs.promises.rename(temporary, path));
  }
}

function exists(path: string): Promise<boolean> {
  return fs.promises.lstat(path).then(
    () => true,
    () => false,
  );
}

function fileExists(path: string): TradewireError {
  return fileError(Object.assign(new Error("file exists"), { code: "EEXIST" }), path);
}

/** Syncs a folder to disk, so that the names in it survive a crash of the machine. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await fs.promises.open(folder, "r");
    await handle.sync().finally(() => handle.close());
  } catch {
    // Windows cannot open folders.
  }
}

async function withFileErrors<T>(path: string, operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (reason) {
    throw fileError(reason, path);
  }
}

/**
 * Creates a folder and its missing parents. An existing folder is left as it is.
 *
 * Node's own option, `recursive`, never returns if the system answers that a new folder does not exist although its
 * parent does, as in `/proc`.
 *
 * @throws {@link FileError} if it cannot be created, or is not a folder
 */
export function createFolder(path: string): void {
  try {
    create(path);
  } catch (reason) {
    throw fileError(reason, path, {
      EEXIST: "Use the path of a folder: this is a file.",
      ENOENT: "Choose another folder: this one cannot be created.",
    });
  }
}

function create(path: string, parentExists = false): void {
  try {
    fs.mkdirSync(path);
  } catch (reason) {
    const code = isError(reason) && "code" in reason ? reason.code : undefined;
    if (code === "EEXIST" && fs.statSync(path).isDirectory()) {
      return;
    }
    const parent = paths.dirname(path);
    if (code !== "ENOENT" || parentExists || parent === path) {
      throw reason;
    }
    create(parent);
    create(path, true);
  }
}
