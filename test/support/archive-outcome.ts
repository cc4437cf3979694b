import { type ArchiveOptions, type ArchiveSource, type CsvRow, openArchive, TradewireError } from "tradewire";

/** The result of reading an archive: the files up to an error, and the error if there was one. */
export interface ArchiveOutcome {
  readonly files: readonly { readonly name: string; readonly columns: readonly string[]; readonly rows: CsvRow[] }[];
  readonly error: TradewireError | undefined;
}

/** Read an archive to its end or to the first error. */
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

/** Stream bytes in pieces. */
export async function* streamOf(bytes: Buffer, size = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    yield bytes.subarray(at, at + size);
  }
}
