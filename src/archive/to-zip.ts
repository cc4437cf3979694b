import { Code } from "@connectrpc/connect";
import type JSZip from "jszip";
import { ProtocolError } from "../errors/index.js";
import { isError } from "../errors/is-error.js";
import { abortable } from "../zip/abortable.js";
import { corrupt } from "../zip/archive-error.js";
import { inMemory } from "../zip/seekable.js";
import { archiveEntries } from "./entries.js";
import { csvFiles, type FileOptions } from "./files.js";

/** How much memory an archive may take, and how its files are read. */
export interface MemoryOptions extends FileOptions {
  /** The most bytes of the archive; 512 MiB by default. */
  readonly maxArchiveBytes?: number | undefined;
  /** The most bytes of all files together; 1 GiB by default. */
  readonly maxSize?: number | undefined;
  /** How many times its size in the archive a file of more than 16 MiB may have; 200 by default. */
  readonly maxRatio?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const MIB = 1024 * 1024;

/**
 * Take an archive into memory. Each file is read to its end, as `files()` does, before JSZip sees it.
 *
 * @param stream the archive's bytes, split anywhere; its errors are thrown unchanged
 * @param options how large the archive and its files may be, in bytes, how CSV is decoded, what was asked for, and a
 *   signal
 * @returns the archive
 * @throws {@link ProtocolError} where the archive or a file in it is broken, over a limit or not of the export
 * @throws {@link NodeError} where a gateway wrote an error object behind the archive
 * @throws {@link CanceledError} where the signal was aborted
 */
export async function zipInMemory(
  stream: AsyncIterable<Uint8Array>,
  { maxArchiveBytes = 512 * MIB, maxSize = 1024 * MIB, maxRatio = 200, signal, ...fileOptions }: MemoryOptions,
): Promise<JSZip> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of abortable(stream, signal)) {
    pieces.push(piece);
    size += piece.length;
    if (size > maxArchiveBytes) {
      throw new ProtocolError(`the archive is larger than ${maxArchiveBytes} bytes, the limit for memory`, {
        code: Code.ResourceExhausted,
        advice: "Save it to a file or stream it, or raise limits.maxArchiveBytes.",
      });
    }
  }
  const bytes = Buffer.concat(pieces);
  const entries = archiveEntries(inMemory(bytes), { limits: { maxSize, maxRatio }, signal });
  for await (const _ of csvFiles(entries, fileOptions)) {
    // Only checked.
  }
  const { default: loader } = await import("jszip");
  try {
    // No checkCRC32: the files are checked already, and JSZip would inflate all of them at once.
    return await loader.loadAsync(bytes);
  } catch (cause) {
    throw corrupt(isError(cause) ? cause.message : String(cause), cause);
  }
}
