import { corrupt, nameText } from "./archive-error.js";
import { createByteReader } from "./byte-reader.js";
import { type Growth, readContent } from "./content.js";
import { type Directory, type ListedEntry, readDirectory } from "./directory.js";
import { checkEnd, createArchiveEnd } from "./end.js";
import { checkContiguous, checkHeader, type Entry, type Reading } from "./entry.js";
import { readLocalHeader } from "./records.js";
import { openFile, type Seekable } from "./seekable.js";
import { LOCAL_HEADER, LOCAL_HEADER_SIZE } from "./signatures.js";

/** Reads bytes up to an error that a server wrote behind them, and then throws that error. */
export type WithoutError = (source: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** How the entries of a seekable archive are read. */
export interface SeekableReading extends Reading {
  /** Finds the error that a server wrote behind the archive, or at the place where the archive broke off. */
  readonly withoutError?: WithoutError | undefined;
}

/**
 * Read the files of a seekable archive. The directory is checked before the first file.
 *
 * @param archive the archive
 * @param reading limits, signal, and how an error behind the archive is found
 * @returns the files, in the order in which they stand in the archive
 * @throws {@link ProtocolError} where the archive is corrupt, truncated, refused or over a limit
 * @throws {@link FileError} where the file cannot be read
 * @throws {@link CanceledError} where the signal was aborted
 */
export async function* seekableEntries(
  archive: Seekable,
  reading: SeekableReading,
): AsyncGenerator<Entry, void, undefined> {
  const { entries, start } = await directoryOf(archive, reading.withoutError);
  const growth: Growth = { size: 0 };
  checkContiguous(entries[0]?.offset ?? 0, 0);
  for (const [index, listed] of entries.entries()) {
    yield seekableEntry(archive, listed, entries[index + 1]?.offset ?? start, { ...reading, growth });
  }
}

async function directoryOf(archive: Seekable, withoutError: WithoutError = (source) => source): Promise<Directory> {
  try {
    return await readDirectory(archive);
  } catch (reason) {
    // The end of the archive may explain more exactly what is wrong: it was cut, or an error follows it.
    const end = createArchiveEnd();
    for await (const bytes of withoutError(archive.stream(0))) {
      end.push(bytes);
    }
    checkEnd(end);
    throw reason;
  }
}

/** What stands behind an entry tells how its data descriptor is written. */
const LOOK_AHEAD = 64;

/** One file of a seekable archive. It must end at byte `end`. */
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
      const wanted = Math.max(end - listed.offset, 0) + LOOK_AHEAD;
      const reader = createByteReader(archive.stream(listed.offset, wanted), { signal, position: listed.offset });
      try {
        const header = await readLocalHeader(reader);
        checkHeader(header, listed);
        yield* readContent(reader, header, { listed, limits, growth });
        checkContiguous(end, reader.position);
      } finally {
        await reader.close();
      }
    },
  };
}

/** A file of an archive, as the archive's directory describes it. */
export interface ArchiveEntry {
  readonly name: string;
  /** Size in the archive, in bytes. */
  readonly compressedSize: number;
  /** Size of the file, in bytes. */
  readonly size: number;
  /** CRC-32 of the file's content. */
  readonly crc32: number;
}

/** The most bytes between an entry's data and the next entry: a ZIP64 data descriptor with its signature. */
const MAX_DESCRIPTOR_SIZE = 24;

/**
 * List the files of an archive, and check that they fill it without gap or overlap.
 *
 * Their content is not read, so no CRC is checked here.
 *
 * @param path the archive's path
 * @returns the files, in the order in which they stand in the archive
 * @throws {@link ProtocolError} where the archive is corrupt, or holds no file
 * @throws {@link FileError} where the file cannot be read
 */
export async function listEntries(path: string): Promise<ArchiveEntry[]> {
  await using file = await openFile(path);
  if (file.archive === undefined) {
    throw corrupt("it is no file");
  }
  const { archive } = file;
  const { entries, start } = await directoryOf(archive);
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
