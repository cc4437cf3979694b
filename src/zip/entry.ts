import { corrupt, nameText } from "./archive-error.js";
import type { ByteReaderOptions } from "./byte-reader.js";
import type { Limits } from "./content.js";
import type { ListedEntry } from "./directory.js";
import type { ErrorBehind } from "./end.js";
import type { LocalHeader, Measures } from "./records.js";

/** One file of an archive, before it is taken for CSV. */
export interface Entry {
  readonly name: string;
  /** What is known of it: by the directory, or once its content has been read. */
  readonly measures: Measures | undefined;
  /** The content, checked; once. It must have been read to its end before the next entry is asked for. */
  content(): AsyncGenerator<Buffer, void, undefined>;
}

/** What entries are read with. */
export interface Reading extends ByteReaderOptions {
  readonly limits: Limits;
  /** Finds the error that a server put behind the archive, or in the place where it broke off. */
  readonly errorBehind?: ErrorBehind | undefined;
}

export function checkHeader(header: LocalHeader, listed: ListedEntry): void {
  if (!header.rawName.equals(listed.rawName) || header.name !== listed.name || header.method !== listed.method) {
    throw corrupt(`what stands before the content of ${nameText(listed.name)} does not fit the directory`);
  }
}

/** Without a gap and without an overlap, or something could hide between the files or in one. */
export function checkContiguous(listed: number, actual: number): void {
  if (listed !== actual) {
    throw corrupt(`what begins at byte ${actual} should begin at ${listed} by the directory`);
  }
}
