import { getFileNameLowLevel, parseExtraFields, validateFileName } from "yauzl";
import { isError } from "../errors/is-error.js";
import { corrupt, nameText, refused, truncated } from "./archive-error.js";
import type { ByteReader } from "./byte-reader.js";
import { LOCAL_HEADER, LOCAL_HEADER_SIZE } from "./signatures.js";

const ZIP64_FIELD = 1;
const UNKNOWN = 0xffffffff;

/** How the content of an entry is kept: as it is, or deflated. */
export type Method = "stored" | "deflate";

/** The sizes of an entry in bytes, and the checksum of its content. */
export interface Measures {
  readonly compressedSize: number;
  readonly size: number;
  readonly crc32: number;
}

/** The header before an entry's content. */
export interface LocalHeader {
  /** Position in the archive, in bytes. */
  readonly offset: number;
  readonly name: string;
  readonly rawName: Buffer;
  readonly method: Method;
  /** Missing where they stand in a data descriptor behind the content. */
  readonly measures: Measures | undefined;
}

/**
 * Read the header of the next entry.
 *
 * @param reader stands at the header, and at the content afterwards
 * @returns the header, with a name that was checked
 * @throws {@link ProtocolError} where no entry begins here, its name is unsafe, or it is encrypted or compressed by an
 *   unknown method
 */
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
  const record = view.subarray(0, size);
  reader.take(size);
  // A copy, because it is kept longer than the bytes around it.
  const rawName = Buffer.from(record.subarray(LOCAL_HEADER_SIZE, LOCAL_HEADER_SIZE + nameSize));
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

/**
 * Check that the name of an entry is that of a file below the archive's own folder.
 *
 * @param name the decoded name
 * @param rawName the name's bytes
 * @throws {@link ProtocolError} where it is empty, absolute, longer than 4096 characters, leads elsewhere or holds
 *   controls
 */
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

/**
 * Read how an entry is compressed.
 *
 * @param name of the entry, for errors
 * @param flags the general purpose bit flags
 * @param method the number of the compression method
 * @returns the method
 * @throws {@link ProtocolError} where the entry is encrypted, or compressed by another method
 */
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
    throw corrupt(isError(reason) ? reason.message : String(reason), reason);
  }
  checkName(name, rawName);
  return name;
}

function readMeasures(name: string, record: Buffer, extra: Buffer): Measures {
  let compressedSize = record.readUInt32LE(18);
  let size = record.readUInt32LE(22);
  // The ZIP64 field holds only the sizes that do not fit into 32 bits, in this order.
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
  if (!Number.isSafeInteger(size) || !Number.isSafeInteger(compressedSize)) {
    throw corrupt(`${nameText(name)} has a size that no file has`);
  }
  return { compressedSize, size, crc32: record.readUInt32LE(14) };
}
