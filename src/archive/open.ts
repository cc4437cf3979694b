import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type JSZip from "jszip";
import { batchRecords, type CsvBatch, type CsvRecord } from "../csv/index.js";
import { type ArchiveSource, readSource, type Seekable } from "../zip/seekable.js";
import { archiveEntries, arrivingEntries } from "./entries.js";
import { type ArchiveFile, csvFiles, csvHeads, type FileOptions } from "./files.js";
import { saveArchive } from "./save.js";
import { zipInMemory } from "./to-zip.js";

/** How an archive is read. */
export interface ArchiveOptions extends FileOptions {
  /** The most bytes that all files together may have. The default is 1 TiB, and 1 GiB for `toZip()`. */
  readonly maxSize?: number | undefined;
  /**
   * How many times its size in the archive a file of more than 16 MiB may have. The default is 1100, more than deflate can
   * reach, and 200 for `toZip()`.
   */
  readonly maxRatio?: number | undefined;
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
  /** Called when a stream is ended before its end, to end what it waits for. */
  readonly onClose?: (() => void) | undefined;
}

/** Which columns the records of `rows()` have: those of their file, or those of all files, `null` where theirs has none. */
export interface RowOptions {
  readonly columns?: "own" | "union" | undefined;
}

/** An archive of CSV files that is read as it is asked for. From a stream it can be read once, in one of the ways. */
export interface Archive {
  /**
   * The files in order, which is that of their blocks. A file that is passed over is read and checked all the same.
   *
   * @throws ProtocolError where the archive or a file in it is broken, cut short, not whole or not one of an export
   */
  files(): AsyncIterable<ArchiveFile>;
  /**
   * The rows of all files, in the order of their blocks.
   *
   * With `columns: "union"` all records have the columns of all files. As those of the last file must be known for the first
   * row, a stream is then kept in a temporary file first.
   *
   * @throws ProtocolError as `files()` does; rows that come before the mistake are given before
   */
  rows(options?: RowOptions): AsyncIterable<CsvRecord>;
  /**
   * The archive in memory, checked.
   *
   * @throws ProtocolError where it is broken or too large for memory
   */
  toZip(): Promise<JSZip>;
}

const TIB = 1024 ** 4;

/**
 * Opens an archive of CSV files (specification, 4.1). Nothing is read before rows or files are asked for, and no faster than
 * they are taken; whoever stops early ends the source.
 *
 * A file and bytes are opened by their central directory, a stream is read as it arrives, and then held against the directory
 * at its end. Sizes and CRC-32 of each file are checked once it has been read. All ways give the same rows, or an error: rows
 * are never missing without one.
 *
 * @param source path of a file (or pipe), the archive's bytes, or a stream of them, split anywhere
 *
 * @example
 * for await (const trade of openArchive("chain-1-trades-1-3000.zip").rows()) console.log(trade["price"]);
 */
export function openArchive(source: ArchiveSource, options: ArchiveOptions = {}): Archive {
  const { signal, onClose, maxSize = TIB, maxRatio = 1100, ...fileOptions } = options;
  const reading = { limits: { maxSize, maxRatio }, signal };
  const stored = (archive: Seekable) => csvFiles(archiveEntries(archive, reading), fileOptions);
  const streamed = (stream: AsyncIterable<Uint8Array>) =>
    csvFiles(arrivingEntries(stream, { ...reading, onClose }), fileOptions);
  const files = () => readSource(source, stored, streamed);

  async function* united(archive: Seekable): AsyncGenerator<CsvRecord, void, undefined> {
    const heads = await csvHeads(archiveEntries(archive, reading), fileOptions);
    const columns = new Set(heads.flatMap((head) => head.columns));
    yield* batchRecords(batchesOf(stored(archive)), [...columns]);
  }

  return {
    files,
    rows: ({ columns = "own" } = {}) =>
      columns === "union"
        ? readSource(source, united, (stream) => spooled(stream, (path) => readSource(path, united, notASeekable)))
        : batchRecords(batchesOf(files())),
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

async function* batchesOf(files: AsyncIterable<ArchiveFile>): AsyncGenerator<CsvBatch, void, undefined> {
  for await (const file of files) {
    yield* file.batches();
  }
}

async function* notASeekable(): AsyncGenerator<never, void, undefined> {
  // The temporary file is a file.
}

/** Keeps a stream in a temporary file as long as it is used. */
async function* spooled<T>(
  stream: AsyncIterable<Uint8Array>,
  use: (path: string) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-"));
  try {
    const fileName = () => "archive.zip";
    const { path } = await saveArchive(stream, { target: folder, fileName, force: false });
    yield* use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
