import { throwTrailingError } from "../../wire/json/error-tail.js";
import type { Seekable } from "../zip/archive-source.js";
import { abortable } from "../zip/byte-reader.js";
import type { EntryLimits } from "../zip/entry-content.js";
import { loadZip } from "../zip/load-zip.js";
import type { Entry, EntryOptions } from "../zip/zip-entries.js";
import { corrupt, nameText, refused } from "../zip/zip-format.js";
import { type ExportedRange, type ExportName, parseCsvName } from "./export-names.js";

/** The rules for the entries of an export's archive. They apply however an archive is read. */
export interface ExportRules {
  /**
   * Checks the next entry by its name.
   *
   * @throws {@link ProtocolError} if the entry does not follow the previous one, or was not requested
   */
  take(entryName: string): ExportName | undefined;
  /**
   * Checks that no requested entry is missing.
   *
   * @throws {@link ProtocolError} if one is missing
   */
  end(): void;
}

/**
 * Creates the rules for one archive. Names of the specified form must belong to adjacent ranges of one chain and table,
 * in block order, and cover the request. Names of other forms are allowed.
 */
export function createExportRules(exported: ExportedRange | undefined): ExportRules {
  let previous: ExportName | undefined;
  return {
    take(entryName) {
      const name = parseCsvName(entryName);
      if (name !== undefined) {
        checkNext(entryName, name, previous);
        checkRequested(entryName, name, previous === undefined, exported);
        previous = name;
      }
      return name;
    },
    end() {
      if (exported !== undefined && previous !== undefined && previous.toBlock !== exported.toBlock) {
        throw corrupt(
          `its last file ends at block ${previous.toBlock}, but the export must end at block ${exported.toBlock}: rows are missing`,
        );
      }
    },
  };
}

/** The requested table and range, or a function that returns them once the archive begins to arrive. */
export type Exported = ExportedRange | (() => ExportedRange | Promise<ExportedRange>) | undefined;

/** A file of an export's archive. */
export interface ExportEntry {
  readonly entry: Entry;
  /** The parts of its name, if it has the specified form. */
  readonly name: ExportName | undefined;
}

/**
 * Applies the rules of an export to the entries of an archive. Folders are omitted; they must be empty.
 *
 * @throws {@link ProtocolError} if an entry violates a rule
 */
export async function* exportEntries(
  entries: AsyncIterable<Entry>,
  exported: Exported,
): AsyncGenerator<ExportEntry, void, undefined> {
  let rules: ExportRules | undefined;
  for await (const entry of entries) {
    rules ??= createExportRules(typeof exported === "function" ? await exported() : exported);
    if (isFolder(entry.name)) {
      for await (const bytes of entry.content()) {
        checkFolder(entry.name, bytes.length);
      }
    } else {
      yield { entry, name: rules.take(entry.name) };
    }
  }
  rules?.end();
}

export function isFolder(entryName: string): boolean {
  return entryName.endsWith("/");
}

/**
 * Checks that a folder is empty: most programs would hide its content.
 *
 * @throws {@link ProtocolError} if it has content
 */
export function checkFolder(entryName: string, size: number): void {
  if (size > 0) {
    throw corrupt(`${nameText(entryName)} is a folder that is not empty`);
  }
}

function checkNext(fileName: string, name: ExportName, previous: ExportName | undefined): void {
  if (name.fromBlock > name.toBlock) {
    throw corrupt(`the range in the name ${nameText(fileName)} is reversed`);
  }
  if (previous !== undefined && (name.chainId !== previous.chainId || name.table !== previous.table)) {
    throw refused(`${nameText(fileName)} belongs to a different table or chain than the previous file`);
  }
  if (previous !== undefined && name.fromBlock !== previous.toBlock + 1n) {
    throw corrupt(
      `${nameText(fileName)} starts at block ${name.fromBlock}, but the previous file ends at block ${previous.toBlock}`,
    );
  }
}

function checkRequested(
  fileName: string,
  name: ExportName,
  isFirst: boolean,
  exported: ExportedRange | undefined,
): void {
  if (exported === undefined) {
    return;
  }
  if (exported.chainId !== undefined && name.chainId !== exported.chainId) {
    throw corrupt(
      `${nameText(fileName)} belongs to chain ${nameText(name.chainId)}, but the name of the archive has chain ${nameText(exported.chainId)}`,
    );
  }
  if (name.table !== exported.table) {
    throw corrupt(`${nameText(fileName)} contains the table ${name.table}, but ${exported.table} was requested`);
  }
  if (isFirst && name.fromBlock !== exported.fromBlock) {
    throw corrupt(
      `its first file starts at block ${name.fromBlock}, but the export must start at block ${exported.fromBlock}`,
    );
  }
}

/** The limits for files that are checked or copied but not stored, so that their size is harmless. */
export const UNLIMITED: EntryLimits = { maxSize: Number.MAX_SAFE_INTEGER, maxRatio: Number.MAX_SAFE_INTEGER };

/**
 * Reads the files of a seekable archive. An error object that a gateway appended to it is thrown as a
 * {@link NodeError}.
 *
 * @throws {@link ProtocolError}, {@link FileError} and {@link CanceledError} as {@link seekableEntries} does
 */
export async function* archiveEntries(
  archive: Seekable,
  options: EntryOptions,
): AsyncGenerator<Entry, void, undefined> {
  const { seekableEntries } = await loadZip();
  yield* seekableEntries(archive, { ...options, withoutError: throwTrailingError });
}

/**
 * Reads the files of an archive as it arrives. If the archive is followed by a gateway's error object, or truncated by
 * one, that error is thrown as a {@link NodeError}.
 *
 * @throws {@link ProtocolError} and {@link CanceledError} as {@link streamedEntries} does
 */
export async function* arrivingEntries(
  source: AsyncIterable<Uint8Array>,
  options: EntryOptions,
): AsyncGenerator<Entry, void, undefined> {
  const { streamedEntries } = await loadZip();
  // The reader can abandon its source at any time, but not a value that a generator waits for.
  const bytes = options.isAssembled === true ? source : throwTrailingError(abortable(source, options.signal));
  yield* streamedEntries(bytes, options);
}
