import type { ProtocolError } from "../errors/index.js";
import { corrupt, nameText } from "../zip/archive-error.js";
import type { Entry } from "../zip/entry.js";
import { inMemory, type OpenFile, openFile } from "../zip/seekable.js";
import { archiveEntries, UNLIMITED } from "./entries.js";
import type { ExportName } from "./names.js";

/** One CSV file of the archives that are merged. */
export interface Part {
  readonly path: string;
  readonly fileName: string;
  readonly name: ExportName;
  readonly columns: readonly string[];
}

/** Opens the content of parts, in their order. */
export interface PartReader extends AsyncDisposable {
  /**
   * Open a part.
   *
   * @param part one that stands behind those that were opened before, where it is of the same archive
   * @returns its content
   * @throws {@link ProtocolError} where the archive was changed meanwhile
   */
  open(part: Part): Promise<AsyncGenerator<Buffer, void, undefined>>;
}

/**
 * Keep the archive of the last part open: its directory is read once, and its further parts stand behind that one.
 *
 * @param signal ends the reading
 * @returns the reader, to be disposed of
 */
export function createPartReader(signal: AbortSignal | undefined): PartReader {
  let current: { readonly path: string; readonly file: OpenFile; readonly entries: AsyncGenerator<Entry> } | undefined;

  async function close(): Promise<void> {
    await current?.file[Symbol.asyncDispose]();
    current = undefined;
  }

  return {
    async open(part) {
      if (current?.path !== part.path) {
        await close();
        const file = await openFile(part.path);
        const archive = file.archive ?? inMemory(Buffer.alloc(0));
        current = { path: part.path, file, entries: archiveEntries(archive, { limits: UNLIMITED, signal }) };
      }
      for await (const entry of unclosed(current.entries)) {
        if (entry.name === part.fileName) {
          return entry.content();
        }
      }
      throw changed(part);
    },
    [Symbol.asyncDispose]: close,
  };
}

/** The values of a generator, which stays open when the caller stops early. */
function unclosed<T>(values: AsyncGenerator<T>): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => ({ next: () => values.next() }) };
}

/**
 * The error for an archive that is not what it was when it was opened first.
 *
 * @param part the file that differs
 * @returns the error
 */
export function changed({ path, fileName }: Part): ProtocolError {
  return corrupt(`${nameText(fileName)} in ${nameText(path)} was changed while it was read`);
}
