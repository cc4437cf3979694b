import { corrupt, shown } from "./archive-error.js";
import { directoryOf } from "./entries.js";
import { openFile, type Stored } from "./file.js";
import { LOCAL_HEADER } from "./records.js";

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

const LOCAL_HEADER_SIZE = 30;
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
export async function listEntries(path: string): Promise<ArchiveEntry[]> {
  await using file = await openFile(path);
  if (file.archive === undefined) {
    throw corrupt("it is no file");
  }
  return await checkedEntries(file.archive);
}

async function checkedEntries(archive: Stored): Promise<ArchiveEntry[]> {
  const { entries, start } = await directoryOf(archive);
  let end = 0;
  for (const { name, offset, compressedSize } of entries) {
    checkPlace(shown(name), offset, end, end === 0 ? 0 : MAX_DESCRIPTOR_SIZE);
    const header = await archive.read(offset, LOCAL_HEADER_SIZE).catch(() => Buffer.alloc(LOCAL_HEADER_SIZE));
    if (header.readUInt32LE(0) !== LOCAL_HEADER) {
      throw corrupt(`${shown(name)} does not begin at byte ${offset}`);
    }
    end = offset + LOCAL_HEADER_SIZE + header.readUInt16LE(26) + header.readUInt16LE(28) + compressedSize;
  }
  checkPlace("the directory", start, end, MAX_DESCRIPTOR_SIZE);
  return entries.map(({ name, compressedSize, size, crc32 }) => ({ name, compressedSize, size, crc32 }));
}

function checkPlace(what: string, start: number, end: number, between: number): void {
  if (start < end || start > end + between) {
    throw corrupt(`${what} begins at byte ${start}, but what is before it ends at ${end}`);
  }
}
