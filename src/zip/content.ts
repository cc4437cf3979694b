import { crc32, createInflateRaw, type InflateRaw } from "node:zlib";
import { corrupt, crcText, nameText, tooLarge, truncated } from "./archive-error.js";
import type { ByteReader } from "./byte-reader.js";
import { readDescriptor, type Sum, scanStored } from "./descriptor.js";
import type { LocalHeader, Measures } from "./records.js";

/** Files up to this many bytes are harmless at any ratio. */
const RATIO_FLOOR = 16 * 1024 * 1024;

/** How large an archive may become when it is inflated. */
export interface Limits {
  /** The most bytes that all files together may have. */
  readonly maxSize: number;
  /** How many times its size in the archive a file may have, if it has more than 16 MiB. */
  readonly maxRatio: number;
}

/** How many bytes have come out of an archive so far. */
export interface Growth {
  size: number;
}

/** How the content of an entry is read. */
export interface ContentReading {
  /** The measures in the archive's directory, where they are known already. */
  readonly listed?: Measures;
  /** How large the files may become, in bytes and by ratio. */
  readonly limits: Limits;
  /** Counts the bytes of all entries together. */
  readonly growth: Growth;
  /** Called with the measures of content that was read and is right. */
  readonly onMeasured?: (measured: Measures) => void;
  /** Called where the content cannot be read, before that is thrown. */
  readonly onFailure?: () => Promise<void>;
}

/**
 * Read the content of an entry whose header was just read, and check its sizes and its CRC-32.
 *
 * @param reader stands behind the header, and behind the entry afterwards
 * @param header the entry's header
 * @param reading limits, and what is known of the content and done with it
 * @returns the content
 * @throws {@link ProtocolError} where the content is corrupt, cut short or over a limit
 */
export async function* readContent(
  reader: ByteReader,
  header: LocalHeader,
  { listed, limits, growth, onMeasured, onFailure }: ContentReading,
): AsyncGenerator<Buffer, void, undefined> {
  const { name, method, measures } = header;
  const known = (measures ?? listed)?.compressedSize;
  const inflating = method === "deflate" ? inflation(reader, name, known) : undefined;
  const sum: Sum = { size: 0, crc32: 0 };
  const content = inflating?.bytes ?? (known === undefined ? scanStored(reader, name, sum) : takeStored(reader, known));
  try {
    for await (const bytes of content) {
      sum.size += bytes.length;
      growth.size += bytes.length;
      sum.crc32 = crc32(bytes, sum.crc32);
      checkGrowth(name, sum.size, inflating?.used ?? sum.size, limits, growth);
      yield bytes;
    }
    const measured = { ...sum, compressedSize: inflating?.used ?? sum.size };
    if (measures === undefined) {
      await readDescriptor(reader, name, measured);
    }
    for (const said of [measures, listed]) {
      if (said !== undefined) {
        checkMeasures(name, measured, said);
      }
    }
    onMeasured?.(measured);
  } catch (reason) {
    await onFailure?.();
    throw reason;
  }
}

/**
 * Compare the measures of an entry's content with those that the archive gives.
 *
 * @param name of the entry, for errors
 * @param measured sizes in bytes and CRC-32 of the content that was read
 * @param said sizes in bytes and CRC-32 by a header or the directory
 * @throws {@link ProtocolError} where they differ
 */
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
    reader.putBack(bytes.subarray(piece.length));
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

const OUTPUT_SIZE = 256 * 1024;
/** How many bytes inflating, which has a thread of its own, runs ahead of the reader. */
const AHEAD = 4 * OUTPUT_SIZE;
const options = { chunkSize: OUTPUT_SIZE, readableHighWaterMark: AHEAD };

/** Bytes that are inflated as they are asked for. */
export interface Inflation {
  readonly bytes: AsyncGenerator<Buffer, void, undefined>;
  /** How many deflated bytes have been used. Once `bytes` has ended, this is the exact size of the deflated data. */
  readonly used: number;
}

/**
 * Inflate the data that the reader holds next. Deflated data marks its own end.
 *
 * @param reader stands at the data, and behind it once `bytes` has ended
 * @param name of the entry, for errors
 * @param size of the deflated data in bytes, where that is known: no more than this is taken from the reader
 * @returns the inflated bytes, which fail with a {@link ProtocolError} where the data is corrupt or cut short
 */
function inflation(reader: ByteReader, name: string, size: number | undefined): Inflation {
  const inflate = createInflateRaw(options);
  let failure: { readonly reason: unknown } | undefined;

  async function* bytes(): AsyncGenerator<Buffer, void, undefined> {
    const fed = feed(inflate, reader, size).catch((reason: unknown) => {
      failure = { reason };
      inflate.push(null); // What is inflated already is still given.
    });
    try {
      for await (const chunk of inflate) {
        yield chunk;
      }
      await fed;
    } catch (cause) {
      throw corrupt(`the data of ${nameText(name)} cannot be inflated`, cause);
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

/** Write to the inflater until its data ends, and put the bytes back that it did not use. */
async function feed(inflate: InflateRaw, reader: ByteReader, size = Number.POSITIVE_INFINITY): Promise<void> {
  let given = 0;
  while (given < size) {
    const bytes = await reader.next();
    if (bytes === undefined) {
      throw truncated(reader.position);
    }
    const piece = bytes.subarray(0, size - given);
    reader.putBack(bytes.subarray(piece.length));
    given += piece.length;
    await written(inflate, piece);
    const unused = given - inflate.bytesWritten;
    if (unused > 0) {
      reader.putBack(piece.subarray(piece.length - unused));
      return;
    }
  }
  inflate.end();
}

/** Resolves once the bytes are inflated, or the inflater was closed. */
function written(inflate: InflateRaw, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    inflate.once("close", resolve);
    inflate.write(bytes, () => {
      inflate.off("close", resolve);
      resolve();
    });
  });
}
