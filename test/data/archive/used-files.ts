import type { ArchiveFile } from "tradewire";
import { csvFiles, type Entry, type FileOptions } from "./inside.js";

/** What became of files that were used one after the other. */
export interface UsedFiles {
  /** The names of those that were reached. */
  readonly names: readonly string[];
  /** What was thrown; `undefined` where nothing was. */
  readonly error: unknown;
}

/** Use each file of an archive in one way. */
export async function usedFiles(
  entries: AsyncIterable<Entry>,
  use: (file: ArchiveFile) => unknown,
  options: FileOptions = {},
): Promise<UsedFiles> {
  const names: string[] = [];
  const reading = (async () => {
    for await (const file of csvFiles(entries, options)) {
      names.push(file.name);
      await use(file);
    }
  })();
  const error: unknown = await reading.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { names, error };
}
