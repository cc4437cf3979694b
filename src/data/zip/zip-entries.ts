import { checkEnd, createArchiveEnd } from "./archive-end.js";
import { openFile, type Seekable } from "./archive-source.js";
import { type ByteReader, type ByteReaderOptions, createByteReader } from "./byte-reader.js";
import { checkMeasures, createSizeLimiter, type EntryLimits, readContent, type SizeLimiter } from "./entry-content.js";
import {
  CENTRAL_HEADER,
  corrupt,
  END_RECORD,
  LOCAL_HEADER,
  LOCAL_HEADER_SIZE,
  nameText,
  truncated,
} from "./zip-format.js";
import {
  checkListing,
  type Directory,
  type EntryMeasures,
  type ListedEntry,
  type LocalHeader,
  readDirectory,
  readLocalHeader,
} from "./zip-records.js";

/** One file of an archive, as bytes. */
export interface Entry {
  readonly name: string;
  /** Its sizes and CRC-32 in the archive's directory; `undefined` in a stream, which has the directory at its end. */
  readonly listed: EntryMeasures | undefined;
  /**
   * Reads the content and checks it. This can be done once, and must be completed before the next entry is requested.
   *
   * @throws {@link ProtocolError} if the content is corrupt, truncated or exceeds a limit
   */
  content(): AsyncGenerator<Buffer, EntryMeasures, undefined>;
}

export interface EntryOptions extends ByteReaderOptions {
  readonly limits: EntryLimits;
  /** Whether the bytes were assembled from an export's chunks, so that they end with the archive. */
  readonly isAssembled?: boolean | undefined;
}

