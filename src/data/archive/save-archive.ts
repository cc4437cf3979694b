import { type FileTarget, type SavedFile, saveAtomically } from "../../base/file/atomic-file.js";
import { throwTrailingError } from "../../wire/json/error-tail.js";
import { createTail } from "../zip/archive-source.js";
import { abortable } from "../zip/byte-reader.js";
import { loadZip } from "../zip/load-zip.js";
import type { ArchiveEntry, Entry, EntryOptions } from "../zip/zip-entries.js";
import {
  arrivingEntries,
  checkFolder,
  createExportRules,
  type Exported,
  exportEntries,
  isFolder,
  UNLIMITED,
} from "./export-entries.js";

/** A saved archive. */
export interface SavedArchive extends SavedFile {
  /** The files in it. */
  readonly entries: readonly ArchiveEntry[];
  /** How it was verified: by the content of all files, or only by the records between them. */
  readonly verified: Verification;
}

/** Where an archive is saved. */
export interface SaveTarget extends FileTarget {
  /** How the archive is verified; `content` by default. */
  readonly verify?: Verification | undefined;
  /** The requested table and range. The names in the archive must match them. */
  readonly exported?: Exported;
  /** Stops the saving. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the bytes were assembled from an export's chunks. */
  readonly isAssembled?: boolean;
}

/**
 * Saves an archive completely, or not at all, as {@link saveAtomically} does.
 *
 * @throws {@link FileError} if the file cannot be written, or exists
 * @throws {@link ProtocolError} if the bytes are not a valid archive, or not the requested one
 * @throws {@link NodeError} if a gateway appended an error object to them
 * @throws {@link CanceledError} if the signal was aborted
 */
export async function saveArchive(bytes: AsyncIterable<Uint8Array>, where: SaveTarget): Promise<SavedArchive> {
  const { verify = "content", exported, signal, isAssembled = false } = where;
  const { found: entries, ...saved } = await saveAtomically(abortable(bytes, signal), where, {
    consume: (pieces) =>
      verify === "content"
        ? verifyContent(pieces, { exported, signal, isAssembled })
        : drain(isAssembled ? pieces : throwTrailingError(pieces)),
    verify: (path, found) => found ?? verifyStructure(path, exported),
  });
  return { ...saved, entries, verified: verify };
}

async function drain(bytes: AsyncIterable<Uint8Array>): Promise<undefined> {
  for await (const _ of bytes) {
    // Consuming a chunk writes it.
  }
}

/**
 * How an archive is verified. `content` inflates each file and compares its size and CRC-32, so that every byte is
 * checked. `structure` only compares the records between the files.
 */
export type Verification = "content" | "structure";

/**
 * Reads an archive to its end and verifies the content of its files. Inflation runs in its own thread.
 *
 * @throws {@link ProtocolError} if the archive is corrupt, or not the requested one
 */
export async function verifyContent(
  bytes: AsyncIterable<Uint8Array>,
  { exported, ...reading }: Pick<EntryOptions, "signal" | "isAssembled"> & { readonly exported: Exported },
): Promise<ArchiveEntry[]> {
  const files: ArchiveEntry[] = [];
  for await (const { entry } of exportEntries(arrivingEntries(bytes, { ...reading, limits: UNLIMITED }), exported)) {
    files.push({ name: entry.name, ...(await readToEnd(entry.content())) });
  }
  return files;
}

/**
 * Verifies the records of an archive in a file. The content of its files is not read.
 *
 * @throws {@link ProtocolError} if the archive is corrupt, or not the requested one
 */
export async function verifyStructure(path: string, exported: Exported): Promise<ArchiveEntry[]> {
  const { listEntries } = await loadZip();
  const entries = await listEntries(path);
  await checkEntries(entries, exported);
  return entries.filter(({ name }) => !isFolder(name));
}

/** Reads the content of an entry, which checks it. Returns its sizes and CRC-32. */
async function readToEnd(content: ReturnType<Entry["content"]>) {
  for (;;) {
    const { done, value } = await content.next();
    if (done === true) {
      return value;
    }
  }
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

/** Checks the names in an archive whose bytes pass. */
export interface NameCheck {
  /** Adds the next bytes of the archive. */
  push(bytes: Uint8Array): void;
  /**
   * Checks the names in the directory, once the archive has ended.
   *
   * @throws {@link ProtocolError} if the archive is not the requested one
   */
  finish(): Promise<void>;
}

export function createNameCheck(exported: Exported): NameCheck {
  const tail = createTail();
  return {
    push: tail.push,
    async finish() {
      const { readDirectory } = await loadZip();
      await checkEntries((await readDirectory(tail.bytes())).entries, exported);
    },
  };
}
