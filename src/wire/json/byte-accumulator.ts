/** Collects bytes that arrive in chunks. */
export interface ByteAccumulator {
  /** The number of bytes. */
  readonly size: number;
  push(bytes: Uint8Array): void;
  /** Removes all bytes. */
  take(): Buffer;
}

/** The maximum size of joined chunks, in bytes. Each chunk has an overhead of some hundred bytes. */
const JOINED_BYTES = 16 * 1024;

/**
 * Returns an empty accumulator. Bytes that arrive one by one take no more memory than bytes that arrive together, because
 * small chunks are joined with their neighbors. Each byte is copied a few times at most.
 */
export function createByteAccumulator(): ByteAccumulator {
  let chunks: Uint8Array[] = [];

  /** Joins the last two chunks if the first is less than twice as large, so that sizes halve from chunk to chunk. */
  function joinLast(): boolean {
    if (chunks.length < 2) {
      return false;
    }
    const [before, last] = chunks.slice(-2);
    if (before === undefined || last === undefined) {
      return false;
    }
    const joined = before.length + last.length;
    const isDue = joined <= JOINED_BYTES && before.length < 2 * last.length;
    if (isDue) {
      chunks.splice(-2, 2, Buffer.concat([before, last], joined));
    }
    return isDue;
  }

  // Not an accessor: V8 allocates a hidden class for each object that has accessors of its own.
  const accumulator = {
    size: 0,
    push(bytes: Uint8Array) {
      if (bytes.length > 0) {
        chunks.push(bytes);
        accumulator.size += bytes.length;
      }
      while (joinLast()) {
        // Continue until the sizes halve.
      }
    },
    take() {
      const [only] = chunks;
      const bytes =
        chunks.length === 1 && only !== undefined ? asBuffer(only) : Buffer.concat(chunks, accumulator.size);
      chunks = [];
      accumulator.size = 0;
      return bytes;
    },
  };
  return accumulator;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
