import { openFile } from "../zip/seekable.js";
import { archiveEntries, UNLIMITED } from "./entries.js";
import { csvHeads, type FileOptions } from "./files.js";

/**
 * List the columns of all files of an archive. Only the header rows are read.
 *
 * @param path the archive's path
 * @param options how CSV is decoded, and a signal that ends the reading
 * @returns the columns in the order in which they appear; `undefined` for a pipe, which cannot be read twice
 * @throws {@link ProtocolError} where the archive or a header row is broken
 * @throws {@link NodeError} where a gateway wrote an error object behind the archive
 * @throws {@link FileError} where the file cannot be read
 * @throws {@link CanceledError} where the signal was aborted
 */
export async function archiveColumns(
  path: string,
  { signal, ...options }: FileOptions & { readonly signal?: AbortSignal | undefined } = {},
): Promise<string[] | undefined> {
  await using file = await openFile(path);
  if (file.archive === undefined) {
    return undefined;
  }
  const heads = await csvHeads(archiveEntries(file.archive, { limits: UNLIMITED, signal }), options);
  return [...new Set(heads.flatMap(({ columns }) => columns))];
}
