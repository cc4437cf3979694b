import { getFileNameLowLevel, parseExtraFields, validateFileName } from "yauzl";
import { corrupt, nameText, refused, truncated } from "./archive-error.js";
import type { ByteReader } from "./byte-reader.js";

/** What the records of an archive begin with. */
export const LOCAL_HEADER = 0x04034b50;
export const CENTRAL_HEADER = 0x02014b50;
export const END_RECORD = 0x06054b50;
export const ZIP64_END_RECORD = 0x06064b50;
export const ZIP64_LOCATOR = 0x07064b50;
export const DESCRIPTOR = 0x08074b50;

/** How long they are at least: names, comments and the like come on top. */
export const LOCAL_HEADER_SIZE = 30;
export const END_RECORD_SIZE = 22;
export const ZIP64_END_RECORD_SIZE = 56;
export const ZIP64_LOCATOR_SIZE = 20;

const ZIP64_FIELD = 1;
const UNKNOWN = 0xffffffff;

/** A signature as it stands in an archive. */
export function signatureBytes(signature: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(signature);
  return bytes;
}

/** How the content of an entry is kept: as it is, or deflated. */
export type Method = "stored" | "deflate";

/** How large an entry is and what its content is checked by. */
export interface Measures {
  readonly compressedSize: number;
  readonly size: number;
  readonly crc32: number;
}

/** What stands before an entry's content. */
export interface LocalHeader {
  /** Where it stands in the archive. */
  readonly offset: number;
  readonly name: string;
  readonly rawName: Buffer;
  readonly method: Method;
  /** Missing where they stand in a data descriptor behind the content. */
  readonly measures: Measures | undefined;
}

/** Reads the header of the next entry. */
export async function readLocalHeader(reader: ByteReader): Promise<LocalHeader> {
  const offset = reader.position;
  const start = await reader.peek(LOCAL_HEADER_SIZE);
  if (start.length < LOCAL_HEADER_SIZE) {
    throw truncated(offset + start.length);
  }
  if (start.readUInt32LE(0) !== LOCAL_HEADER) {
    throw corrupt(`at byte ${offset} no file begins, but what is before it ends there`);
  }
  const nameSize = start.readUInt16LE(26);
  const size = LOCAL_HEADER_SIZE + nameSize + start.readUInt16LE(28);
  const view = await reader.peek(size);
  if (view.length < size) {
    throw truncated(offset + view.length);
  }
  // A copy: it is kept longer than the bytes around it.
  const record = Buffer.from(view.subarray(0, size));
  reader.take(size);
  const rawName = record.subarray(LOCAL_HEADER_SIZE, LOCAL_HEADER_SIZE + nameSize);
  const extra = record.subarray(LOCAL_HEADER_SIZE + nameSize);
  const flags = record.readUInt16LE(6);
  const name = readName(flags, rawName, extra);
  const method = readMethod(name, flags, record.readUInt16LE(8));
  return {
    offset,
    name,
    rawName,
    method,
    measures: (flags & 8) === 0 ? readMeasures(name, record, extra) : undefined,
  };
}

/** The name of an entry, which must be that of a file below the place where the archive is. */
export function checkName(name: string, rawName: Buffer): void {
  const wrong = validateFileName(name);
  if (wrong !== null) {
    throw corrupt(wrong);
  }
  // Without a flag for UTF-8 a name is read as code page 437, where control characters look like others.
  const control = /\p{Cc}/u.test(name) || rawName.some((byte) => byte < 0x20);
  if (name === "" || control || name.split("/").includes(".") || name.length > 4096) {
    throw corrupt(`a file in it has the name ${nameText(control ? rawName.toString("ascii") : name)}`);
  }
}

/** How an entry is kept, from the flags and the number that say it. */
export function readMethod(name: string, flags: number, method: number): Method {
  if ((flags & 0x2041) !== 0) {
    throw refused(`${nameText(name)} is encrypted`);
  }
  if (method !== 0 && method !== 8) {
    throw refused(`${nameText(name)} is compressed by method ${method}; only deflate (8) and stored (0) are read`);
  }
  return method === 0 ? "stored" : "deflate";
}

function readName(flags: number, rawName: Buffer, extra: Buffer): string {
  let name: string;
  try {
    name = getFileNameLowLevel(flags, rawName, parseExtraFields(extra), true);
  } catch (reason) {
    throw corrupt(reason instanceof Error ? reason.message : String(reason), reason);
  }
  checkName(name, rawName);
  return name;
}

function readMeasures(name: string, record: Buffer, extra: Buffer): Measures {
  let compressedSize = record.readUInt32LE(18);
  let size = record.readUInt32LE(22);
  if (compressedSize === UNKNOWN || size === UNKNOWN) {
    // ZIP64 holds those that do not fit, in this order.
    const field = parseExtraFields(extra).find(({ id }) => id === ZIP64_FIELD)?.data;
    const wanted = Number(size === UNKNOWN) + Number(compressedSize === UNKNOWN);
    if (field !== undefined && field.length >= 8 * wanted) {
      let at = 0;
      if (size === UNKNOWN) {
        size = Number(field.readBigUInt64LE(at));
        at += 8;
      }
      if (compressedSize === UNKNOWN) {
        compressedSize = Number(field.readBigUInt64LE(at));
      }
    }
  }
  if (!Number.isSafeInteger(size) || !Number.isSafeInteger(compressedSize)) {
    throw corrupt(`${nameText(name)} has a size that no file has`);
  }
  return { compressedSize, size, crc32: record.readUInt32LE(14) };
}
