import { type FileHandle, open, stat } from "node:fs/promises";
import type { Socket } from "node:net";
import { fileError, readingAdvice } from "../errors/file-error.js";
import type { Bytes } from "./directory.js";
import { openPipe } from "./pipe.js";

const READ_SIZE = 256 * 1024;

/** An archive that can be read at any position. */
export interface Seekable extends Bytes {
  /**
   * Read from a position to the end.
   *
   * @param position of the first byte, counted from 0
   * @param wanted how many bytes the caller expects to take, which is the size of the first piece where it is less
   * @returns the bytes, in pieces of up to 256 KiB
   */
  stream(position: number, wanted?: number): AsyncGenerator<Uint8Array, void, undefined>;
}

/**
 * Make an archive in memory seekable.
 *
 * @param archive the archive's bytes, which are not copied
 * @returns the archive
 */
export function inMemory(archive: Uint8Array): Seekable {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.length);
  return {
    size: bytes.length,
    read: async (position, length) => {
      if (position < 0 || position + length > bytes.length) {
        throw beyond();
      }
      return bytes.subarray(position, position + length);
    },
    async *stream(position) {
      for (let at = position; at < bytes.length; at += READ_SIZE) {
        yield bytes.subarray(at, at + READ_SIZE);
      }
    },
  };
}

/** Where an archive comes from: the path of a file or pipe, its bytes, or a stream of them. */
export type ArchiveSource = string | Uint8Array | AsyncIterable<Uint8Array>;

/**
 * Read an archive in the way that its source allows. A file stays open while the values are taken.
 *
 * @param source the path of a file or pipe, the archive's bytes, or a stream of them
 * @param seekable reads a file or bytes
 * @param streamed reads a pipe or a stream
 * @returns the values of the one of both that is used
 * @throws {@link FileError} where the file cannot be read
 */
export async function* readSource<T>(
  source: ArchiveSource,
  seekable: (archive: Seekable) => AsyncIterable<T>,
  streamed: (stream: AsyncIterable<Uint8Array>) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  if (typeof source !== "string") {
    yield* source instanceof Uint8Array ? seekable(inMemory(source)) : streamed(source);
    return;
  }
  await using file = await openFile(source);
  yield* file.archive === undefined ? streamed(file.stream()) : seekable(file.archive);
}

/** A file that is open. */
export interface OpenFile extends AsyncDisposable {
  /** The archive in it; `undefined` for a pipe or device, which can only be streamed. */
  readonly archive: Seekable | undefined;
  /**
   * Read the file from its start.
   *
   * @returns the bytes, in pieces of up to 256 KiB
   */
  stream(): AsyncIterable<Uint8Array>;
}

/**
 * Open a file or pipe for reading.
 *
 * @param path of the file
 * @returns the open file, to be disposed of
 * @throws {@link FileError} where the file cannot be read, or is a folder
 */
export async function openFile(path: string): Promise<OpenFile> {
  if ((await onFile(path, stat(path))).isFIFO()) {
    return ofPipe(path);
  }
  const file = await onFile(path, open(path));
  const close = () => file.close().catch(() => undefined);
  try {
    const stats = await onFile(path, file.stat());
    if (stats.isDirectory()) {
      throw fileError(Object.assign(new Error("it is a folder"), { code: "EISDIR" }), path, readingAdvice);
    }
    return {
      archive: stats.isFile() ? ofFile(file, stats.size, path) : undefined,
      stream: () => sequence(file, path),
      async [Symbol.asyncDispose]() {
        const closed = close();
        if (stats.isFile()) {
          await closed; // A device is closed once its last read has ended, which may be never.
        }
      },
    };
  } catch (reason) {
    await close();
    throw reason;
  }
}

/** A pipe is opened by who reads it: its writer then goes on. */
function ofPipe(path: string): OpenFile {
  let pipe: Socket | undefined;
  return {
    archive: undefined,
    async *stream() {
      pipe = openPipe(path);
      yield* pipe;
    },
    async [Symbol.asyncDispose]() {
      pipe?.destroy();
    },
  };
}

function ofFile(file: FileHandle, size: number, path: string): Seekable {
  return {
    size,
    read: async (position, length) => {
      if (position < 0 || position + length > size) {
        throw beyond();
      }
      const buffer = Buffer.alloc(length);
      let read = 0;
      while (read < length) {
        const { bytesRead } = await onFile(path, file.read(buffer, read, length - read, position + read));
        if (bytesRead === 0) {
          throw beyond();
        }
        read += bytesRead;
      }
      return buffer;
    },
    stream: (position, wanted) => sequence(file, path, position, wanted),
  };
}

async function* sequence(
  file: FileHandle,
  path: string,
  position?: number,
  wanted = READ_SIZE,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = position, length = Math.min(wanted, READ_SIZE); ; length = READ_SIZE) {
    const buffer = Buffer.allocUnsafeSlow(length);
    const { bytesRead } = await onFile(path, file.read(buffer, 0, length, at ?? null));
    if (bytesRead === 0) {
      return;
    }
    at = at === undefined ? undefined : at + bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function onFile<T>(path: string, operation: Promise<T>): Promise<T> {
  return operation.catch((reason: unknown) => {
    throw fileError(reason, path, readingAdvice);
  });
}

function beyond(): Error {
  return new Error("a record is said to stand where the archive does not reach");
}
