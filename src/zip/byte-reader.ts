import { CanceledError } from "../errors/index.js";
import { abortable } from "./abortable.js";

/** Reads a stream of bytes, which may be split anywhere, part by part. */
export interface ByteReader {
  /** Position of the next byte in the archive. */
  readonly position: number;
  /**
   * Look at the next bytes without taking them.
   *
   * @param size how many bytes are needed
   * @returns at least `size` bytes, or fewer where the stream ends before
   */
  peek(size: number): Promise<Buffer>;
  /**
   * Take bytes that were looked at before.
   *
   * @param size how many bytes
   * @returns the bytes
   */
  take(size: number): Buffer;
  /**
   * Take the next bytes, as many as are there.
   *
   * @returns the bytes; `undefined` at the end of the stream
   */
  next(): Promise<Buffer | undefined>;
  /**
   * Put the last bytes taken back.
   *
   * @param bytes exactly those that were taken last, or the end of them
   */
  putBack(bytes: Buffer): void;
  /** End the stream. */
  close(): Promise<void>;
}

/** How a stream of bytes is read. */
export interface ByteReaderOptions {
  /** Position of the first byte in the archive; 0 by default. */
  readonly position?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before the stream is ended early, so that a source that waits for more bytes can stop waiting. */
  readonly onClose?: (() => void) | undefined;
}

/**
 * Make a reader of a stream. Nothing is read before it is asked for.
 *
 * @param source the bytes, split anywhere; its error passes unchanged whenever bytes behind it are asked for
 * @param options the position of the first byte, a signal, and `onClose`
 * @returns the reader; where the signal is aborted, its methods fail with a {@link CanceledError}
 */
export function createByteReader(
  source: AsyncIterable<Uint8Array>,
  { position = 0, signal, onClose }: ByteReaderOptions = {},
): ByteReader {
  const iterator = abortable(source, signal);
  let held: Buffer = Buffer.alloc(0);
  let done = false;
  let failure: { readonly reason: unknown } | undefined;

  async function pull(): Promise<Buffer | undefined> {
    if (failure !== undefined) {
      throw failure.reason;
    }
    while (!done) {
      try {
        const result = await iterator.next();
        if (result.done === true) {
          done = true;
        } else if (result.value.length > 0) {
          return Buffer.from(result.value.buffer, result.value.byteOffset, result.value.length);
        }
      } catch (reason) {
        done = !(reason instanceof CanceledError);
        failure = { reason };
        throw reason;
      }
    }
    return undefined;
  }

  return {
    get position() {
      return position;
    },

    async peek(size) {
      while (held.length < size) {
        const more = await pull();
        if (more === undefined) {
          break;
        }
        held = held.length === 0 ? more : Buffer.concat([held, more]);
      }
      return held;
    },

    take(size) {
      const bytes = held.subarray(0, size);
      held = held.subarray(size);
      position += bytes.length;
      return bytes;
    },

    async next() {
      const bytes = held.length > 0 ? held : await pull();
      held = held.subarray(held.length);
      position += bytes?.length ?? 0;
      return bytes;
    },

    putBack(bytes) {
      position -= bytes.length;
      held = held.length === 0 ? bytes : Buffer.concat([bytes, held]);
    },

    async close() {
      if (done) {
        return;
      }
      done = true;
      onClose?.();
      await iterator.return();
    },
  };
}
