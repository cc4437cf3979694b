import { crc32 } from "node:zlib";
import { corrupt, crcText, nameText, truncated } from "./archive-error.js";
import type { ByteReader } from "./byte-reader.js";
import type { Measures } from "./records.js";
import { CENTRAL_HEADER, DESCRIPTOR, LOCAL_HEADER, signatureBytes } from "./signatures.js";

/** A descriptor is followed by one of these records. */
const NEXT = [signatureBytes(LOCAL_HEADER), signatureBytes(CENTRAL_HEADER)];
const RECORDS = [signatureBytes(DESCRIPTOR), ...NEXT];
/** The forms of a descriptor: its signature is optional, and its sizes have 8 bytes in ZIP64. */
const forms = [
  { signed: true, wide: false, size: 16 },
  { signed: false, wide: false, size: 12 },
  { signed: true, wide: true, size: 24 },
  { signed: false, wide: true, size: 20 },
];
const LONGEST = 24 + 4;
const SCAN_SIZE = 64 * 1024;

/**
 * Read the data descriptor of an entry whose content has been read.
 *
 * Its form is stated nowhere, so the form is taken that fits the measures and has a record behind it.
 *
 * @param reader stands at the descriptor, and behind it afterwards
 * @param name of the entry, for errors
 * @param measured sizes in bytes and CRC-32 of the content that was read
 * @throws {@link ProtocolError} where no form fits, or the archive ends here
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
  if (view.length < LONGEST) {
    throw truncated(reader.position + view.length);
  }
  const crc = crcAt(view, 0, view.readUInt32LE(0) === DESCRIPTOR);
  throw corrupt(
    crc === measured.crc32
      ? `the sizes of ${nameText(name)} are not those that the archive says`
      : `the CRC-32 of ${nameText(name)} is ${crcText(measured.crc32)}, but the archive says ${crcText(crc)}`,
  );
}

/**
 * Read the content of a stored entry whose size is not known. The content ends before the first descriptor that gives
 * its size and CRC-32. Where the source fails before that, the content that came is given and then the source's error.
 *
 * @param reader stands at the content, and at the descriptor afterwards
 * @param name of the entry, for errors
 * @returns the content
 * @throws {@link ProtocolError} where no such descriptor comes
 */
export async function* scanStored(reader: ByteReader, name: string): AsyncGenerator<Buffer, void, undefined> {
  let size = 0;
  let crc = 0;
  for (;;) {
    let failure: { readonly reason: unknown } | undefined;
    const view = await reader.peek(SCAN_SIZE).catch((reason: unknown) => {
      failure = { reason };
      return reader.peek(0);
    });
    const end = findEnd(view, size, crc);
    if (end === undefined && failure !== undefined) {
      yield reader.take(certainSize(view, size, crc));
      throw failure.reason;
    }
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

/** Where in `view` the content ends, after `size` earlier bytes with the CRC-32 `crc`. */
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

/**
 * How many bytes of `view`, after `size` earlier ones with the CRC-32 `crc`, are content for certain where the archive
 * breaks off behind them: they end before any record, and before what may be the beginning of the entry's descriptor.
 */
function certainSize(view: Buffer, size: number, crc: number): number {
  const records = RECORDS.map((signature) => view.indexOf(signature)).filter((at) => at !== -1);
  const most = Math.min(view.length, ...records);
  for (let at = Math.max(most - LONGEST, 0); at < most; at += 1) {
    const before = crc32(view.subarray(0, at), crc);
    const begun = view.subarray(at, most);
    const isBegun = forms.some((form) =>
      NEXT.some((next) =>
        Buffer.concat([descriptorOf(size + at, before, form), next])
          .subarray(0, begun.length)
          .equals(begun),
      ),
    );
    if (isBegun) {
      return at;
    }
  }
  return most;
}

/** The descriptor of content that was stored. */
function descriptorOf(size: number, crc: number, { signed, wide }: (typeof forms)[number]): Buffer {
  const rest = Buffer.alloc(wide ? 20 : 12);
  rest.writeUInt32LE(crc);
  for (const place of [0, 1]) {
    if (wide) {
      rest.writeBigUInt64LE(BigInt(size), 4 + 8 * place);
    } else {
      rest.writeUInt32LE(size % 2 ** 32, 4 + 4 * place);
    }
  }
  return signed ? Buffer.concat([signatureBytes(DESCRIPTOR), rest]) : rest;
}

/** Whether a descriptor with these sizes stands at `at`. */
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
