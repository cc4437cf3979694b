import { crc32 } from "node:zlib";
import { corrupt, shown, tooLarge } from "./archive-error.js";
import type { ByteReader } from "./byte-reader.js";
import { hex, readDescriptor, scanStored } from "./descriptor.js";
import { truncated } from "./end.js";
import { inflation } from "./inflate.js";
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
      `${shown(name)} has ${measured.size} bytes out of ${measured.compressedSize}, but the archive says ${said.size} out of ${said.compressedSize}`,
    );
  }
  if (measured.crc32 !== said.crc32) {
    throw corrupt(`the CRC-32 of ${shown(name)} is ${hex(measured.crc32)}, but the archive says ${hex(said.crc32)}`);
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
      `${shown(name)} has more than ${maxRatio} times its size in the archive, the limit`,
      "Raise the limit (maxRatio) if such an export is right; an archive may also be made to fill memory and disks.",
    );
  }
}
