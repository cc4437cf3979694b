/** Bytes that have come in pieces. */
export interface Gathering {
  /** How many bytes there are. */
  readonly size: number;
  /**
   * Add bytes.
   *
   * @param bytes the next bytes, which are not copied unless they are few
   */
  push(bytes: Uint8Array): void;
  /**
   * Empty the gathering.
   *
   * @returns the bytes that were in it
   */
  take(): Buffer;
}

/** Pieces are joined up to this size, in bytes. Every piece costs some hundred bytes beside its own. */
const JOINED_BYTES = 16 * 1024;

/**
 * Make an empty gathering. Bytes that come one by one take no more memory than those that come at once: small pieces are
 * joined with their neighbours, each byte a few times at most.
 *
 * @returns the gathering
 */
export function createGathering(): Gathering {
  let pieces: Uint8Array[] = [];
  let size = 0;

  /** Join the last two pieces where the first is not much larger: sizes then halve from piece to piece. */
  function joinLast(): boolean {
    const [before, last] = pieces.slice(-2);
    if (before === undefined || last === undefined) {
      return false;
    }
    const joined = before.length + last.length;
    const isDue = joined <= JOINED_BYTES && before.length < 2 * last.length;
    if (isDue) {
      pieces.splice(-2, 2, Buffer.concat([before, last], joined));
    }
    return isDue;
  }

  return {
    get size() {
      return size;
    },
    push(bytes) {
      if (bytes.length > 0) {
        pieces.push(bytes);
        size += bytes.length;
      }
      while (joinLast()) {
        // Until the sizes halve.
      }
    },
    take() {
      const [only] = pieces;
      const bytes =
        pieces.length === 1 && only !== undefined
          ? Buffer.from(only.buffer, only.byteOffset, only.length)
          : Buffer.concat(pieces, size);
      pieces = [];
      size = 0;
      return bytes;
    },
  };
}
