// Three ZIP libraries are in use, each for what the others cannot do. yauzl reads the central directory and the names: it
// alone decodes every form of a name and ZIP64 correctly, but it can neither read a stream nor check the bytes between
// entries, so this folder reads the entries itself. yazl writes archives as a stream. JSZip is the in-memory archive that
// toZip() returns to users.

import {
  type Entry,
  fromRandomAccessReaderPromise,
  getFileNameLowLevel,
  parseExtraFields,
  RandomAccessReader,
  validateFileName,
  type ZipFile,
} from "yauzl";
import { TradewireError } from "../../base/errors/index.js";
import { isError } from "../../base/errors/node-errors.js";
import type { RandomAccess } from "./archive-source.js";
import type { ByteReader } from "./byte-reader.js";
import {
  corrupt,
  END_RECORD,
  END_RECORD_SIZE,
  LOCAL_HEADER,
  LOCAL_HEADER_SIZE,
  nameText,
  refused,
  tooLarge,
  truncated,
  ZIP64_END_RECORD,
  ZIP64_END_RECORD_SIZE,
  ZIP64_LOCATOR,
  ZIP64_LOCATOR_SIZE,
} from "./zip-format.js";

/** Functions of yauzl, with the bytes that are used here. */
interface NameFunctions {
  getFileNameLowLevel(flags: number, name: Buffer, extra: readonly ExtraField[], strict: boolean): string;
  parseExtraFields(extra: Buffer): ExtraField[];
}

interface ExtraField {
  readonly id: number;
  readonly data: Buffer;
}

const names: NameFunctions = { getFileNameLowLevel, parseExtraFields };

const ZIP64_FIELD = 1;
const UNKNOWN = 0xffffffff;

/** How the content of an entry is compressed: not at all, or deflated. */
export type Method = "stored" | "deflate";

/** The sizes of an entry in bytes, and the checksum of its content. */
export interface EntryMeasures {
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
  /** `undefined` if they are in a data descriptor after the content. */
  readonly measures: EntryMeasures | undefined;
}

/**
 * Reads the local header of the next entry.
 *
 * @throws {@link ProtocolError} if no entry begins here, its name is unsafe, or it is encrypted or has an unknown
 *   compression method
 */
export async function readLocalHeader(reader: ByteReader): Promise<LocalHeader> {
  const offset = reader.position;
  const start = await reader.peek(LOCAL_HEADER_SIZE);
  if (start.length < LOCAL_HEADER_SIZE) {
    throw truncated(offset + start.length);
  }
  if (start.readUInt32LE(0) !== LOCAL_HEADER) {
    throw corrupt(`there is no file at byte ${offset}, where the previous part ends`);
  }
  const nameSize = start.readUInt16LE(26);
  const size = LOCAL_HEADER_SIZE + nameSize + start.readUInt16LE(28);
  const view = await reader.peek(size);
  if (view.length < size) {
    throw truncated(offset + view.length);
  }
  const record = view.subarray(0, size);
  reader.take(size);
  // A copy, because it is retained longer than the bytes around it.
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
 * Checks that an entry's name is a path inside the archive's folder.
 *
 * @throws {@link ProtocolError} if it is empty, absolute, longer than 4096 characters, leads elsewhere or contains
 *   control characters
 */
export function checkName(name: string, rawName: Buffer): void {
  const wrong = validateFileName(name);
  if (wrong !== null) {
    throw corrupt(wrong);
  }
  // Without the UTF-8 flag a name is decoded as code page 437, which has other characters for control codes.
  const control = /\p{Cc}/u.test(name) || rawName.some((byte) => byte < 0x20);
  if (name === "" || control || name.split("/").includes(".") || name.length > 4096) {
    throw corrupt(`a file in it has the invalid name ${nameText(control ? rawName.toString("ascii") : name)}`);
  }
}

/**
 * Returns the compression method of an entry.
 *
 * @throws {@link ProtocolError} if the entry is encrypted, or has another compression method
 */
export function readMethod(name: string, flags: number, method: number): Method {
  if ((flags & 0x2041) !== 0) {
    throw refused(`${nameText(name)} is encrypted`);
  }
  if (method !== 0 && method !== 8) {
    throw refused(
      `${nameText(name)} has the compression method ${method}; only deflate (8) and stored (0) are supported`,
    );
  }
  return method === 0 ? "stored" : "deflate";
}

function readName(flags: number, rawName: Buffer, extra: Buffer): string {
  let name: string;
  try {
    name = names.getFileNameLowLevel(flags, rawName, names.parseExtraFields(extra), true);
  } catch (reason) {
    throw corrupt(isError(reason) ? reason.message : String(reason), reason);
  }
  checkName(name, rawName);
  return name;
}

function readMeasures(name: string, record: Buffer, extra: Buffer): EntryMeasures {
  let compressedSize = record.readUInt32LE(18);
  let size = record.readUInt32LE(22);
  // The ZIP64 field contains only the sizes that do not fit into 32 bits, in this order.
  const field = names.parseExtraFields(extra).find(({ id }) => id === ZIP64_FIELD)?.data;
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
    throw corrupt(`${nameText(name)} has an impossible size`);
  }
  return { compressedSize, size, crc32: record.readUInt32LE(14) };
}

/** No export has as many schema versions. An archive with more files is an attempt to exhaust memory. */
const MAX_FILES = 10_000;
/** Maximum size of a directory, whose entries are stored in memory. */
const MAX_DIRECTORY_SIZE = 32 * 1024 * 1024;
/** Maximum number of bytes after the directory: a comment, ZIP64's records and their extensions. */
const MAX_END_SIZE = 256 * 1024;

/**
 * Checks that an archive does not list enough files to exhaust memory.
 *
 * @throws {@link ProtocolError} `RESOURCE_EXHAUSTED` if there are too many
 */
