import { corrupt, nameText } from "./archive-error.js";
import type { ByteReaderOptions } from "./byte-reader.js";
import type { Limits } from "./content.js";
import type { ListedEntry } from "./directory.js";
import type { LocalHeader, Measures } from "./records.js";

/** One file of an archive, as bytes. */
export interface Entry {
  readonly name: string;
  /** Its sizes and CRC-32: known from the directory, or else once its content has been read. */
  readonly measures: Measures | undefined;
  /**
   * Read the content and check it. This can be done once, and must be finished before the next entry is asked for.
   *
   * @returns the bytes, inflated
   * @throws {@link ProtocolError} where the content is corrupt, cut short or over a limit
   */
  content(): AsyncGenerator<Buffer, void, undefined>;
}

/** How entries are read. */
export interface Reading extends ByteReaderOptions {
  readonly limits: Limits;
  /** Whether the bytes were assembled of an export's chunks, so that they end with the archive, with nothing behind it. */
  readonly isAssembled?: boolean | undefined;
}

/**
 * Check that the header before an entry's content names the file that the directory lists.
 *
 * @param header the header before the content
 * @param listed the directory's record of the entry
 * @throws {@link ProtocolError} where name or method differ
 */
export function checkHeader(header: LocalHeader, listed: ListedEntry): void {
  if (!header.rawName.equals(listed.rawName) || header.name !== listed.name || header.method !== listed.method) {
    throw corrupt(`what stands before the content of ${nameText(listed.name)} does not fit the directory`);
  }
}

/**
 * Check that an entry begins where the one before it ended: in a gap or an overlap other data could hide.
 *
 * @param listed position by the directory, in bytes
 * @param actual position at which the bytes before it ended
 * @throws {@link ProtocolError} where they differ
 */
export function checkContiguous(listed: number, actual: number): void {
  if (listed !== actual) {
    throw corrupt(`what begins at byte ${actual} should begin at ${listed} by the directory`);
  }
}
