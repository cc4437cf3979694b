import { crc32, createInflateRaw, type InflateRaw } from "node:zlib";
import { corrupt, crcText, nameText, tooLarge, truncated } from "./archive-error.js";
import type { ByteReader } from "./byte-reader.js";
import { readDescriptor, scanStored } from "./descriptor.js";
import type { LocalHeader, Measures } from "./records.js";

/** A ratio says nothing of a file that is small in any case. */
const RATIO_FLOOR = 16 * 1024 * 1024;

/** How much an archive may grow. */
export interface Limits {
  /** The most bytes that all files together may have. */
  readonly maxSize: number;
  /** How many times its size in the archive a file may have, if it has more than 16 MiB. */
  readonly maxRatio: number;
}

/** How much an archive has grown. */
export interface Growth {
  size: number;
}

/**
 * The content of an entry, whose header was just read, checked by its sizes and its CRC-32.
 *
 * @param listed what the archive's directory says of it, where that is known already
 * @returns what was measured, after the reader has come to what follows the entry
 */
export async function* readContent(
  reader: ByteReader,
  { name, method, measures }: LocalHeader,
  listed: Measures | undefined,
  limits: Limits,
  growth: Growth,
): AsyncGenerator<Buffer, Measures, undefined> {
  const known = (measures ?? listed)?.compressedSize;
  const inflating = method === "deflate" ? inflation(reader, name, known) : undefined;
  const content = inflating?.bytes ?? (known === undefined ? scanStored(reader, name) : takeStored(reader, known));
  let size = 0;
  let crc = 0;
  for await (const bytes of content) {
    size += bytes.length;
    growth.size += bytes.length;
    crc = crc32(bytes, crc);
    checkGrowth(name, size, inflating?.used ?? size, limits, growth);
    yield bytes;
  }
  const measured = { compressedSize: inflating?.used ?? size, size, crc32: crc };
  if (measures === undefined) {
    await readDescriptor(reader, name, measured);
  }
  for (const said of [measures, listed]) {
    if (said !== undefined) {
      checkMeasures(name, measured, said);
    }
  }
  return measured;
}

/** Holds what was read of an entry against what the archive says of it. */
export function checkMeasures(name: string, measured: Measures, said: Measures): void {
  if (measured.compressedSize !== said.compressedSize || measured.size !== said.size) {
    throw corrupt(
      `${nameText(name)} has ${measured.size} bytes out of ${measured.compressedSize}, but the archive says ${said.size} out of ${said.compressedSize}`,
    );
  }
  if (measured.crc32 !== said.crc32) {
    throw corrupt(
      `the CRC-32 of ${nameText(name)} is ${crcText(measured.crc32)}, but the archive says ${crcText(said.crc32)}`,
    );
  }
}

async function* takeStored(reader: ByteReader, size: number): AsyncGenerator<Buffer, void, undefined> {
  for (let left = size; left > 0; ) {
    const bytes = await reader.next();
    if (bytes === undefined) {
      throw truncated(reader.position);
    }
    const piece = bytes.subarray(0, left);
    if (piece.length < bytes.length) {
      reader.putBack(bytes.subarray(piece.length));
    }
    left -= piece.length;
    yield piece;
  }
}

function checkGrowth(name: string, size: number, used: number, { maxSize, maxRatio }: Limits, growth: Growth): void {
  if (growth.size > maxSize) {
    throw tooLarge(
      `its files have more than ${maxSize} bytes, the limit`,
      "Raise the limit (maxSize) if an export of this size is right.",
    );
  }
  if (size > RATIO_FLOOR && size > used * maxRatio) {
    throw tooLarge(
      `${nameText(name)} has more than ${maxRatio} times its size in the archive, the limit`,
      "Raise the limit (maxRatio) if such an export is right; an archive may also be made to fill memory and disks.",
    );
  }
}

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
      throw failure === undefined ? corrupt(`the data of ${nameText(name)} cannot be inflated`, cause) : failure.reason;
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