/** Reads bytes up to an error that a server appended to them, and then throws that error. */
type SplitOffError = (source: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** How the entries of a seekable archive are read. */
export interface SeekableOptions extends EntryOptions {
  /** Finds an error that a server appended to the archive, or wrote where the archive is truncated. */
  readonly withoutError?: SplitOffError | undefined;
}

/** After an entry, this many bytes show which form its data descriptor has. */
const LOOK_AHEAD = 64;
/** Maximum number of bytes that are read from a stream after an error in it. */
const MAX_DRAINED = 1024 * 1024;
/** Maximum number of bytes between an entry's data and the next entry: a ZIP64 data descriptor with its signature. */
const MAX_DESCRIPTOR_SIZE = 24;

/**
 * Reads the files of a seekable archive. The directory is checked before the first file.
 *
 * @throws {@link ProtocolError} if the archive is corrupt, truncated, refused or exceeds a limit
 * @throws {@link FileError} if the file cannot be read
 * @throws {@link CanceledError} if the signal was aborted
 */
export async function* seekableEntries(
  archive: Seekable,
  { limits, signal, withoutError }: SeekableOptions,
): AsyncGenerator<Entry, void, undefined> {
  const { entries, start } = await directoryOf(archive, withoutError);
  const limiter = createSizeLimiter(limits);
  checkContiguous(entries[0]?.offset ?? 0, 0);
  for (const [index, listed] of entries.entries()) {
    yield seekableEntry(archive, listed, entries[index + 1]?.offset ?? start, { limiter, signal });
  }
}

async function directoryOf(archive: Seekable, withoutError: SplitOffError = (source) => source): Promise<Directory> {
  try {
    return await readDirectory(archive);
  } catch (reason) {
    // The end of the archive may show more precisely what is wrong: it is truncated, or an error follows it.
    const end = createArchiveEnd();
    for await (const bytes of withoutError(archive.stream(0))) {
      end.push(bytes);
    }
    checkEnd(end);
    throw reason;
  }
}

/** One file of a seekable archive, which must end at byte `end`. */
function seekableEntry(
  archive: Seekable,
  listed: ListedEntry,
  end: number,
  { limiter, signal }: { readonly limiter: SizeLimiter; readonly signal: AbortSignal | undefined },
): Entry {
  return {
    name: listed.name,
    listed,
    async *content() {
      const expected = Math.max(end - listed.offset, 0) + LOOK_AHEAD;
      const reader = createByteReader(archive.stream(listed.offset, expected), { signal, position: listed.offset });
      try {
        const header = await readLocalHeader(reader);
        checkHeader(header, listed);
        const measures = yield* readContent(reader, header, { listed, limiter });
        checkContiguous(end, reader.position);
        return measures;
      } finally {
        await reader.close();
      }
    },
  };
}

/** A file of an archive as listed in the archive's directory. */
export interface ArchiveEntry {
  readonly name: string;
  /** Size in the archive, in bytes. */
  readonly compressedSize: number;
  /** Size of the file, in bytes. */
  readonly size: number;
  /** CRC-32 of the content. */
  readonly crc32: number;
}

/**
 * Lists the files of an archive, and checks that they fill it without gaps or overlaps.
 *
 * The content is not read, so checksums are not checked.
 *
 * @throws {@link ProtocolError} if the archive is corrupt or contains no file
 * @throws {@link FileError} if the file cannot be read
 */
export async function listEntries(path: string): Promise<ArchiveEntry[]> {
  await using file = await openFile(path);
  if (file.archive === undefined) {
    throw corrupt("not a regular file");
  }
  const { archive } = file;
  const { entries, start } = await directoryOf(archive);
  let end = 0;
  for (const { name, offset, compressedSize } of entries) {
    checkFilled(nameText(name), offset, end, end === 0 ? 0 : MAX_DESCRIPTOR_SIZE);
    const header = await archive.read(offset, LOCAL_HEADER_SIZE).catch(() => Buffer.alloc(LOCAL_HEADER_SIZE));
    if (header.readUInt32LE(0) !== LOCAL_HEADER) {
      throw corrupt(`${nameText(name)} does not start at byte ${offset}`);
    }
    end = offset + LOCAL_HEADER_SIZE + header.readUInt16LE(26) + header.readUInt16LE(28) + compressedSize;
  }
  checkFilled("the directory", start, end, MAX_DESCRIPTOR_SIZE);
  return entries.map(({ name, compressedSize, size, crc32 }) => ({ name, compressedSize, size, crc32 }));
}

function checkFilled(what: string, start: number, end: number, between: number): void {
  if (start < end || start > end + between) {
    throw corrupt(`${what} starts at byte ${start}, but the previous part ends at ${end}`);
  }
}

/**
 * Reads the files of an archive as it arrives. The directory, which comes last, is compared with them, and the archive
 * must end with it.
 *
 * @throws {@link ProtocolError} if the archive is corrupt, truncated, refused or exceeds a limit
 * @throws {@link CanceledError} if the signal was aborted
 */
export async function* streamedEntries(
  source: AsyncIterable<Uint8Array>,
  { limits, isAssembled = false, ...options }: EntryOptions,
): AsyncGenerator<Entry, void, undefined> {
  const reader = createByteReader(isAssembled ? source : upToEnd(source), options);
  const limiter = createSizeLimiter(limits);
  const read: ReadEntry[] = [];
  const names = new Set<string>();
  let nameSize = 0;
  try {
    while (await isSignature(reader, LOCAL_HEADER)) {
      const header = await readLocalHeader(reader);
      if (names.has(header.name)) {
        throw corrupt(`it contains ${nameText(header.name)} twice`);
      }
      names.add(header.name);
      nameSize += header.rawName.length;
      checkListing(names.size, nameSize);
      yield { name: header.name, listed: undefined, content: () => streamedContent(reader, header, limiter, read) };
      if (read.length < names.size) {
        throw new Error("the next entry was requested before this one was read");
      }
    }
    await checkDirectory(reader, read);
  } finally {
    await reader.close();
  }
}

/** An entry of a stream whose content was read to its end. */
interface ReadEntry {
  readonly header: LocalHeader;
  readonly measures: EntryMeasures;
}

/** Reads the content of an entry and, once it is complete, adds the entry to those that were read. */
async function* streamedContent(
  reader: ByteReader,
  header: LocalHeader,
  limiter: SizeLimiter,
  read: ReadEntry[],
): AsyncGenerator<Buffer, EntryMeasures, undefined> {
  try {
    const measures = yield* readContent(reader, header, { limiter });
    read.push({ header, measures });
    return measures;
  } catch (reason) {
    await drain(reader);
    throw reason;
  }
}

/** Compares the directory, which is the rest of the stream, with the entries that were read. */
async function checkDirectory(reader: ByteReader, read: readonly ReadEntry[]): Promise<void> {
  const start = reader.position;
  if (!(await isSignature(reader, CENTRAL_HEADER)) && !(read.length === 0 && (await isSignature(reader, END_RECORD)))) {
    throw corrupt(`there is no file and no directory at byte ${start}`);
  }
  const rest = await readRest(reader);
  const directory = await readDirectory({
    size: start + rest.length,
    read: async (position, length) => {
      // yauzl searches for the end record over the longest possible comment. For bytes that have passed it gets zeros.
      const before = Math.min(Math.max(start - position, 0), length);
      const from = position + before - start;
      if (from + length - before > rest.length) {
        throw new Error("its end record does not match its directory");
      }
      return Buffer.concat([Buffer.alloc(before), rest.subarray(from, from + length - before)]);
    },
  });
  if (directory.start !== start) {
    throw corrupt(`its directory starts at byte ${start}, but its end record declares ${directory.start}`);
  }
  if (directory.entries.length !== read.length) {
    throw corrupt(`it contains ${read.length} files, but its directory lists ${directory.entries.length}`);
  }
  for (const [index, { header, measures }] of read.entries()) {
    const listed = directory.entries[index];
    if (listed !== undefined) {
      checkContiguous(listed.offset, header.offset);
      checkHeader(header, listed);
      checkMeasures(header.name, measures, listed);
    }
  }
}

async function readRest(reader: ByteReader): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for (let bytes = await reader.next(); bytes !== undefined; bytes = await reader.next()) {
    chunks.push(Buffer.from(bytes));
    size += bytes.length;
    checkListing(0, size);
  }
  return Buffer.concat(chunks);
}

