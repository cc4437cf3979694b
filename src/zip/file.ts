import { type FileHandle, open } from "node:fs/promises";
import { fileError } from "../errors/file-error.js";
import { corrupt, nameText } from "./archive-error.js";
import { createByteReader } from "./byte-reader.js";
import { type Growth, readContent } from "./content.js";
import { type Bytes, type Directory, type ListedEntry, readDirectory } from "./directory.js";
import { checkEnd, createArchiveEnd, type ErrorBehind } from "./end.js";
import { checkContiguous, checkHeader, type Entry, type Reading } from "./entry.js";
import { LOCAL_HEADER, LOCAL_HEADER_SIZE, readLocalHeader } from "./records.js";

const READ_SIZE = 256 * 1024;

/** An archive of which any byte can be read. */
export interface Seekable extends Bytes {
  /** The bytes from `position` to the end. */
  stream(position: number): AsyncGenerator<Uint8Array, void, undefined>;
}

/** An archive in memory. */
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
 * Gives what is made of an archive: by `seekable` where any of its bytes can be read, else by `streamed`. A file is open as long
 * as that is taken.
 *
 * @throws FileError where the file cannot be read
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
  /** The archive in it; none in a pipe or device, which can only be streamed. */
  readonly archive: Seekable | undefined;
  stream(): AsyncIterable<Uint8Array>;
}

/** @throws FileError where the file cannot be read */
export async function openFile(path: string): Promise<OpenFile> {
  const file = await onFile(path, open(path));
  const close = () => file.close().catch(() => undefined);
  try {
    const stats = await onFile(path, file.stat());
    if (stats.isDirectory()) {
      throw fileError(Object.assign(new Error("it is a folder"), { code: "EISDIR" }), path);
    }
    return {
      archive: stats.isFile() ? ofFile(file, stats.size, path) : undefined,
      stream: () => sequence(file, path),
      [Symbol.asyncDispose]: close,
    };
  } catch (reason) {
    await close();
    throw reason;
  }
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
    stream: (position) => sequence(file, path, position),
  };
}

async function* sequence(
  file: FileHandle,
  path: string,
  position?: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = position; ; ) {
    const buffer = Buffer.allocUnsafeSlow(READ_SIZE);
    const { bytesRead } = await onFile(path, file.read(buffer, 0, READ_SIZE, at ?? null));
    if (bytesRead === 0) {
      return;
    }
    at = at === undefined ? undefined : at + bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function onFile<T>(path: string, operation: Promise<T>): Promise<T> {
  return operation.catch((reason: unknown) => {
    throw fileError(reason, path);
  });
}

function beyond(): Error {
  return new Error("a record is said to stand where the archive does not reach");
}

/** The files of an archive any byte of which can be read, in the order in which they stand in it. The directory is checked before the first. */
export async function* seekableEntries(archive: Seekable, reading: Reading): AsyncGenerator<Entry, void, undefined> {
  const { entries, start } = await directoryOf(archive, reading.errorBehind);
  const growth: Growth = { size: 0 };
  checkContiguous(entries[0]?.offset ?? 0, 0);
  for (const [index, listed] of entries.entries()) {
    yield seekableEntry(archive, listed, entries[index + 1]?.offset ?? start, { ...reading, growth });
  }
}

/** The directory of an archive any byte of which can be read. */
async function directoryOf(archive: Seekable, errorBehind: ErrorBehind | undefined): Promise<Directory> {
  try {
    return await readDirectory(archive);
  } catch (reason) {
    // What is wrong with it may be told more exactly by how it ends.
    const end = createArchiveEnd();
    for await (const bytes of archive.stream(0)) {
      end.push(bytes);
    }
    checkEnd(end, errorBehind);
    throw reason;
  }
}

/** One file of an archive any byte of which can be read. It has to end at `end`. */
function seekableEntry(
  archive: Seekable,
  listed: ListedEntry,
  end: number,
  { limits, growth, signal }: Reading & { readonly growth: Growth },
): Entry {
  return {
    name: listed.name,
    measures: listed,
    async *content() {
      const reader = createByteReader(archive.stream(listed.offset), { signal, position: listed.offset });
      try {
        const header = await readLocalHeader(reader);
        checkHeader(header, listed);
        yield* readContent(reader, header, listed, limits, growth);
        checkContiguous(end, reader.position);
      } finally {
        await reader.close();
      }
    },
  };
}

/** What an archive's directory says of one of its files. */
export interface ArchiveEntry {
  readonly name: string;
  /** Size in the archive, in bytes. */
  readonly compressedSize: number;
  /** Size of the file, in bytes. */
  readonly size: number;
  /** CRC-32 of the file's content. */
  readonly crc32: number;
}

/** The most that stands between an entry's data and the next entry: a data descriptor with its signature, in ZIP64. */
const MAX_DESCRIPTOR_SIZE = 24;

/**
 * List the files of an archive, and check that they fill it without gap or overlap.
 *
 * Their content is not read: no CRC is checked here.
 *
 * @param path the archive's path
 * @throws {@link ProtocolError} where it is no such archive, or holds no file
 * @throws {@link FileError} where the file cannot be read
 */
export async function listEntries(path: string, errorBehind?: ErrorBehind): Promise<ArchiveEntry[]> {
  await using file = await openFile(path);
  if (file.archive === undefined) {
    throw corrupt("it is no file");
  }
  const { archive } = file;
  const { entries, start } = await directoryOf(archive, errorBehind);
  let end = 0;
  for (const { name, offset, compressedSize } of entries) {
    checkFilled(nameText(name), offset, end, end === 0 ? 0 : MAX_DESCRIPTOR_SIZE);
    const header = await archive.read(offset, LOCAL_HEADER_SIZE).catch(() => Buffer.alloc(LOCAL_HEADER_SIZE));
    if (header.readUInt32LE(0) !== LOCAL_HEADER) {
      throw corrupt(`${nameText(name)} does not begin at byte ${offset}`);
    }
    end = offset + LOCAL_HEADER_SIZE + header.readUInt16LE(26) + header.readUInt16LE(28) + compressedSize;
  }
  checkFilled("the directory", start, end, MAX_DESCRIPTOR_SIZE);
  return entries.map(({ name, compressedSize, size, crc32 }) => ({ name, compressedSize, size, crc32 }));
}

function checkFilled(what: string, start: number, end: number, between: number): void {
  if (start < end || start > end + between) {
    throw corrupt(`${what} begins at byte ${start}, but what is before it ends at ${end}`);
  }
}