export function checkListing(count: number, size: number): void {
  const advice = "No export has that many files. Check the source of the archive.";
  if (count > MAX_FILES) {
    throw tooLarge(`it exceeds the limit of ${MAX_FILES} files and folders`, advice);
  }
  if (size > MAX_DIRECTORY_SIZE) {
    throw tooLarge(`its directory exceeds the limit of ${MAX_DIRECTORY_SIZE} bytes`, advice);
  }
}

/** A file of an archive, as the archive's directory describes it. */
export interface ListedEntry extends EntryMeasures {
  readonly name: string;
  readonly rawName: Buffer;
  readonly method: Method;
  /** Position of its header in the archive, in bytes. */
  readonly offset: number;
}

/** The central directory of an archive. */
export interface Directory {
  /** Position of its first byte, where the files end. */
  readonly start: number;
  /** The files in archive order. */
  readonly entries: readonly ListedEntry[];
}

/**
 * Reads the directory of an archive, which must be the end of the bytes.
 *
 * @throws {@link ProtocolError} if the directory is corrupt or too large, bytes follow it, or a file in it is
 *   encrypted, has an unknown compression method or an unsafe name
 */
export async function readDirectory(bytes: RandomAccess): Promise<Directory> {
  try {
    const zip = await fromRandomAccessReaderPromise(new RandomAccessAdapter(bytes), bytes.size, {
      strictFileNames: true,
    });
    return await checkedDirectory(zip, bytes);
  } catch (reason) {
    throw reason instanceof TradewireError
      ? reason
      : corrupt(isError(reason) ? reason.message : String(reason), reason);
  }
}

class RandomAccessAdapter extends RandomAccessReader {
  readonly #bytes: RandomAccess;

  constructor(bytes: RandomAccess) {
    super();
    this.#bytes = bytes;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    this.#bytes.read(position, length).then(
      (read) => {
        read.copy(buffer, offset);
        callback(null);
      },
      (reason: unknown) => callback(isError(reason) ? reason : new Error(String(reason))),
    );
  }
}

async function checkedDirectory(zip: ZipFile, bytes: RandomAccess): Promise<Directory> {
  // yauzl declares another type for this position.
  const start = Number(zip.readEntryCursor);
  if (start > bytes.size) {
    throw corrupt("the start of its directory is outside the archive");
  }
  checkListing(zip.entryCount, bytes.size - start);
  const entries: ListedEntry[] = [];
  const seen = new Set<string>();
  for await (const entry of zip.eachEntry()) {
    const listed = listedEntry(entry);
    if (seen.has(listed.name)) {
      throw corrupt(`it contains ${nameText(listed.name)} twice`);
    }
    seen.add(listed.name);
    entries.push(listed);
  }
  const end = Number(zip.readEntryCursor);
  if (bytes.size - end > MAX_END_SIZE) {
    throw corrupt("its directory does not end at the end record");
  }
  checkEndRecords(await bytes.read(end, bytes.size - end), { start, end, count: entries.length });
  if (entries.length === 0) {
    throw corrupt("it contains no files");
  }
  return { start, entries: entries.toSorted((a, b) => a.offset - b.offset) };
}

function listedEntry(entry: Entry): ListedEntry {
  const { fileName: name, fileNameRaw, compressedSize, uncompressedSize: size, crc32 } = entry;
  checkName(name, fileNameRaw);
  const method = readMethod(name, entry.generalPurposeBitFlag, entry.compressionMethod);
  const offset = entry.relativeOffsetOfLocalHeader;
  return { name, rawName: Buffer.from(fileNameRaw), method, compressedSize, size, crc32, offset };
}

/**
 * Checks that `records`, the bytes after the directory, are its end records and nothing else, and are consistent with it.
 * A reader that only searches for the end record would accept one that omits files.
 */
function checkEndRecords(records: Buffer, directory: { start: number; end: number; count: number }): void {
  const { start, end, count } = directory;
  let at = 0;
  let zip64: Buffer | undefined;
  if (records.length >= ZIP64_END_RECORD_SIZE && records.readUInt32LE(0) === ZIP64_END_RECORD) {
    zip64 = records;
    const locator = Number(records.readBigUInt64LE(4)) + 12;
    at = locator + ZIP64_LOCATOR_SIZE;
    if (
      at >= records.length ||
      records.readUInt32LE(locator) !== ZIP64_LOCATOR ||
      records.readBigUInt64LE(locator + 8) !== BigInt(end)
    ) {
      throw corrupt("its ZIP64 records contradict each other");
    }
  }
  const record = records.subarray(at);
  if (
    record.length < END_RECORD_SIZE ||
    record.readUInt32LE(0) !== END_RECORD ||
    record.length !== END_RECORD_SIZE + record.readUInt16LE(20)
  ) {
    throw corrupt(`its directory continues after the ${count} files that it declares`);
  }
  const values = [
    { narrow: record.readUInt16LE(8), none: 0xffff, full: zip64?.readBigUInt64LE(24), actual: count },
    { narrow: record.readUInt16LE(10), none: 0xffff, full: zip64?.readBigUInt64LE(32), actual: count },
    { narrow: record.readUInt32LE(12), none: 0xffffffff, full: zip64?.readBigUInt64LE(40), actual: end - start },
    { narrow: record.readUInt32LE(16), none: 0xffffffff, full: zip64?.readBigUInt64LE(48), actual: start },
  ];
  const fits = values.every(
    ({ narrow, none, full, actual }) =>
      (narrow === actual || (narrow === none && full !== undefined)) && (full === undefined || full === BigInt(actual)),
  );
  if (!fits) {
    throw corrupt("its end record does not match its directory");
  }
}
