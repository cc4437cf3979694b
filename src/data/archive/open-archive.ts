import fs from "node:fs";
import os from "node:os";
import paths from "node:path";
import type JSZip from "jszip";
import { addCaller, recordCaller } from "../../base/errors/caller-stack.js";
import { Code } from "../../base/errors/code.js";
import { ProtocolError } from "../../base/errors/index.js";
import { isError } from "../../base/errors/node-errors.js";
import { assertKnownKeys, assertObject, assertOneOf, invalidValueError, isBytes } from "../../base/input/assert.js";
import { lazily } from "../../base/input/lazy.js";
import { snapshot } from "../../base/input/snapshot.js";
import type { CsvRecord } from "../csv/csv-format.js";
import { batchRecords } from "../csv/decode-csv.js";
import type { TableName } from "../schema/table-names.js";
import type { TypedRecord, TypedRow } from "../schema/typed-row.js";
import { type ArchiveSource, inMemory, openFile, readSource, type Seekable } from "../zip/archive-source.js";
import { abortable } from "../zip/byte-reader.js";
import { corrupt } from "../zip/zip-format.js";
import { type ArchiveFile, type CsvHead, csvFiles, csvHeads, type FileOptions } from "./archive-files.js";
import { archiveEntries, arrivingEntries, UNLIMITED } from "./export-entries.js";
import { saveArchive } from "./save-archive.js";
import type { TypedBatch, TypedOptions } from "./typed-rows.js";

/** How an archive is read. */
export interface ArchiveOptions extends FileOptions {
  /** Maximum total size of all files in bytes; 1 TiB by default, and 1 GiB for `toZip()`. */
  readonly maxSize?: number | undefined;
  /**
   * Maximum ratio of a file's size to its size in the archive, for files of more than 16 MiB; 1100 by default, which is
   * more than deflate can reach, and 200 for `toZip()`.
   */
  readonly maxRatio?: number | undefined;
  /** Stops the reading. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the reading of a stream stops early, so that a source can stop waiting for more bytes. */
  readonly onClose?: (() => void) | undefined;
}

/** How rows are read. */
export interface RowOptions {
  /**
   * The columns of the records: `own`, the default, are those of a record's file; `union` are those of all files, `null`
   * if the record's file lacks one. For `union`, a stream is first saved to a temporary file, since its last file may add
   * a column.
   */
  readonly columns?: "own" | "union" | undefined;
  /** Whether values have the types of their columns; by default, each value is its text. */
  readonly typed?: false | undefined;
}

/** How typed rows are read. */
export interface TypedRowOptions<Table extends TableName = TableName>
  extends Omit<RowOptions, "typed">,
    TypedOptions<Table> {}

/**
 * An archive of CSV files, read on demand. An archive from a stream can be read once, by one of the methods. `Asked` is
 * the table, if known at compile time.
 */
export interface Archive<Asked extends TableName = TableName> {
  /**
   * Reads the files, in block order. A file whose rows are not read is still checked.
   *
   * @returns the files; these errors are thrown while they are read
   * @throws {@link ProtocolError} if the archive or a file in it is corrupt, truncated, exceeds a limit or does not
   *   belong to an export
   * @throws {@link NodeError} if a gateway wrote an error object after the archive
   * @throws {@link RequestError} if an option is invalid, or the rows of a file are read twice or too late
   * @throws {@link FileError} if the archive's file cannot be read
   * @throws {@link CanceledError} if the signal was aborted
   */
  files(): AsyncIterable<ArchiveFile>;
  /**
   * Reads the rows of all files. The files are in block order. Rows keep the order of their file, in which the rows of a
   * segment are sorted by the table's primary key, which may differ from their order in time.
   *
   * @param options which columns the records have
   * @returns the rows by column name, `null` for NULL; rows before an error are returned before it is thrown
   * @throws {@link ProtocolError}, {@link NodeError}, {@link RequestError}, {@link FileError} and {@link CanceledError}
   *   as `files()` does; {@link FileError} also if the temporary file cannot be written
   */
  rows(options?: RowOptions): AsyncIterable<CsvRecord>;
  /**
   * Reads the rows of all files, with values of the types that the columns have in the network's tables.
   *
   * @param options `typed: true`, which columns the records have, the table if the files' names do not contain
   *   it, and a callback for unknown columns and values
   * @returns the typed rows by column name; rows before an error are returned before it is thrown
   * @throws {@link ProtocolError} also if a file lacks a column of its schema version, or a value does not fit its
   *   type; {@link RequestError} also if the table is unknown or another one; otherwise as above
   *
   * @example
   * for await (const { price, size } of archive.rows({ typed: true, table: "trades" })) console.log(price * size);
   */
  rows<Table extends TableName = Asked>(options: TypedRowOptions<Table>): AsyncIterable<TypedRow<Table>>;
  /**
   * Loads the archive into memory. Each file is inflated and checked first.
   *
   * @returns the archive
   * @throws {@link ProtocolError} if it is corrupt, larger than 512 MiB, or exceeds `maxSize` or `maxRatio`
   * @throws {@link NodeError} if a gateway wrote an error object after the archive
   * @throws {@link FileError} if the archive's file cannot be read
   * @throws {@link CanceledError} if the signal was aborted
   */
  toZip(): Promise<JSZip>;
}

