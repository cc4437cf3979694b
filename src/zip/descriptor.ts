import { crc32 } from "node:zlib";
import { corrupt, crcText, nameText, truncated } from "./archive-error.js";
import type { ByteReader } from "./byte-reader.js";
import type { Measures } from "./records.js";
import { CENTRAL_HEADER, DESCRIPTOR, LOCAL_HEADER, signatureBytes } from "./signatures.js";

/** A descriptor is followed by one of these records. */
const NEXT = [signatureBytes(LOCAL_HEADER), signatureBytes(CENTRAL_HEADER)];
/** The forms of a descriptor: its signature is optional, and its sizes have 8 bytes in ZIP64. */
const forms = [
  { signed: true, wide: false, size: 16 },
  { signed: false, wide: false, size: 12 },
  { signed: true, wide: true, size: 24 },
  { signed: false, wide: true, size: 20 },
];
const LONGEST = 24 + 4;
/** The most bytes that are held back. */
const MOST_HELD = 64 * 1024;

/** Bytes that have passed. */
export interface Sum {
  size: number;
  crc32: number;
}

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
 * @param given size in bytes and CRC-32 of what has been given, kept by the caller
 * @returns the content
 * @throws {@link ProtocolError} where no such descriptor comes
 */
export async function* scanStored(
  reader: ByteReader,
  name: string,
  given: Readonly<Sum>,
): AsyncGenerator<Buffer, void, undefined> {
  let held: Buffer = Buffer.alloc(0);
  for (;;) {
    let failure: { readonly reason: unknown } | undefined;
    const piece = await reader.next().catch((reason: unknown) => {
      failure = { reason };
      return undefined;
    });
    if (failure !== undefined) {
      yield held.subarray(0, certainSize(held, given));
      throw failure.reason;
    }
    if (piece === undefined) {
      throw corrupt(`nothing behind ${nameText(name)} says the size and the CRC-32 that its content has`);
    }
    // A descriptor begins in what is held, or in the piece.
    const isJoined = piece.length < LONGEST || (held.length >= LONGEST && held.length + piece.length < MOST_HELD);
    const before = Buffer.concat([held, isJoined ? piece : piece.subarray(0, LONGEST)]);
    let found = findEnd(before, given, Math.max(held.length - 3, 0)); // What is held has been searched.
    if (found.end !== undefined) {
      yield before.subarray(0, found.end);
      reader.putBack(Buffer.concat([held, piece]).subarray(found.end));
      return;
    }
    let view: Buffer = before;
    if (!isJoined) {
      if (held.length > 0) {
        yield held;
      }
      view = piece;
      found = findEnd(view, given);
    }
    if (found.end !== undefined) {
      yield view.subarray(0, found.end);
      reader.putBack(piece.subarray(found.end));
      return;
    }
    // What stands behind a record is none of the content where the archive breaks off there.
    const certain = Math.max(Math.min(view.length - LONGEST + 1, found.record), 0);
    held = Buffer.from(view.subarray(certain)); // A copy, so that the piece is not kept for it.
    yield view.subarray(0, certain);
  }
}

/** What the first two bytes of every record's signature are. */
const PK = Buffer.from("PK");

/** Positions of what looks like a record: a descriptor, or what may follow one. */
function* recordsIn(view: Buffer, from = 0): Generator<number> {
  for (let at = view.indexOf(PK, from); at !== -1 && at + 4 <= view.length; at = view.indexOf(PK, at + 1)) {
    const signature = view.readUInt32LE(at);
    if (signature === LOCAL_HEADER || signature === CENTRAL_HEADER || signature === DESCRIPTOR) {
      yield at;
    }
  }
}

/**
 * Where in `view`, in front of which that much was given, the content ends; and where the first record among the last
 * bytes stands, as many of them as may be held back.
 */
function findEnd(
  view: Buffer,
  { size, crc32: crc }: Readonly<Sum>,
  from = 0,
): { readonly end: number | undefined; readonly record: number } {
  const [record = Number.POSITIVE_INFINITY] = recordsIn(view, Math.max(view.length - MOST_HELD, 0));
  let summed = 0;
  let sum = crc;
  for (const at of recordsIn(view, from)) {
    for (const form of isNext(view, at) ? forms : []) {
      const start = at - form.size;
      const measured = { size: size + start, compressedSize: size + start };
      if (start >= 0 && says(view, start, form.signed, form.wide, measured)) {
        // Each byte is summed once, but for those before a longer form of the same record.
        sum = start < summed ? crc32(view.subarray(0, start), crc) : crc32(view.subarray(summed, start), sum);
        summed = start;
        if (crcAt(view, start, form.signed) === sum) {
          return { end: start, record };
        }
      }
    }
  }
  return { end: undefined, record };
}

/**
 * How many bytes of `view`, in front of which that much was given, are content for certain where the archive breaks off
 * behind them: they end before any record, and before what may be the beginning of the entry's descriptor.
 */
function certainSize(view: Buffer, { size, crc32: crc }: Readonly<Sum>): number {
  const [first = view.length] = recordsIn(view);
  const most = Math.min(view.length, first);
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
