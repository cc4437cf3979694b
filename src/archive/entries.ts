import { withoutErrorObject } from "../json/error-tail.js";
import { abortable } from "../zip/abortable.js";
import type { Limits } from "../zip/content.js";
import type { Entry, Reading } from "../zip/entry.js";
import type { Seekable } from "../zip/seekable.js";

/** The limits for files that are checked or copied but not kept: no size of theirs does harm. */
export const UNLIMITED: Limits = { maxSize: Number.MAX_SAFE_INTEGER, maxRatio: Number.MAX_SAFE_INTEGER };

/**
 * Read the files of a seekable archive. An error object that a gateway wrote behind it is thrown as a
 * {@link NodeError}.
 *
 * @param archive the archive
 * @param reading limits in bytes and by ratio, and a signal
 * @returns the files, in the order in which they stand in the archive
 * @throws {@link ProtocolError}, {@link FileError} and {@link CanceledError} as {@link seekableEntries} does
 */
export async function* archiveEntries(archive: Seekable, reading: Reading): AsyncGenerator<Entry, void, undefined> {
  const { seekableEntries } = await import("../zip/file.js");
  yield* seekableEntries(archive, { ...reading, withoutError: withoutErrorObject });
}

/**
 * Read the files of an archive as it arrives. An error object that a gateway wrote behind it, or at the place where it
 * broke off, is thrown as a {@link NodeError}.
 *
 * @param source the archive's bytes, split anywhere; its errors are thrown unchanged
 * @param reading limits in bytes and by ratio, and a signal
 * @returns the files, in the order in which they arrive
 * @throws {@link ProtocolError} and {@link CanceledError} as {@link streamedEntries} does
 */
export async function* arrivingEntries(
  source: AsyncIterable<Uint8Array>,
  reading: Reading,
): AsyncGenerator<Entry, void, undefined> {
  const { streamedEntries } = await import("../zip/stream.js");
  // The reader of the archive can leave its source at any time, but not what a generator waits for.
  const bytes = reading.isAssembled === true ? source : withoutErrorObject(abortable(source, reading.signal));
  yield* streamedEntries(bytes, reading);
}
