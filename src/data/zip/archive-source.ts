import fs from "node:fs";
import type { FileHandle } from "node:fs/promises";
import type { Socket } from "node:net";
import { fileError, READ_ADVICE } from "../../base/errors/node-errors.js";
import { isBytes } from "../../base/input/assert.js";
import { CENTRAL_HEADER, END_RECORD_SIZE, signatureBytes, tooLarge, ZIP64_LOCATOR_SIZE } from "./zip-format.js";

const READ_SIZE = 256 * 1024;

/** An archive that can be read at any position. */
export interface Seekable extends RandomAccess {
  /** Reads from a position to the end of the archive. */
  stream(position: number, expected?: number): AsyncGenerator<Uint8Array, void, undefined>;
}

export function inMemory(archive: Uint8Array): Seekable {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.length);
  return {
    size: bytes.length,
    read: async (position, length) => {
      if (position < 0 || position + length > bytes.length) {
        throw outOfRange();
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

/** The source of an archive: the path of a file or pipe, its bytes, or a stream of them. */
export type ArchiveSource = string | Uint8Array | AsyncIterable<Uint8Array>;

/**
 * Reads an archive in the way that its source supports. A file stays open while the values are consumed.
 *
 * @throws {@link FileError} if the file cannot be read
 */
export async function* readSource<T>(
  source: ArchiveSource,
  seekable: (archive: Seekable) => AsyncIterable<T>,
  streamed: (stream: AsyncIterable<Uint8Array>) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  if (typeof source !== "string") {
    yield* isBytes(source) ? seekable(inMemory(source)) : streamed(source);
    return;
  }
  await using file = await openFile(source);
  yield* file.archive === undefined ? streamed(file.stream()) : seekable(file.archive);
}

export interface OpenFile extends AsyncDisposable {
  /** The archive in the file; `undefined` for a pipe or device, which can only be streamed. */
  readonly archive: Seekable | undefined;
  /** Reads the file from its start. */
  stream(): AsyncIterable<Uint8Array>;
}

/**
 * Opens a file or pipe for reading.
 *
 * @throws {@link FileError} if the file cannot be read or is a folder
 */
export async function openFile(path: string): Promise<OpenFile> {
  if ((await withFileErrors(path, fs.promises.stat(path))).isFIFO()) {
    return openNamedPipe(path);
  }
  const file = await withFileErrors(path, fs.promises.open(path));
  const close = () => file.close().catch(() => undefined);
  try {
    const stats = await withFileErrors(path, file.stat());
    if (stats.isDirectory()) {
      throw fileError(Object.assign(new Error("it is a folder"), { code: "EISDIR" }), path, READ_ADVICE);
    }
    return {
      archive: stats.isFile() ? seekableFile(file, stats.size, path) : undefined,
      stream: () => readChunks(file, path),
      async [Symbol.asyncDispose]() {
        const closed = close();
        if (stats.isFile()) {
          await closed; // A device closes after its last read, which may never end.
        }
      },
    };
  } catch (reason) {
    await close();
    throw reason;
  }
}

/** A pipe is opened when it is read, since that lets its writer continue. */
function openNamedPipe(path: string): OpenFile {
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

function seekableFile(file: FileHandle, size: number, path: string): Seekable {
  return {
    size,
    read: async (position, length) => {
      if (position < 0 || position + length > size) {
        throw outOfRange();
      }
      const buffer = Buffer.alloc(length);
      let read = 0;
      while (read < length) {
        const { bytesRead } = await withFileErrors(path, file.read(buffer, read, length - read, position + read));
        if (bytesRead === 0) {
          throw outOfRange();
        }
        read += bytesRead;
      }
      return buffer;
    },
    stream: (position, expected) => readChunks(file, path, position, expected),
  };
}

async function* readChunks(
  file: FileHandle,
  path: string,
  position?: number,
  expected = READ_SIZE,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = position, length = Math.min(expected, READ_SIZE); ; length = READ_SIZE) {
    const buffer = Buffer.allocUnsafeSlow(length);
    const { bytesRead } = await withFileErrors(path, file.read(buffer, 0, length, at ?? null));
    if (bytesRead === 0) {
      return;
    }
    at = at === undefined ? undefined : at + bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function withFileErrors<T>(path: string, operation: Promise<T>): Promise<T> {
  return operation.catch((reason: unknown) => {
    throw fileError(reason, path, READ_ADVICE);
  });
}

function outOfRange(): Error {
  return new Error("the position of a record is outside the archive");
}

/** Buffer that can be read at any position. */
export interface RandomAccess {
  readonly size: number;
  /**
   * Reads `length` bytes at `position`.
   *
   * @throws if fewer bytes are available
   */
  read(position: number, length: number): Promise<Buffer>;
}

/**
 * Opens a named pipe. Node's file API waits for a pipe's writer in a thread that nothing can interrupt; a socket waits
 * without a thread, and stops when it is destroyed.
 *
 * @throws {@link FileError} if the pipe cannot be opened
 */
export function openPipe(path: string): Socket {
  try {
    // Without O_NONBLOCK, opening the pipe waits for a writer.
    const fd = fs.openSync(path, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
    return new (process.getBuiltinModule("node:net").Socket)({ fd, readable: true, writable: false });
  } catch (reason) {
    throw fileError(reason, path, READ_ADVICE);
  }
}

/** Maximum number of retained bytes. A directory of 10,000 files fits. */
const MAX_TAIL = 1024 * 1024;
/** Number of retained bytes before a directory begins: yauzl reads a locator and an end record with the longest comment. */
const MIN_TAIL = ZIP64_LOCATOR_SIZE + END_RECORD_SIZE + 0xffff;

/** Retains the end of an archive that passes, so that its directory can be read. */
export interface Tail {
  /** Adds the next bytes of the archive. */
  push(bytes: Uint8Array): void;
  bytes(): RandomAccess;
}

/** Creates an empty tail. */
export function createTail(): Tail {
  const chunks: Buffer[] = [];
  let retained = 0;
  let size = 0;
  let mayHaveDirectory = false;
  /** The last bytes, in which a signature may begin. */
  let end = Buffer.alloc(0);
  return {
    push(bytes) {
      const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      if (!mayHaveDirectory) {
        const joint = Buffer.concat([end, chunk.subarray(0, 3)]);
        mayHaveDirectory = joint.includes(DIRECTORY_SIGNATURE) || chunk.includes(DIRECTORY_SIGNATURE);
        end = Buffer.concat([end, chunk.subarray(-3)]).subarray(-3);
      }
      chunks.push(chunk);
      retained += bytes.length;
      size += bytes.length;
      // A window of the largest directory would let each chunk outlive the collections of young garbage.
      const window = mayHaveDirectory ? MAX_TAIL : MIN_TAIL;
      for (let [first] = chunks; first !== undefined && retained - first.length >= window; [first] = chunks) {
        chunks.shift();
        retained -= first.length;
      }
    },
    bytes() {
      const tail = Buffer.concat(chunks);
      const start = size - tail.length;
      return {
        size,
        async read(position, length) {
          if (position < start || position + length > size) {
            throw tooLarge(
              `its directory exceeds ${MAX_TAIL} bytes`,
              "No export has that many files. Check the source of the archive.",
            );
          }
          return tail.subarray(position - start, position - start + length);
        },
      };
    },
  };
}

const DIRECTORY_SIGNATURE = signatureBytes(CENTRAL_HEADER);
