import { crc32, createInflateRaw, type InflateRaw } from "node:zlib";
import type { ByteReader } from "./byte-reader.js";
import {
  CENTRAL_HEADER,
  corrupt,
  crcText,
  DESCRIPTOR,
  LOCAL_HEADER,
  nameText,
  signatureBytes,
  tooLarge,
  truncated,
} from "./zip-format.js";
import type { EntryMeasures, LocalHeader } from "./zip-records.js";

/** Maximum sizes of an archive after inflation. */
export interface EntryLimits {
  /** Maximum total size of all files in bytes. */
  readonly maxSize: number;
  /** Maximum ratio of a file's size to its size in the archive. Files up to 16 MiB are exempt. */
  readonly maxRatio: number;
}

/** Files up to this size are harmless at any ratio. */
const RATIO_FLOOR = 16 * 1024 * 1024;

/** Enforces the limits over all entries of an archive. */
export interface SizeLimiter {
  /**
   * Counts bytes of an entry.
   *
   * @throws {@link ProtocolError} if a limit is exceeded
   */
  add(name: string, added: number, measured: Pick<EntryMeasures, "size" | "compressedSize">): void;
}

export function createSizeLimiter({ maxSize, maxRatio }: EntryLimits, total = 0): SizeLimiter {
  let counted = total;
  return {
    add(name, added, { size, compressedSize }) {
      counted += added;
      if (counted > maxSize) {
        throw tooLarge(
          `its files exceed the limit of ${maxSize} bytes`,
          "If an export of this size is expected, raise maxSize.",
        );
      }
      if (size > RATIO_FLOOR && size > compressedSize * maxRatio) {
        throw tooLarge(
          `${nameText(name)} exceeds the limit of ${maxRatio} times its compressed size`,
          "If this ratio is expected, raise maxRatio. Otherwise the archive may be a ZIP bomb.",
        );
      }
    },
  };
}

/** How the content of an entry is read. */
export interface ContentOptions {
  /** The measures in the archive's directory, if they are known already. */
  readonly listed?: EntryMeasures;
  /** Enforces the limits over all entries of the archive. */
  readonly limiter: SizeLimiter;
}

/**
 * Reads the content of an entry whose local header was just read, and checks its sizes and its CRC-32.
 *
 * @throws {@link ProtocolError} if the content is corrupt, truncated or exceeds a limit
 */
export async function* readContent(
  reader: ByteReader,
  header: LocalHeader,
  { listed, limiter }: ContentOptions,
): AsyncGenerator<Buffer, EntryMeasures, undefined> {
  const { name, method, measures } = header;
  const known = (measures ?? listed)?.compressedSize;
  const inflation = method === "deflate" ? inflate(reader, name, known) : undefined;
  const measured = { size: 0, crc32: 0, compressedSize: 0 };
  const content =
    inflation?.bytes ?? (known === undefined ? scanStored(reader, name, measured) : takeStored(reader, known));
  for await (const bytes of content) {
    measured.size += bytes.length;
    measured.compressedSize = inflation?.compressedSize ?? measured.size;
    measured.crc32 = crc32(bytes, measured.crc32);
    limiter.add(name, bytes.length, measured);
    yield bytes;
  }
  measured.compressedSize = inflation?.compressedSize ?? measured.size;
  if (measures === undefined) {
    await readDescriptor(reader, name, measured);
  }
  for (const declared of [measures, listed]) {
    if (declared !== undefined) {
      checkMeasures(name, measured, declared);
    }
  }
  return measured;
}

/**
 * Compares the measures of an entry's content with those that the archive declares.
 *
 * @throws {@link ProtocolError} if they differ
 */
export function checkMeasures(name: string, measured: EntryMeasures, declared: EntryMeasures): void {
  if (measured.compressedSize !== declared.compressedSize || measured.size !== declared.size) {
    throw corrupt(
      `${nameText(name)} has ${measured.size} bytes (${measured.compressedSize} compressed), but the archive declares ${declared.size} (${declared.compressedSize} compressed)`,
    );
  }
  if (measured.crc32 !== declared.crc32) {
    throw corrupt(
      `the CRC-32 of ${nameText(name)} is ${crcText(measured.crc32)}, but the archive declares ${crcText(declared.crc32)}`,
    );
  }
}

async function* takeStored(reader: ByteReader, size: number): AsyncGenerator<Buffer, void, undefined> {
  for (let left = size; left > 0; ) {
    const bytes = await reader.next();
    if (bytes === undefined) {
      throw truncated(reader.position);
    }
    const chunk = bytes.subarray(0, left);
    reader.putBack(bytes.subarray(chunk.length));
    left -= chunk.length;
    yield chunk;
  }
}

