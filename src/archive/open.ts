import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type JSZip from "jszip";
import { batchRecords } from "../csv/decode.js";
import type { CsvRecord } from "../csv/format.js";
import { requireKnown, requireObject, requireOneOf, wrong } from "../errors/check-values.js";
import type { TableName } from "../schema/tables.js";
import type { TypedRecord, TypedRow } from "../schema/typed-row.js";
import { type ArchiveSource, readSource, type Seekable } from "../zip/seekable.js";
import { archiveEntries, arrivingEntries } from "./entries.js";
import { type ArchiveFile, csvFiles, csvHeads, type FileOptions } from "./files.js";
import { saveArchive } from "./save.js";
import { zipInMemory } from "./to-zip.js";
import type { TypedBatch, TypedOptions } from "./typed.js";

/** How an archive is read. */
export interface ArchiveOptions extends FileOptions {
  /** The most bytes that all files together may have; 1 TiB by default, and 1 GiB for `toZip()`. */
  readonly maxSize?: number | undefined;
  /**
   * How many times its size in the archive a file of more than 16 MiB may have; 1100 by default, which is more than
   * deflate can reach, and 200 for `toZip()`.
   */
  readonly maxRatio?: number | undefined;
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the reading of a stream stops early, so that a source that waits for more bytes can stop waiting. */
  readonly onClose?: (() => void) | undefined;
}

/** How rows are read. */
export interface RowOptions {
  /**
   * The columns of the records: `own`, the default, are those of a record's own file; `union` are those of all files,
   * `null` where the record's file lacks one. For `union` a stream is first kept in a temporary file, as its last file
   * may add a column.
   */
  readonly columns?: "own" | "union" | undefined;
  /** Whether values are given by their types; false by default: each value is its text. */
  readonly typed?: false | undefined;
}

/** How typed rows are read. */
export interface TypedRowOptions<Table extends TableName = TableName>
  extends Omit<RowOptions, "typed">,
    TypedOptions<Table> {}

/**
 * An archive of CSV files, read on demand. An archive from a stream can be read once, by one of the methods. `Asked` is
 * the table, where it is known at compile time.
 */
export interface Archive<Asked extends TableName = TableName> {
  /**
   * Read the files, in the order of their blocks. A file whose rows are not taken is read and checked all the same.
   *
   * @returns the files; these errors are thrown while they are read
   * @throws {@link ProtocolError} where the archive or a file in it is broken, cut short, over a limit or not of an
   *   export
   * @throws {@link NodeError} where a gateway wrote an error object behind the archive
   * @throws {@link RequestError} where an option is invalid, or the rows of a file are taken twice or too late
   * @throws {@link FileError} where the archive's file cannot be read
   * @throws {@link CanceledError} where the signal was aborted
   */
  files(): AsyncIterable<ArchiveFile>;
  /**
   * Read the rows of all files. The files are in the order of their blocks. Rows keep the order of their file, where
   * those of a segment stand in the order of the table's primary key, which need not be that of time.
   *
   * @param options which columns the records have
   * @returns the rows by the names of their columns, `null` for NULL; those before a mistake come before the error
   * @throws {@link ProtocolError}, {@link NodeError}, {@link RequestError}, {@link FileError} and {@link CanceledError}
   *   as `files()` does; {@link FileError} also where the temporary file cannot be written
   */
  rows(options?: RowOptions): AsyncIterable<CsvRecord>;
  /**
   * Read the rows of all files, and give each value the type that its column has in the network's tables.
   *
   * @param options `typed: true`, which columns the records have, the table where the files' names do not tell it, and
   *   who is told of what this release does not know
   * @returns the typed rows by the names of their columns; those before a mistake come before the error
   * @throws {@link ProtocolError} also where a file lacks a column of its schema version, or a value does not fit its
   *   type; {@link RequestError} also where the table is not known, or another; all else as above
   *
   * @example
   * for await (const { price, size } of archive.rows({ typed: true, table: "trades" })) console.log(price * size);
   */
  rows<Table extends TableName = Asked>(options: TypedRowOptions<Table>): AsyncIterable<TypedRow<Table>>;
  /**
   * Take the archive into memory. Each file is inflated and checked first.
   *
   * @returns the archive
   * @throws {@link ProtocolError} where it is broken, larger than 512 MiB, or inflates beyond `maxSize` or `maxRatio`
   * @throws {@link NodeError} where a gateway wrote an error object behind the archive
   * @throws {@link FileError} where the archive's file cannot be read
   * @throws {@link CanceledError} where the signal was aborted
   */
  toZip(): Promise<JSZip>;
}