/** Reads on after an error: the source may throw an error that explains it better. */
async function drain(reader: ByteReader): Promise<void> {
  for (let left = MAX_DRAINED; left > 0; ) {
    const bytes = await reader.next();
    if (bytes === undefined) {
      return;
    }
    left -= bytes.length;
  }
}

/** Passes the bytes of a stream that belong to its archive. Throws if other bytes follow. */
async function* upToEnd(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const end = createArchiveEnd();
  for await (const bytes of source) {
    yield end.push(bytes);
  }
  checkEnd(end);
}

async function isSignature(reader: ByteReader, signature: number): Promise<boolean> {
  const view = await reader.peek(4);
  if (view.length < 4) {
    throw truncated(reader.position + view.length);
  }
  return view.readUInt32LE(0) === signature;
}

/**
 * Checks that the local header before an entry's content names the file that the directory lists.
 *
 * @throws {@link ProtocolError} if name or method differ
 */
export function checkHeader(header: LocalHeader, listed: ListedEntry): void {
  if (!header.rawName.equals(listed.rawName) || header.name !== listed.name || header.method !== listed.method) {
    throw corrupt(`the header of ${nameText(listed.name)} does not match the directory`);
  }
}

/**
 * Checks that an entry begins where the previous one ends: a gap or an overlap could hide other data.
 *
 * @throws {@link ProtocolError} if they differ
 */
export function checkContiguous(listed: number, actual: number): void {
  if (listed !== actual) {
    throw corrupt(`the part at byte ${actual} should start at ${listed} according to the directory`);
  }
}