const OUTPUT_SIZE = 256 * 1024;
/** Read-ahead of the inflater, which runs in its own thread, in bytes. */
const READ_AHEAD = 4 * OUTPUT_SIZE;
const inflateOptions = { chunkSize: OUTPUT_SIZE, readableHighWaterMark: READ_AHEAD };

interface Inflation {
  readonly bytes: AsyncGenerator<Buffer, void, undefined>;
  /** Number of deflated bytes that were consumed. Once `bytes` has ended, the exact size of the deflated data. */
  readonly compressedSize: number;
}

/** Inflates the next data of the reader. Deflated data marks its own end. */
function inflate(reader: ByteReader, name: string, size: number | undefined): Inflation {
  const inflater = createInflateRaw(inflateOptions);
  let failure: { readonly reason: unknown } | undefined;

  async function* bytes(): AsyncGenerator<Buffer, void, undefined> {
    const fed = feed(inflater, reader, size).catch((reason: unknown) => {
      failure = { reason };
      inflater.push(null); // The data that is inflated already is still returned.
    });
    try {
      for await (const chunk of inflater) {
        yield chunk;
      }
      await fed;
    } catch (cause) {
      throw corrupt(`the compressed data of ${nameText(name)} is invalid`, cause);
    }
    if (failure !== undefined) {
      throw failure.reason;
    }
  }

  return {
    bytes: bytes(),
    get compressedSize() {
      return inflater.bytesWritten;
    },
  };
}

/** Writes to the inflater until its data ends, and returns the unused bytes to the reader. */
async function feed(inflater: InflateRaw, reader: ByteReader, size = Number.POSITIVE_INFINITY): Promise<void> {
  let fed = 0;
  while (fed < size) {
    const bytes = await reader.next();
    if (bytes === undefined) {
      throw truncated(reader.position);
    }
    const chunk = bytes.subarray(0, size - fed);
    reader.putBack(bytes.subarray(chunk.length));
    fed += chunk.length;
    await writeTo(inflater, chunk);
    const unused = fed - inflater.bytesWritten;
    if (unused > 0) {
      reader.putBack(chunk.subarray(chunk.length - unused));
      return;
    }
  }
  inflater.end();
}

/** Resolves once the bytes are inflated, or the inflater was closed. */
function writeTo(inflater: InflateRaw, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    inflater.once("close", resolve);
    inflater.write(bytes, () => {
      inflater.off("close", resolve);
      resolve();
    });
  });
}

/** A descriptor is followed by one of these records. */
const NEXT = [signatureBytes(LOCAL_HEADER), signatureBytes(CENTRAL_HEADER)];
/** The forms of a descriptor: its signature is optional, and its sizes take 8 bytes in ZIP64. */
const forms = [
  { signed: true, zip64: false, size: 16 },
  { signed: false, zip64: false, size: 12 },
  { signed: true, zip64: true, size: 24 },
  { signed: false, zip64: true, size: 20 },
];
const LONGEST = 24 + 4;
/** Maximum number of bytes that are held back. */
const MAX_HELD = 64 * 1024;

/**
 * Reads the data descriptor of an entry whose content has been read.
 *
 * The archive does not say which form it has, so the form is the one that matches the measures and precedes a record.
 *
 * @throws {@link ProtocolError} if no form matches, or the archive ends here
 */
export async function readDescriptor(reader: ByteReader, name: string, measured: EntryMeasures): Promise<void> {
  const view = await reader.peek(LONGEST);
  const form = forms.find(
    ({ signed, zip64, size }) =>
      isNext(view, size) && declares(view, 0, signed, zip64, measured) && crcAt(view, 0, signed) === measured.crc32,
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
      ? `the sizes of ${nameText(name)} differ from those that the archive declares`
      : `the CRC-32 of ${nameText(name)} is ${crcText(measured.crc32)}, but the archive declares ${crcText(crc)}`,
  );
}

/**
 * Reads the content of a stored entry of unknown size. The content ends before the first descriptor with its size and
 * CRC-32. If the source fails before that, the content that arrived is returned, and then the source's error.
 *
 * @throws {@link ProtocolError} if there is no such descriptor
 */
