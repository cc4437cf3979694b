import { type FileTarget, type SavedFile, saveWhole } from "../file/save-whole.js";
import { withoutErrorObject } from "../json/error-tail.js";
import { abortable } from "../zip/abortable.js";
import type { ArchiveEntry } from "../zip/file.js";
import type { Exported } from "./rules.js";
import { type Verification, verifyContent, verifyStructure } from "./verify.js";

/** An archive that was saved. */
export interface SavedArchive extends SavedFile {
  /** The files in it. */
  readonly entries: readonly ArchiveEntry[];
  /** The check that was made: of the content of all files, or of the records between them only. */
  readonly verified: Verification;
}

/** Where an archive is saved. */
export interface SaveTarget extends FileTarget {
  /** How the archive is checked; by its content by default. */
  readonly verify?: Verification | undefined;
  /** The table and range that were asked for. The names in the archive must not say otherwise. */
  readonly exported?: Exported;
  /** Ends the saving. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the bytes were assembled of an export's chunks. */
  readonly isAssembled?: boolean;
}

/**
 * Write an archive to a file: whole, or not at all, as {@link saveWhole} does.
 *
 * @param bytes the archive, split anywhere; its errors are thrown unchanged
 * @param where the folder or file to write to, whether an existing file is replaced, and how the archive is checked
 * @returns the path, size and checksum of the file, the files in the archive, and the check that was made
 * @throws {@link FileError} where the file cannot be written, or exists
 * @throws {@link ProtocolError} where the bytes are no sound archive, or not what was asked for
 * @throws {@link NodeError} where a gateway wrote an error object behind them
 * @throws {@link CanceledError} where the signal was aborted
 */
export async function saveArchive(bytes: AsyncIterable<Uint8Array>, where: SaveTarget): Promise<SavedArchive> {
  const { verify = "content", exported, signal, isAssembled = false } = where;
  const { found: entries, ...saved } = await saveWhole(abortable(bytes, signal), where, {
    passing: (pieces) =>
      verify === "content"
        ? verifyContent(pieces, { exported, signal, isAssembled })
        : drain(isAssembled ? pieces : withoutErrorObject(pieces)),
    written: (path, found) => found ?? verifyStructure(path, exported),
  });
  return { ...saved, entries, verified: verify };
}

async function drain(bytes: AsyncIterable<Uint8Array>): Promise<undefined> {
  for await (const _ of bytes) {
    // Only written.
  }
}
