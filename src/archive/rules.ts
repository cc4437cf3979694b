import { corrupt, nameText, refused } from "../zip/archive-error.js";
import type { Entry } from "../zip/entry.js";
import { type ExportedRange, type ExportName, parseCsvName } from "./names.js";

/** The rules for the entries of an export's archive. Every way to take an archive holds it to them. */
export interface ExportRules {
  /**
   * Check the next entry by its name.
   *
   * @param entryName the entry's name
   * @returns the parts of the name; `undefined` where it has another form
   * @throws {@link ProtocolError} where the entry does not follow the one before it, or was not asked for
   */
  take(entryName: string): ExportName | undefined;
  /**
   * Check that the entries that were taken are all that were asked for.
   *
   * @throws {@link ProtocolError} where some are missing
   */
  end(): void;
}

/**
 * Start to check the entries of an archive. Names that have the specified form must be those of adjacent ranges of one
 * chain and table, in the order of their blocks, and make up what was asked for. Names of other forms are allowed.
 *
 * @param exported the table and blocks that were asked for, and the chain where it is known
 * @returns the rules, which serve one archive
 */
export function createExportRules(exported: ExportedRange | undefined): ExportRules {
  let before: ExportName | undefined;
  return {
    take(entryName) {
      const name = parseCsvName(entryName);
      if (name !== undefined) {
        checkNext(entryName, name, before);
        checkAsked(entryName, name, before === undefined, exported);
        before = name;
      }
      return name;
    },
    end() {
      if (exported !== undefined && before !== undefined && before.toBlock !== exported.toBlock) {
        throw corrupt(
          `its last file ends at block ${before.toBlock}, but the export was to end at block ${exported.toBlock}: rows are missing`,
        );
      }
    },
  };
}

/** The table and range that were asked for, or a function that gives them once the archive begins to arrive. */
export type Exported = ExportedRange | (() => ExportedRange | Promise<ExportedRange>) | undefined;

/** A file of an export's archive. */
export interface ExportEntry {
  readonly entry: Entry;
  /** The parts of its name, where that has the specified form. */
  readonly name: ExportName | undefined;
}

/**
 * Hold the entries of an archive to the rules of an export. Folders are left out; they must be empty.
 *
 * @param entries the archive's entries; their errors pass unchanged
 * @param given the table and range that were asked for
 * @returns the files; the content of each is to be read before the next is asked for
 * @throws {@link ProtocolError} where an entry breaks a rule
 */
export async function* exportEntries(
  entries: AsyncIterable<Entry>,
  given: Exported,
): AsyncGenerator<ExportEntry, void, undefined> {
  let rules: ExportRules | undefined;
  for await (const entry of entries) {
    rules ??= createExportRules(typeof given === "function" ? await given() : given);
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

/**
 * Whether an entry is a folder.
 *
 * @param entryName the entry's name
 * @returns true for a folder
 */
export function isFolder(entryName: string): boolean {
  return entryName.endsWith("/");
}

/**
 * Check that a folder is empty: most programs would hide what it holds.
 *
 * @param entryName the folder's name
 * @param size of its content in bytes
 * @throws {@link ProtocolError} where it has content
 */
export function checkFolder(entryName: string, size: number): void {
  if (size > 0) {
    throw corrupt(`${nameText(entryName)} is a folder with content`);
  }
}

function checkNext(fileName: string, name: ExportName, before: ExportName | undefined): void {
  if (name.fromBlock > name.toBlock) {
    throw corrupt(`the range in the name ${nameText(fileName)} is reversed`);
  }
  if (before !== undefined && (name.chainId !== before.chainId || name.table !== before.table)) {
    throw refused(`${nameText(fileName)} is of another table or chain than the file before it`);
  }
  if (before !== undefined && name.fromBlock !== before.toBlock + 1n) {
    throw corrupt(
      `${nameText(fileName)} begins at block ${name.fromBlock}, but the file before it ends at block ${before.toBlock}`,
    );
  }
}

function checkAsked(fileName: string, name: ExportName, isFirst: boolean, exported: ExportedRange | undefined): void {
  if (exported === undefined) {
    return;
  }
  if (exported.chainId !== undefined && name.chainId !== exported.chainId) {
    throw corrupt(
      `${nameText(fileName)} is of the chain ${nameText(name.chainId)}, but the archive is named after ${nameText(exported.chainId)}`,
    );
  }
  if (name.table !== exported.table) {
    throw corrupt(`${nameText(fileName)} is of the table ${name.table}, but ${exported.table} was asked for`);
  }
  if (isFirst && name.fromBlock !== exported.fromBlock) {
    throw corrupt(
      `its first file begins at block ${name.fromBlock}, but the export was to begin at block ${exported.fromBlock}`,
    );
  }
}