const TIB = 1024 ** 4;

/** The names of {@link TypedRowOptions}, which include those of {@link RowOptions}. */
const ROW_OPTIONS = { columns: true, typed: true, table: true, onUnknown: true } as const;

/**
 * Opens an archive of CSV files. Nothing is read before rows or files are requested, and no faster
 * than they are consumed. When the caller stops early, the source is closed.
 *
 * Files and bytes are opened using their central directory. A stream is read as it arrives and compared with the directory at its
 * end. Sizes and CRC-32 of each file are checked once it has been read. Rows are never missing without an error.
 *
 * @param source path of a file or pipe, the archive's bytes, or a stream of them, split anywhere
 * @param options limits in bytes and by ratio, how CSV is decoded, a signal
 * @returns the archive; its methods throw errors of the source and the options
 * @throws {@link RequestError} if the source is none of these
 *
 * @example
 * for await (const trade of openArchive("chain-1-trades-1-3000.zip").rows()) console.log(trade["price"]);
 */
export function openArchive(source: ArchiveSource, options: ArchiveOptions = {}): Archive {
  options = snapshot(options);
  assertObject("options", options);
  if (typeof source !== "string" && (typeof source !== "object" || source === null || !isReadable(source))) {
    throw invalidValueError("source", source, "the path of a file, the archive's bytes, or a stream of them");
  }
  return archiveOf(source, options, false);
}

/** Whether a value is bytes, or a stream that may contain bytes. */
function isReadable(source: object): boolean {
  return isBytes(source) || Symbol.asyncIterator in source;
}

export function openAssembled(chunks: AsyncIterable<Uint8Array>, options: ArchiveOptions): Archive {
  return archiveOf(chunks, options, true);
}

function archiveOf(source: ArchiveSource, options: ArchiveOptions, isAssembled: boolean): Archive {
  const { signal, onClose, maxSize = TIB, maxRatio = 1100, ...fileOptions } = options;
  const reading = { limits: { maxSize, maxRatio }, signal };
  const seekableFiles = (archive: Seekable) => csvFiles(archiveEntries(archive, reading), fileOptions);
  const streamedFiles = (stream: AsyncIterable<Uint8Array>) =>
    csvFiles(arrivingEntries(stream, { ...reading, onClose, isAssembled }), fileOptions);
  const files = () => readSource(source, seekableFiles, streamedFiles);

  async function* rowsOfUnion(archive: Seekable, rowOptions: RowOptions | TypedRowOptions, caller: Error) {
    const heads = await csvHeads(archiveEntries(archive, reading), fileOptions);
    const columns = new Set(heads.flatMap((head) => head.columns));
    yield* batchRecords(batchesOf(seekableFiles(archive), rowOptions, caller), [...columns]);
  }

  function rows(rowOptions?: RowOptions): AsyncIterable<CsvRecord>;
  function rows<Table extends TableName>(rowOptions: TypedRowOptions<Table>): AsyncIterable<TypedRow<Table>>;
  function rows(rowOptions: RowOptions | TypedRowOptions = {}): AsyncIterable<TypedRecord> {
    rowOptions = snapshot(rowOptions);
    assertKnownKeys("options", rowOptions, ROW_OPTIONS);
    assertOneOf("columns", rowOptions.columns, ["own", "union"]);
    assertOneOf("typed", rowOptions.typed, [true, false]);
    const caller = recordCaller();
    if (rowOptions.columns !== "union") {
      return batchRecords(batchesOf(files(), rowOptions, caller));
    }
    const all = (archive: Seekable) => rowsOfUnion(archive, rowOptions, caller);
    const saved = (stream: AsyncIterable<Uint8Array>) =>
      throughTemporaryFile(stream, signal, (path) => readSource(path, all, noStream));
    return readSource(source, all, saved);
  }

  return {
    files,
    rows,
    toZip: () =>
      zipInMemory(
        readSource(
          source,
          (archive) => archive.stream(0),
          (stream) => stream,
        ),
        options,
      ),
  };
}

