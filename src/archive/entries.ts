import { errorBehind } from "../json/envelope.js";
import type { Entry, Reading } from "../zip/entry.js";
import { seekableEntries } from "../zip/file.js";
import type { Seekable } from "../zip/seekable.js";
import { streamedEntries } from "../zip/stream.js";

/** The files of an archive of which any byte can be read. What a gateway put behind it is its error. */
export function archiveEntries(archive: Seekable, reading: Reading): AsyncGenerator<Entry, void, undefined> {
  return seekableEntries(archive, { ...reading, errorBehind });
}

/** The files of an archive that arrives. What a gateway put behind it, or where it broke off, is its error. */
export function arrivingEntries(
  source: AsyncIterable<Uint8Array>,
  reading: Reading,
): AsyncGenerator<Entry, void, undefined> {
  return streamedEntries(source, { ...reading, errorBehind });
}
