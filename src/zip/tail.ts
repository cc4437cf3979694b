import { tooLarge } from "./archive-error.js";
import type { Bytes } from "./directory.js";

/** The most bytes that are kept. A directory of 10,000 files fits. */
const MAX_TAIL = 1024 * 1024;

/** Keeps the end of an archive that passes, so that its directory can be read. */
export interface Tail {
  /**
   * Take the next bytes of the archive.
   *
   * @param bytes the bytes, split anywhere, which must not change afterwards
   */
  push(bytes: Uint8Array): void;
  /** @returns the archive, of which the last MiB can be read */
  bytes(): Bytes;
}

/**
 * Start to keep the end of an archive.
 *
 * @returns the tail, to which every byte of the archive must be pushed
 */
export function createTail(): Tail {
  const pieces: Uint8Array[] = [];
  let kept = 0;
  let size = 0;
  return {
    push(bytes) {
      pieces.push(bytes);
      kept += bytes.length;
      size += bytes.length;
      for (let [first] = pieces; first !== undefined && kept - first.length >= MAX_TAIL; [first] = pieces) {
        pieces.shift();
        kept -= first.length;
      }
    },
    bytes() {
      const tail = Buffer.concat(pieces);
      const start = size - tail.length;
      return {
        size,
        async read(position, length) {
          if (position < start || position + length > size) {
            throw tooLarge(
              `its directory has more than ${MAX_TAIL} bytes`,
              "No export has so many files; check where the archive comes from.",
            );
          }
          return tail.subarray(position - start, position - start + length);
        },
      };
    },
  };
}
