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

  /** Join the last two pieces where the first is not much larger: sizes then halve from piece to piece. */
  function joinLast(): boolean {
    if (pieces.length < 2) {
      return false;
    }
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

  // No accessor: V8 would keep something for each object that has its own.
  const gathering = {
    size: 0,
    push(bytes: Uint8Array) {
      if (bytes.length > 0) {
        pieces.push(bytes);
        gathering.size += bytes.length;
      }
      while (joinLast()) {
        // Until the sizes halve.
      }
    },
    take() {
      const [only] = pieces;
      const bytes = pieces.length === 1 && only !== undefined ? asBuffer(only) : Buffer.concat(pieces, gathering.size);
      pieces = [];
      gathering.size = 0;
      return bytes;
    },
  };
  return gathering;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
