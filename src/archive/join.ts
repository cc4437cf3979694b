import { createCarry } from "../csv/carry.js";
import { ProtocolError } from "../errors/index.js";
import { nameText } from "../zip/archive-error.js";
import { openArchive } from "./open.js";

/** The most bytes of a header row. */
const MAX_HEADER_BYTES = 64 * 1024 * 1024;

/** How the archives are read. */
interface Reading {
  readonly maxRowBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Join the CSV files of archives whose ranges follow one another: one header row, then the rows of all, byte for byte.
 * Content and checksums of the archives are checked on the way.
 *
 * @param paths of the archives, in the order of their blocks; the next one is asked for when the one before was read
 * @param reading `maxRowBytes` is the most bytes of a row, 64 MiB by default; `signal` ends the reading
 * @returns the bytes of the joined file
 * @throws {@link ProtocolError} where an archive is broken, or has other columns than the first one
 * @throws {@link FileError} where one cannot be read
 * @throws {@link CanceledError} where the signal was aborted; the errors of `paths` unchanged
 */
export async function* joinedCsv(
  paths: AsyncIterable<string>,
  reading: Reading,
): AsyncGenerator<Uint8Array, void, undefined> {
  let first: { readonly name: string; readonly columns: readonly string[] } | undefined;
  for await (const path of paths) {
    for await (const file of openArchive(path, reading).files()) {
      const { name, columns } = file;
      if (first === undefined) {
        first = { name, columns };
        yield* file.content();
        continue;
      }
      if (
        columns.length !== first.columns.length ||
        columns.some((column, index) => column !== first?.columns[index])
      ) {
        throw new ProtocolError(
          `${nameText(first.name)} and ${nameText(name)} are of one schema version, but have different columns`,
          { advice: "Nothing was saved. Try another node, and tell who runs this one." },
        );
      }
      yield* withoutHeader(file.content());
    }
  }
}

async function* withoutHeader(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const header = createCarry();
  let isInHeader = true;
  for await (const bytes of content) {
    if (!isInHeader) {
      yield bytes;
      continue;
    }
    const { taken, whole } = header.add(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), MAX_HEADER_BYTES);
    isInHeader = !whole;
    yield bytes.subarray(taken);
  }
}