async function* batchesOf(
  files: AsyncIterable<ArchiveFile>,
  options: RowOptions | TypedRowOptions,
  caller: Error,
): AsyncGenerator<TypedBatch, void, undefined> {
  try {
    for await (const file of files) {
      yield* options.typed === true ? file.batches(options) : file.batches();
    }
  } catch (reason) {
    throw addCaller(reason, caller);
  }
}

async function* noStream(): AsyncGenerator<never, void, undefined> {
  // Unreachable: the temporary file is seekable.
}

/** Saves a stream to a temporary file, which is removed after its use. */
async function* throughTemporaryFile<T>(
  stream: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
  use: (path: string) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const folder = await fs.promises.mkdtemp(paths.join(os.tmpdir(), "tradewire-"));
  try {
    const fileName = () => "archive.zip";
    const { path } = await saveArchive(stream, { target: folder, fileName, force: false, verify: "structure", signal });
    yield* use(path);
  } finally {
    await fs.promises.rm(folder, { recursive: true, force: true });
  }
}

/** How much memory an archive may use, and how its files are read. */
export interface MemoryOptions extends FileOptions {
  /** Maximum size of the archive in bytes; 512 MiB by default. */
  readonly maxArchiveBytes?: number | undefined;
  /** Maximum total size of all files in bytes; 1 GiB by default. */
  readonly maxSize?: number | undefined;
  /** Maximum ratio of a file's size to its size in the archive, for files of more than 16 MiB; 200 by default. */
  readonly maxRatio?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const MIB = 1024 * 1024;

const loadJszip = lazily(() => import("jszip"));

/**
 * Loads an archive into memory. Each file is read to its end, as `files()` does, before JSZip parses it.
 *
 * @throws {@link ProtocolError} if the archive or a file in it is corrupt, exceeds a limit or does not belong to the
 *   export
 * @throws {@link NodeError} if a gateway wrote an error object after the archive
 * @throws {@link CanceledError} if the signal was aborted
 */
export async function zipInMemory(
  stream: AsyncIterable<Uint8Array>,
  { maxArchiveBytes = 512 * MIB, maxSize = 1024 * MIB, maxRatio = 200, signal, ...fileOptions }: MemoryOptions,
): Promise<JSZip> {
  const { default: loader } = await loadJszip();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of abortable(stream, signal)) {
    pieces.push(piece);
    size += piece.length;
    if (size > maxArchiveBytes) {
      throw new ProtocolError(`the archive exceeds the memory limit of ${maxArchiveBytes} bytes`, {
        code: Code.ResourceExhausted,
        advice: "Save the archive to a file or stream it, or raise limits.maxArchiveBytes.",
      });
    }
  }
  const bytes = Buffer.concat(pieces);
  const entries = archiveEntries(inMemory(bytes), { limits: { maxSize, maxRatio }, signal });
  for await (const _ of csvFiles(entries, fileOptions)) {
    // Reading a file checks it.
  }
  try {
    // No checkCRC32: the files are checked already, and JSZip would inflate all of them at once.
    return await loader.loadAsync(bytes);
  } catch (cause) {
    throw corrupt(isError(cause) ? cause.message : String(cause), cause);
  }
}

/**
 * Lists the files of an archive with their columns. Only the header rows are read.
 *
 * @returns the files, in block order; `undefined` for a pipe, which can be read only once
 * @throws {@link ProtocolError} if the archive or a header row is corrupt
 * @throws {@link NodeError} if a gateway wrote an error object after the archive
 * @throws {@link FileError} if the file cannot be read
 * @throws {@link CanceledError} if the signal was aborted
 */
export async function archiveHeads(
  path: string,
  { signal, ...options }: FileOptions & { readonly signal?: AbortSignal | undefined } = {},
): Promise<CsvHead[] | undefined> {
  await using file = await openFile(path);
  return file.archive && (await csvHeads(archiveEntries(file.archive, { limits: UNLIMITED, signal }), options));
}

/** Lists the columns of all files of an archive, as {@link archiveHeads} does. */
export async function archiveColumns(...given: Parameters<typeof archiveHeads>): Promise<string[] | undefined> {
  const heads = await archiveHeads(...given);
  return heads && [...new Set(heads.flatMap(({ columns }) => columns))];
}
