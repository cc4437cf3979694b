import { CanceledError } from "../errors/index.js";

/** Reads a stream of bytes, which may be split anywhere, one part after another. */
export interface ByteReader {
  /** Where the next byte stands in the archive. */
  readonly position: number;
  /** What stands next, at least `size` bytes unless the stream ends before; they stay in the reader. */
  peek(size: number): Promise<Buffer>;
  /** Bytes that were seen before, out of the reader. */
  take(size: number): Buffer;
  /** The next bytes, as many as are there, out of the reader; `undefined` at the end. */
  next(): Promise<Buffer | undefined>;
  /** Puts the last bytes taken back. */
  putBack(bytes: Buffer): void;
  /** Ends the stream. */
  close(): Promise<void>;
}

export interface ByteReaderOptions {
  /** Where the first byte stands in the archive. */
  readonly position?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before the stream is ended early, so that one that waits for more does not wait on. */
  readonly onClose?: (() => void) | undefined;
}

/** Nothing is read before it is asked for. */
export function createByteReader(
  source: AsyncIterable<Uint8Array>,
  { position = 0, signal, onClose }: ByteReaderOptions = {},
): ByteReader {
  const iterator = source[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  let pulling = false;
  let done = false;

  async function pull(): Promise<Buffer | undefined> {
    while (!done) {
      pulling = true;
      try {
        const result = await orAborted(iterator.next(), signal);
        if (result.done === true) {
          done = true;
        } else if (result.value.length > 0) {
          return Buffer.from(result.value.buffer, result.value.byteOffset, result.value.length);
        }
      } catch (reason) {
        done = !(reason instanceof CanceledError);
        throw reason;
      } finally {
        pulling = false;
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
      // A source that is asked for more ends only when that comes, which may be never.
      const closed = Promise.resolve(iterator.return?.()).catch(() => undefined);
      if (!pulling) {
        await closed;
      }
    },
  };
}

/** What the promise gives, unless the signal is aborted before. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) {
    return promise;
  }
  return new Promise((resolve, reject) => {
    const abort = () => reject(new CanceledError({ cause: signal.reason }));
    if (signal.aborted) {
      promise.catch(() => undefined);
      abort();
      return;
    }
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
