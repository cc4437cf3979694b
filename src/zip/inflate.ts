import { createInflateRaw, type InflateRaw } from "node:zlib";
import { corrupt, shown } from "./archive-error.js";
import type { ByteReader } from "./byte-reader.js";
import { truncated } from "./end.js";

const OUTPUT_SIZE = 64 * 1024;
/** How far inflating, which has a thread of its own, runs ahead of who reads. */
const AHEAD = 4 * OUTPUT_SIZE;
const options = { chunkSize: OUTPUT_SIZE, readableHighWaterMark: AHEAD };

/** Bytes that are inflated as they are asked for. */
export interface Inflation {
  readonly bytes: AsyncGenerator<Buffer, void, undefined>;
  /** How many bytes of the reader have been used: once `bytes` has ended, all of the deflated data and nothing behind it. */
  readonly used: number;
}

/**
 * Inflates what the reader holds next. The data itself says where it ends.
 *
 * @param name of the entry, for errors
 * @param size how long the data is, where that is known: no more than this is taken from the reader
 */
export function inflation(reader: ByteReader, name: string, size: number | undefined): Inflation {
  const inflate = createInflateRaw(options);
  let failure: { readonly reason: unknown } | undefined;

  async function* bytes(): AsyncGenerator<Buffer, void, undefined> {
    const fed = feed(inflate, reader, size).catch((reason: unknown) => {
      failure = { reason };
      inflate.destroy();
    });
    try {
      for await (const chunk of inflate) {
        yield chunk;
      }
      await fed;
    } catch (cause) {
      throw failure === undefined ? corrupt(`the data of ${shown(name)} cannot be inflated`, cause) : failure.reason;
    } finally {
      inflate.destroy();
    }
    if (failure !== undefined) {
      throw failure.reason;
    }
  }

  return {
    bytes: bytes(),
    get used() {
      return inflate.bytesWritten;
    },
  };
}

/** Writes to the inflater until it has had enough, and puts back what it did not take. */
async function feed(inflate: InflateRaw, reader: ByteReader, size = Number.POSITIVE_INFINITY): Promise<void> {
  let given = 0;
  while (given < size) {
    const bytes = await reader.next();
    if (bytes === undefined) {
      throw truncated(reader.position);
    }
    const piece = bytes.subarray(0, size - given);
    if (piece.length < bytes.length) {
      reader.putBack(bytes.subarray(piece.length));
    }
    given += piece.length;
    await written(inflate, piece);
    if (inflate.destroyed) {
      return;
    }
    const unused = given - inflate.bytesWritten;
    if (unused > 0) {
      reader.putBack(piece.subarray(piece.length - unused));
      return;
    }
  }
  inflate.end();
}

/** Resolves once the bytes are inflated, or nobody wants them any more. */
function written(inflate: InflateRaw, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    inflate.once("close", resolve);
    inflate.write(bytes, () => {
      inflate.off("close", resolve);
      resolve();
    });
  });
}