const TIB = 1024 ** 4;

/** The names of {@link TypedRowOptions}, among which are those of {@link RowOptions}. */
const ROW_OPTIONS = { columns: true, typed: true, table: true, onUnknown: true } as const;

/**
 * Open an archive of CSV files (specification, 4.1). Nothing is read before rows or files are asked for, and no faster
 * than they are taken. When the caller stops early, the source is closed.
 *
 * A file and bytes are opened by their central directory. A stream is read as it arrives and compared with the
 * directory at its end. Sizes and CRC-32 of each file are checked once it has been read. Rows are never missing without
 * an error.
 *
 * @param source path of a file or pipe, the archive's bytes, or a stream of them, split anywhere
 * @param options limits in bytes and by ratio, how CSV is decoded, a signal
 * @returns the archive; its methods throw what is wrong with the source or the options
 * @throws {@link RequestError} where the source is none of these
 *
 * @example
 * for await (const trade of openArchive("chain-1-trades-1-3000.zip").rows()) console.log(trade["price"]);
 */
export function openArchive(source: ArchiveSource, options: ArchiveOptions = {}): Archive {
  requireObject("options", options);
  if (typeof source !== "string" && (typeof source !== "object" || source === null || !isReadable(source))) {
    throw wrong("the source", source, "Give the path of a file, the archive's bytes, or a stream of them.");
  }
  return archiveOf(source, options, false);
}

/** Whether something is bytes, or a stream of what may be bytes. */
function isReadable(source: object): boolean {
  return source instanceof Uint8Array || Symbol.asyncIterator in source;
}

/**
 * Open an archive that is assembled of an export's chunks, as {@link openArchive} opens others.
 *
 * @param chunks the archive, which is known to end with its bytes
 * @param options as there
 * @returns the archive
 */
export function openAssembled(chunks: AsyncIterable<Uint8Array>, options: ArchiveOptions): Archive {
  return archiveOf(chunks, options, true);
}

function archiveOf(source: ArchiveSource, options: ArchiveOptions, isAssembled: boolean): Archive {
  const { signal, onClose, maxSize = TIB, maxRatio = 1100, ...fileOptions } = options;
  const reading = { limits: { maxSize, maxRatio }, signal };
  const stored = (archive: Seekable) => csvFiles(archiveEntries(archive, reading), fileOptions);
  const streamed = (stream: AsyncIterable<Uint8Array>) =>
    csvFiles(arrivingEntries(stream, { ...reading, onClose, isAssembled }), fileOptions);
  const files = () => readSource(source, stored, streamed);

  async function* united(archive: Seekable, given: RowOptions | TypedRowOptions) {
    const heads = await csvHeads(archiveEntries(archive, reading), fileOptions);
    const columns = new Set(heads.flatMap((head) => head.columns));
    yield* batchRecords(batchesOf(stored(archive), given), [...columns]);
  }

  function rows(given?: RowOptions): AsyncIterable<CsvRecord>;
  function rows<Table extends TableName>(given: TypedRowOptions<Table>): AsyncIterable<TypedRow<Table>>;
  function rows(given: RowOptions | TypedRowOptions = {}): AsyncIterable<TypedRecord> {
    requireKnown("options", given, ROW_OPTIONS);
    requireOneOf("columns", given.columns, ["own", "union"]);
    requireOneOf("typed", given.typed, [true, false]);
    if (given.columns !== "union") {
      return batchRecords(batchesOf(files(), given));
    }
    const all = (archive: Seekable) => united(archive, given);
    return readSource(source, all, (stream) => spooled(stream, signal, (path) => readSource(path, all, notASeekable)));
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
): AsyncGenerator<TypedBatch, void, undefined> {
  for await (const file of files) {
    yield* options.typed === true ? file.batches(options) : file.batches();
  }
}

async function* notASeekable(): AsyncGenerator<never, void, undefined> {
  // The temporary file is a file.
}

/** Keep a stream in a temporary file while that is used. */
async function* spooled<T>(
  stream: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
  use: (path: string) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-"));
  try {
    const fileName = () => "archive.zip";
    const { path } = await saveArchive(stream, { target: folder, fileName, force: false, verify: "structure", signal });
    yield* use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
