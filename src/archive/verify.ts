import type { Reading } from "../zip/entry.js";
import type { ArchiveEntry } from "../zip/file.js";
import { createTail } from "../zip/tail.js";
import { arrivingEntries, UNLIMITED } from "./entries.js";
import { checkFolder, createExportRules, type Exported, exportEntries, isFolder } from "./rules.js";

/**
 * How an archive is checked. `content` inflates each file and compares its size and CRC-32, so that no byte of it can
 * be wrong. `structure` compares the records between the files only.
 */
export type Verification = "content" | "structure";

/**
 * Read an archive to its end and check the content of its files. Inflating has a thread of its own.
 *
 * @param bytes the archive, split anywhere; its errors are thrown unchanged
 * @param options the table and range that were asked for, and how the archive is read
 * @returns the files, in the order in which they stand in the archive
 * @throws {@link ProtocolError} where the archive is broken, or is not what was asked for
 */
export async function verifyContent(
  bytes: AsyncIterable<Uint8Array>,
  { exported, ...reading }: Pick<Reading, "signal" | "isAssembled"> & { readonly exported: Exported },
): Promise<ArchiveEntry[]> {
  const files: ArchiveEntry[] = [];
  for await (const { entry } of exportEntries(arrivingEntries(bytes, { ...reading, limits: UNLIMITED }), exported)) {
    for await (const _ of entry.content()) {
      // Only checked.
    }
    if (entry.measures !== undefined) {
      files.push({ name: entry.name, ...entry.measures });
    }
  }
  return files;
}

/**
 * Check the records of an archive in a file. The content of its files is not read.
 *
 * @param path the archive's path
 * @param exported the table and range that were asked for
 * @returns the files, in the order in which they stand in the archive
 * @throws {@link ProtocolError} where the archive is broken, or is not what was asked for
 */
export async function verifyStructure(path: string, exported: Exported): Promise<ArchiveEntry[]> {
  const { listEntries } = await import("../zip/file.js");
  const entries = await listEntries(path);
  await checkEntries(entries, exported);
  return entries.filter(({ name }) => !isFolder(name));
}

async function checkEntries(entries: readonly Pick<ArchiveEntry, "name" | "size">[], exported: Exported) {
  const rules = createExportRules(typeof exported === "function" ? await exported() : exported);
  for (const { name, size } of entries) {
    if (isFolder(name)) {
      checkFolder(name, size);
    } else {
      rules.take(name);
    }
  }
  rules.end();
}

/** Checks the names in an archive that passes. */
export interface NameCheck {
  /**
   * Take the next bytes of the archive.
   *
   * @param bytes the bytes, split anywhere
   */
  push(bytes: Uint8Array): void;
  /**
   * Check the names in the directory, once the archive has ended.
   *
   * @throws {@link ProtocolError} where the archive is not what was asked for
   */
  finish(): Promise<void>;
}

/**
 * Start to check the names in an archive.
 *
 * @param exported the table and range that were asked for
 * @returns the check, to which every byte of the archive must be pushed
 */
export function createNameCheck(exported: Exported): NameCheck {
  const tail = createTail();
  return {
    push: tail.push,
    async finish() {
      const { readDirectory } = await import("../zip/directory.js");
      await checkEntries((await readDirectory(tail.bytes())).entries, exported);
    },
  };
}
