import { CanceledError } from "../../base/errors/index.js";
import { raceAbort } from "../../base/signal/abort.js";

/** Reads a stream of bytes, which may be split anywhere, in parts. */
export interface ByteReader {
  /** Position of the next byte in the archive. */
  readonly position: number;
  /** Returns the next bytes without consuming them. */
  peek(size: number): Promise<Buffer>;
  /** Consumes bytes that `peek` has returned. */
  take(size: number): Buffer;
  /** Consumes the next bytes, as many as are available. */
  next(): Promise<Buffer | undefined>;
  /** Returns the bytes that were consumed last to the reader. */
  putBack(bytes: Buffer): void;
  /** Closes the stream. */
  close(): Promise<void>;
}

export interface ByteReaderOptions {
  /** Position of the first byte in the archive; 0 by default. */
  readonly position?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before the stream is closed early, so that a source can stop waiting for more bytes. */
  readonly onClose?: (() => void) | undefined;
}

/** Creates a reader of a stream. Nothing is read before it is requested. */
export function createByteReader(
  source: AsyncIterable<Uint8Array>,
  { position = 0, signal, onClose }: ByteReaderOptions = {},
): ByteReader {
  const iterator = abortable(source, signal);
  let buffered: Buffer = Buffer.alloc(0);
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
      while (buffered.length < size) {
        const more = await pull();
        if (more === undefined) {
          break;
        }
        buffered = buffered.length === 0 ? more : Buffer.concat([buffered, more]);
      }
      return buffered;
    },

    take(size) {
      const bytes = buffered.subarray(0, size);
      buffered = buffered.subarray(size);
      position += bytes.length;
      return bytes;
    },

    async next() {
      const bytes = buffered.length > 0 ? buffered : await pull();
      buffered = buffered.subarray(buffered.length);
      position += bytes?.length ?? 0;
      return bytes;
    },

    putBack(bytes) {
      position -= bytes.length;
      buffered = buffered.length === 0 ? bytes : Buffer.concat([bytes, buffered]);
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

/** The values of a source that can be closed at any time. */
export interface Abortable<T> extends AsyncIterableIterator<T, undefined> {
  return(): Promise<IteratorReturnResult<undefined>>;
}

/**
 * Reads a source until a signal is aborted. Neither reading nor closing then waits for the source, which may never answer.
 */
export function abortable<T>(source: AsyncIterable<T>, signal: AbortSignal | undefined): Abortable<T> {
  const iterator = source[Symbol.asyncIterator]();
  let pending = 0;

  async function close(): Promise<void> {
    // While a source waits for its next value, which may never arrive, its return() waits too.
    const closed = Promise.resolve(iterator.return?.()).catch(() => undefined);
    if (pending === 0) {
      await closed;
    }
  }

  const settled = (result: IteratorResult<T>): IteratorResult<T, undefined> => {
    pending -= 1;
    return result.done === true ? { done: true, value: undefined } : result;
  };
  const failed = (reason: unknown): never => {
    pending -= 1;
    throw reason;
  };

  function pull(): Promise<IteratorResult<T, undefined>> {
    pending += 1;
    return iterator.next().then(settled, failed);
  }

  async function pullUntil(abort: AbortSignal): Promise<IteratorResult<T, undefined>> {
    try {
      if (abort.aborted) {
        throw new CanceledError({ cause: abort.reason });
      }
      return await raceAbort(pull(), abort);
    } catch (reason) {
      if (reason instanceof CanceledError) {
        await close();
      }
      throw reason;
    }
  }

  return {
    next: () => (signal === undefined ? pull() : pullUntil(signal)),
    async return() {
      await close();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
