import { Code } from "@connectrpc/connect";
import JSZip from "jszip";
import { ProtocolError } from "../errors/index.js";
import { corrupt } from "../zip/archive-error.js";
import { inMemory } from "../zip/seekable.js";
import { archiveEntries } from "./entries.js";

/** How much of memory an archive may take. */
export interface MemoryLimits {
  /** The most bytes that the archive may have. The default is 512 MiB. */
  readonly maxArchiveBytes?: number | undefined;
  /** The most bytes that all files together may have. The default is 1 GiB. */
  readonly maxSize?: number | undefined;
  /** How many times its size in the archive a file of more than 16 MiB may have. The default is 200. */
  readonly maxRatio?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const MIB = 1024 * 1024;

/** Takes an archive into memory. Each file has been inflated and checked before JSZip sees it. */
export async function zipInMemory(
  stream: AsyncIterable<Uint8Array>,
  { maxArchiveBytes = 512 * MIB, maxSize = 1024 * MIB, maxRatio = 200, signal }: MemoryLimits,
): Promise<JSZip> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of stream) {
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
  for await (const entry of archiveEntries(inMemory(bytes), { limits: { maxSize, maxRatio }, signal })) {
    for await (const _ of entry.content()) {
      // Only checked.
    }
  }
  try {
    // No checkCRC32: that is done, and JSZip would inflate all of it at once.
    return await JSZip.loadAsync(bytes);
  } catch (cause) {
    throw corrupt(cause instanceof Error ? cause.message : String(cause), cause);
  }
}