export async function* scanStored(
  reader: ByteReader,
  name: string,
  passed: Pick<EntryMeasures, "size" | "crc32">,
): AsyncGenerator<Buffer, void, undefined> {
  let held: Buffer = Buffer.alloc(0);
  for (;;) {
    let failure: { readonly reason: unknown } | undefined;
    const chunk = await reader.next().catch((reason: unknown) => {
      failure = { reason };
      return undefined;
    });
    if (failure !== undefined) {
      yield held.subarray(0, certainSize(held, passed));
      throw failure.reason;
    }
    if (chunk === undefined) {
      throw corrupt(`the data descriptor of ${nameText(name)} does not match the size and CRC-32 of its content`);
    }
    // A descriptor begins in the held bytes, or in the chunk.
    const isJoined = chunk.length < LONGEST || (held.length >= LONGEST && held.length + chunk.length < MAX_HELD);
    const before = Buffer.concat([held, isJoined ? chunk : chunk.subarray(0, LONGEST)]);
    let found = findEnd(before, passed, Math.max(held.length - 3, 0)); // The held bytes were searched before.
    if (found.end !== undefined) {
      yield before.subarray(0, found.end);
      reader.putBack(Buffer.concat([held, chunk]).subarray(found.end));
      return;
    }
    let view: Buffer = before;
    if (!isJoined) {
      if (held.length > 0) {
        yield held;
      }
      view = chunk;
      found = findEnd(view, passed);
    }
    if (found.end !== undefined) {
      yield view.subarray(0, found.end);
      reader.putBack(chunk.subarray(found.end));
      return;
    }
    // If the archive is truncated here, bytes after a record are not content.
    const certain = Math.max(Math.min(view.length - LONGEST + 1, found.record), 0);
    held = Buffer.from(view.subarray(certain)); // A copy, so that the chunk is not retained.
    yield view.subarray(0, certain);
  }
}

/** The first two bytes of every record's signature. */
const PK = Buffer.from("PK");

/** Returns the positions of possible records: a descriptor, or a record that may follow one. */
function* recordsIn(view: Buffer, from = 0): Generator<number> {
  for (let at = view.indexOf(PK, from); at !== -1 && at + 4 <= view.length; at = view.indexOf(PK, at + 1)) {
    const signature = view.readUInt32LE(at);
    if (signature === LOCAL_HEADER || signature === CENTRAL_HEADER || signature === DESCRIPTOR) {
      yield at;
    }
  }
}

/**
 * Returns where in `view`, which follows the content that has passed, the content ends; and the position of the first
 * record in its last {@link MAX_HELD} bytes.
 */
function findEnd(
  view: Buffer,
  { size, crc32: crc }: Pick<EntryMeasures, "size" | "crc32">,
  from = 0,
): { readonly end: number | undefined; readonly record: number } {
  const [record = Number.POSITIVE_INFINITY] = recordsIn(view, Math.max(view.length - MAX_HELD, 0));
  let summed = 0;
  let sum = crc;
  for (const at of recordsIn(view, from)) {
    for (const form of isNext(view, at) ? forms : []) {
      const start = at - form.size;
      const measured = { size: size + start, compressedSize: size + start };
      if (start >= 0 && declares(view, start, form.signed, form.zip64, measured)) {
        // Each byte is summed once, except those before a longer form of the same record.
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
 * Returns how many bytes of `view`, which follows the content that has passed, are certainly content if the archive is
 * truncated after them: they end before any record, and before a possible beginning of the entry's descriptor.
 */
function certainSize(view: Buffer, { size, crc32: crc }: Pick<EntryMeasures, "size" | "crc32">): number {
  const [first = view.length] = recordsIn(view);
  const limit = Math.min(view.length, first);
  for (let at = Math.max(limit - LONGEST, 0); at < limit; at += 1) {
    const before = crc32(view.subarray(0, at), crc);
    const begun = view.subarray(at, limit);
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
  return limit;
}

function descriptorOf(size: number, crc: number, { signed, zip64 }: (typeof forms)[number]): Buffer {
  const rest = Buffer.alloc(zip64 ? 20 : 12);
  rest.writeUInt32LE(crc);
  for (const place of [0, 1]) {
    if (zip64) {
      rest.writeBigUInt64LE(BigInt(size), 4 + 8 * place);
    } else {
      rest.writeUInt32LE(size % 2 ** 32, 4 + 4 * place);
    }
  }
  return signed ? Buffer.concat([signatureBytes(DESCRIPTOR), rest]) : rest;
}

/** Whether a descriptor with these sizes is at `at`. */
function declares(
  view: Buffer,
  at: number,
  signed: boolean,
  zip64: boolean,
  { compressedSize, size }: Pick<EntryMeasures, "compressedSize" | "size">,
): boolean {
  if (signed && view.readUInt32LE(at) !== DESCRIPTOR) {
    return false;
  }
  const sizes = at + (signed ? 8 : 4);
  return zip64
    ? view.readBigUInt64LE(sizes) === BigInt(compressedSize) && view.readBigUInt64LE(sizes + 8) === BigInt(size)
    : view.readUInt32LE(sizes) === compressedSize && view.readUInt32LE(sizes + 4) === size;
}

function crcAt(view: Buffer, at: number, signed: boolean): number {
  return view.readUInt32LE(at + (signed ? 4 : 0));
}

function isNext(view: Buffer, at: number): boolean {
  return NEXT.some((signature) => view.subarray(at, at + 4).equals(signature));
}
