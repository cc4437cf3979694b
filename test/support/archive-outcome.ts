import type { ArchiveOptions } from "../../src/archive/open.js";
import { openArchive } from "../../src/archive/open.js";
import type { CsvRow } from "../../src/csv/index.js";
import { TradewireError } from "../../src/errors/index.js";
import type { ArchiveSource } from "../../src/zip/seekable.js";

/** What became of reading an archive: its files, or the error. */
export interface ArchiveOutcome {
  readonly files: readonly { readonly name: string; readonly columns: readonly string[]; readonly rows: CsvRow[] }[];
  readonly error: TradewireError | undefined;
}

/** Any error that is not one of the library's own is thrown. */
export async function archiveOutcome(source: ArchiveSource, options: ArchiveOptions = {}): Promise<ArchiveOutcome> {
  const files: { name: string; columns: readonly string[]; rows: CsvRow[] }[] = [];
  try {
    for await (const file of openArchive(source, options).files()) {
      const rows: CsvRow[] = [];
      files.push({ name: file.name, columns: file.columns, rows });
      for await (const batch of file.batches()) {
        rows.push(...batch.rows);
      }
    }
    return { files, error: undefined };
  } catch (error) {
    if (error instanceof TradewireError) {
      return { files, error };
    }
    throw error;
  }
}

/** Bytes as a stream, cut into pieces of a size. */
export async function* streamOf(bytes: Buffer, size = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    yield bytes.subarray(at, at + size);
  }
}
