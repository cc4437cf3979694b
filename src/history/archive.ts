import { type Entry, openPromise, type ZipFile } from "yauzl";
import { ProtocolError } from "../errors.js";

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
 */
export async function listEntries(path: string): Promise<ArchiveEntry[]> {
  const zip = await openPromise(path, { autoClose: false, strictFileNames: true }).catch(broken);
  try {
    return await checkedEntries(zip);
  } catch (reason) {
    throw broken(reason);
  } finally {
    zip.close();
  }
}

async function checkedEntries(zip: ZipFile): Promise<ArchiveEntry[]> {
  const entries: Entry[] = [];
  for await (const entry of zip.eachEntry()) {
    entries.push(entry);
  }
  if (entries.length === 0) {
    throw new Error("it holds no file");
  }
  let end = 0;
  for (const entry of entries.toSorted((a, b) => a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader)) {
    const start = entry.relativeOffsetOfLocalHeader;
    if (start < end || start > end + (end === 0 ? 0 : MAX_DESCRIPTOR_SIZE)) {
      throw new Error(
        `${JSON.stringify(entry.fileName)} begins at byte ${start}, but what is before it ends at ${end}`,
      );
    }
    const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, { minimal: true });
    end = fileDataStart + entry.compressedSize;
  }
  return entries.map(({ fileName, compressedSize, uncompressedSize, crc32 }) => ({
    name: fileName,
    compressedSize,
    size: uncompressedSize,
    crc32,
  }));
}

function broken(reason: unknown): never {
  throw new ProtocolError(`the archive is corrupt: ${reason instanceof Error ? reason.message : String(reason)}`, {
    advice: "Export again; if it persists, tell who runs the node.",
    cause: reason,
  });
}
