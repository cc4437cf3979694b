// Three ZIP libraries stand side by side, each for what the others cannot do. yauzl reads the central directory and the
// names: it alone decodes every form of a name and ZIP64 correctly, but it can neither read a stream nor check what
// stands between entries, so this folder reads the entries itself. yazl writes archives as a stream. JSZip is the
// archive in memory that users of toZip() are handed.
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from "yauzl";
import { TradewireError } from "../errors/index.js";
import { isError } from "../errors/is-error.js";
import { corrupt, nameText, tooLarge } from "./archive-error.js";
import { checkName, type Measures, type Method, readMethod } from "./records.js";
import {
  END_RECORD,
  END_RECORD_SIZE,
  ZIP64_END_RECORD,
  ZIP64_END_RECORD_SIZE,
  ZIP64_LOCATOR,
  ZIP64_LOCATOR_SIZE,
} from "./signatures.js";

/** No export has as many schema versions. An archive with more files was made to fill memory. */
const MAX_FILES = 10_000;
/** The most bytes of a directory, whose entries are held in memory. */
const MAX_DIRECTORY_SIZE = 32 * 1024 * 1024;
/** The most bytes behind the directory: a comment, ZIP64's records and their extensions. */
const MAX_END_SIZE = 256 * 1024;

/**
 * Check that an archive is not made to fill memory with what it lists.
 *
 * @param count how many files and folders it holds, or says that it holds
 * @param size of its directory in bytes
 * @throws {@link ProtocolError} `RESOURCE_EXHAUSTED` where that is too much
 */
export function checkListing(count: number, size: number): void {
  const advice = "No export has so many files (specification, 4.1); check where the archive comes from.";
  if (count > MAX_FILES) {
    throw tooLarge(`it holds more than ${MAX_FILES} files and folders, the limit`, advice);
  }
  if (size > MAX_DIRECTORY_SIZE) {
    throw tooLarge(`its directory has more than ${MAX_DIRECTORY_SIZE} bytes, the limit`, advice);
  }
}

/** A file of an archive, as the archive's directory describes it. */
export interface ListedEntry extends Measures {
  readonly name: string;
  readonly rawName: Buffer;
  readonly method: Method;
  /** Position of its header in the archive, in bytes. */
  readonly offset: number;
}

/** The central directory of an archive. */
export interface Directory {
  /** Position of its first byte: the files end there. */
  readonly start: number;
  /** The files in the order in which they stand in the archive. */
  readonly entries: readonly ListedEntry[];
}

/** Bytes that can be read at any position. */
export interface Bytes {
  readonly size: number;
  /**
   * Read `length` bytes from `position` on.
   *
   * @param position of the first byte, counted from 0
   * @param length in bytes
   * @returns exactly `length` bytes; it fails where fewer are there
   */
  read(position: number, length: number): Promise<Buffer>;
}

/**
 * Read the directory of an archive. The bytes must end with it.
 *
 * @param bytes the archive
 * @returns the directory, checked against its end records
 * @throws {@link ProtocolError} where the directory is corrupt or too large, bytes follow it, or a file in it is
 *   encrypted, compressed by an unknown method or has an unsafe name
 */
export async function readDirectory(bytes: Bytes): Promise<Directory> {
  try {
    const zip = await fromRandomAccessReaderPromise(new Positioned(bytes), bytes.size, { strictFileNames: true });
    return await checkedDirectory(zip, bytes);
  } catch (reason) {
    throw reason instanceof TradewireError
      ? reason
      : corrupt(isError(reason) ? reason.message : String(reason), reason);
  }
}

class Positioned extends RandomAccessReader {
  readonly #bytes: Bytes;

  constructor(bytes: Bytes) {
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

async function checkedDirectory(zip: ZipFile, bytes: Bytes): Promise<Directory> {
  // yauzl declares another type, but this is a position.
  const start = Number(zip.readEntryCursor);
  if (start > bytes.size) {
    throw corrupt("its directory is said to begin where the archive does not reach");
  }
  checkListing(zip.entryCount, bytes.size - start);
  const entries: ListedEntry[] = [];
  const names = new Set<string>();
  for await (const entry of zip.eachEntry()) {
    const listed = listedEntry(entry);
    if (names.has(listed.name)) {
      throw corrupt(`it holds ${nameText(listed.name)} twice`);
    }
    names.add(listed.name);
    entries.push(listed);
  }
  const end = Number(zip.readEntryCursor);
  if (bytes.size - end > MAX_END_SIZE) {
    throw corrupt("its directory does not end where the archive does");
  }
  checkEndRecords(await bytes.read(end, bytes.size - end), { start, end, count: entries.length });
  if (entries.length === 0) {
    throw corrupt("it holds no file");
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
 * Check that `records`, the bytes behind the directory, are its end records and nothing else, and fit it. A reader that
 * only looks for the end record would accept one that leaves files out.
 */
function checkEndRecords(records: Buffer, directory: { start: number; end: number; count: number }): void {
  const { start, end, count } = directory;
  let at = 0;
  let wide: Buffer | undefined;
  if (records.length >= ZIP64_END_RECORD_SIZE && records.readUInt32LE(0) === ZIP64_END_RECORD) {
    wide = records;
    const locator = Number(records.readBigUInt64LE(4)) + 12;
    at = locator + ZIP64_LOCATOR_SIZE;
    if (
      at >= records.length ||
      records.readUInt32LE(locator) !== ZIP64_LOCATOR ||
      records.readBigUInt64LE(locator + 8) !== BigInt(end)
    ) {
      throw corrupt("its ZIP64 records do not fit together");
    }
  }
  const record = records.subarray(at);
  if (
    record.length < END_RECORD_SIZE ||
    record.readUInt32LE(0) !== END_RECORD ||
    record.length !== END_RECORD_SIZE + record.readUInt16LE(20)
  ) {
    throw corrupt(`its directory lists ${count} files, but behind them it goes on`);
  }
  const values = [
    { narrow: record.readUInt16LE(8), none: 0xffff, full: wide?.readBigUInt64LE(24), actual: count },
    { narrow: record.readUInt16LE(10), none: 0xffff, full: wide?.readBigUInt64LE(32), actual: count },
    { narrow: record.readUInt32LE(12), none: 0xffffffff, full: wide?.readBigUInt64LE(40), actual: end - start },
    { narrow: record.readUInt32LE(16), none: 0xffffffff, full: wide?.readBigUInt64LE(48), actual: start },
  ];
  const fits = values.every(
    ({ narrow, none, full, actual }) =>
      (narrow === actual || (narrow === none && full !== undefined)) && (full === undefined || full === BigInt(actual)),
  );
  if (!fits) {
    throw corrupt("its end record does not fit its directory");
  }
}
