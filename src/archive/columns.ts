import { openFile } from "../zip/seekable.js";
import { archiveEntries } from "./entries.js";
import { csvHeads } from "./files.js";

/**
 * The columns of all files of an archive, in the order in which they appear. Only its header rows are read.
 *
 * @returns `undefined` for the path of a pipe, which cannot be read twice
 * @throws ProtocolError where the archive or a header row is broken
 * @throws FileError where the file cannot be read
 */
export async function archiveColumns(path: string, signal?: AbortSignal): Promise<string[] | undefined> {
  await using file = await openFile(path);
  if (file.archive === undefined) {
    return undefined;
  }
  const limits = { maxSize: Number.MAX_SAFE_INTEGER, maxRatio: 1100 };
  const heads = await csvHeads(archiveEntries(file.archive, { limits, signal }), {});
  return [...new Set(heads.flatMap(({ columns }) => columns))];
}
