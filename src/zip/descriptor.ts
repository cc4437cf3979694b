import { crc32 } from "node:zlib";
import { corrupt, crcText, nameText, truncated } from "./archive-error.js";
import type { ByteReader } from "./byte-reader.js";
import { CENTRAL_HEADER, DESCRIPTOR, LOCAL_HEADER, type Measures, signatureBytes } from "./records.js";

/** The records of which one follows a descriptor. */
const NEXT = [signatureBytes(LOCAL_HEADER), signatureBytes(CENTRAL_HEADER)];
/** How a descriptor may be written: its signature is optional, and its sizes have 8 bytes in ZIP64. */
const forms = [
  { signed: true, wide: false, size: 16 },
  { signed: false, wide: false, size: 12 },
  { signed: true, wide: true, size: 24 },
  { signed: false, wide: true, size: 20 },
];
const LONGEST = 24 + 4;
const SCAN_SIZE = 64 * 1024;

/**
 * Reads the data descriptor of an entry whose content has been read.
 *
 * Nothing tells its form: it is the one that says what was measured, with a record behind it.
 */
export async function readDescriptor(reader: ByteReader, name: string, measured: Measures): Promise<void> {
  const view = await reader.peek(LONGEST);
  const form = forms.find(
    ({ signed, wide, size }) =>
      isNext(view, size) && says(view, 0, signed, wide, measured) && crcAt(view, 0, signed) === measured.crc32,
  );
  if (form !== undefined) {
    reader.take(form.size);
    return;
  }
  const signed = view.length >= 4 && view.readUInt32LE(0) === DESCRIPTOR;
  if (view.length < LONGEST) {
    throw truncated(reader.position + view.length);
  }
  const crc = crcAt(view, 0, signed);
  throw corrupt(
    crc === measured.crc32
      ? `the sizes of ${nameText(name)} are not those that the archive says`
      : `the CRC-32 of ${nameText(name)} is ${crcText(measured.crc32)}, but the archive says ${crcText(crc)}`,
  );
}

/**
 * The content of a stored entry whose size is not known: it ends before the descriptor that says the size and the CRC-32 that
 * the content up to there has.
 */
export async function* scanStored(reader: ByteReader, name: string): AsyncGenerator<Buffer, void, undefined> {
  let size = 0;
  let crc = 0;
  for (;;) {
    const view = await reader.peek(SCAN_SIZE);
    const end = findEnd(view, size, crc);
    if (end === undefined && view.length < SCAN_SIZE) {
      throw corrupt(`nothing behind ${nameText(name)} says the size and the CRC-32 that its content has`);
    }
    const content = reader.take(end ?? view.length - LONGEST + 1);
    size += content.length;
    crc = crc32(content, crc);
    yield content;
    if (end !== undefined) {
      return;
    }
  }
}

/** Where the content in `view` ends, after `size` bytes of it with the CRC-32 `crc`. */
function findEnd(view: Buffer, size: number, crc: number): number | undefined {
  for (const signature of NEXT) {
    for (let at = view.indexOf(signature); at !== -1; at = view.indexOf(signature, at + 1)) {
      for (const form of forms) {
        const start = at - form.size;
        const measured = { size: size + start, compressedSize: size + start };
        if (
          start >= 0 &&
          says(view, start, form.signed, form.wide, measured) &&
          crcAt(view, start, form.signed) === crc32(view.subarray(0, start), crc)
        ) {
          return start;
        }
      }
    }
  }
  return undefined;
}

/** Whether the descriptor at `at` has the sizes. */
function says(
  view: Buffer,
  at: number,
  signed: boolean,
  wide: boolean,
  { compressedSize, size }: Pick<Measures, "compressedSize" | "size">,
): boolean {
  if (signed && view.readUInt32LE(at) !== DESCRIPTOR) {
    return false;
  }
  const sizes = at + (signed ? 8 : 4);
  return wide
    ? view.readBigUInt64LE(sizes) === BigInt(compressedSize) && view.readBigUInt64LE(sizes + 8) === BigInt(size)
    : view.readUInt32LE(sizes) === compressedSize && view.readUInt32LE(sizes + 4) === size;
}

function crcAt(view: Buffer, at: number, signed: boolean): number {
  return view.readUInt32LE(at + (signed ? 4 : 0));
}

function isNext(view: Buffer, at: number): boolean {
  return NEXT.some((signature) => view.subarray(at, at + 4).equals(signature));
}
