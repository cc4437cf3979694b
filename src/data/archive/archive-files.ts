import { RequestError } from "../../base/errors/index.js";
import { asResult } from "../../base/json-result.js";
import { type CsvCount, checkedCsv } from "../csv/check-csv.js";
import type { CsvRecord } from "../csv/csv-format.js";
import type { CsvBatch } from "../csv/csv-parser.js";
import { batchRecords, type CsvDecodeOptions, decodeCsv } from "../csv/decode-csv.js";
import type { TableName } from "../schema/table-names.js";
import type { TypedRecord, TypedRow } from "../schema/typed-row.js";
import type { Entry } from "../zip/zip-entries.js";
import { corrupt, nameText } from "../zip/zip-format.js";
import { type ExportEntry, type Exported, exportEntries } from "./export-entries.js";
import { type TypedBatch, type TypedFile, type TypedOptions, typedBatches } from "./typed-rows.js";

/**
 * One CSV file of an archive. If the name has another form, its parts are missing.
 */
export interface ArchiveFile {
  readonly name: string;
  readonly chainId?: string;
  readonly table?: TableName;
  /** Version of the database schema, if the name contains it. */
  readonly schemaVersion?: bigint | undefined;
  /** First block. */
  readonly fromBlock?: bigint;
  /** Last block, inclusive. */
  readonly toBlock?: bigint;
  /** The names in its header row. */
  readonly columns: readonly string[];
  /** Size in the archive, in bytes; for a stream it is known once the file has been read. */
  readonly compressedSize: number | undefined;
  /** Size of the file, in bytes; for a stream it is known once the file has been read. */
  readonly size: number | undefined;
  /** CRC-32 of the content; for a stream it is known once the file has been read. */
  readonly crc32: number | undefined;
  /**
   * Reads the rows as plain objects. Either rows, batches or content can be read, once, before the next file is requested.
   *
   * @returns the rows by column name, `null` for NULL, in file order
   * @throws {@link RequestError} if the rows were read before, or the next file was requested
   * @throws {@link ProtocolError} while reading, if the file or the archive is corrupt
   */
  rows(): AsyncIterableIterator<CsvRecord, undefined>;
  /**
   * Reads the rows as plain objects whose values have the types of the table's columns.
   *
   * @param options `typed: true`; the table, if the file's name does not contain it
   * @returns the typed rows by column name; rows before an error are returned before it is thrown
   * @throws {@link RequestError} as above, and if the table is unknown; {@link ProtocolError} also if a column
   *   is missing or a value does not fit its type
   */
  rows<Table extends TableName>(options: TypedOptions<Table>): AsyncIterableIterator<TypedRow<Table>, undefined>;
  /**
   * Reads the rows as arrays, in batches. This is faster than `rows()`.
   *
   * @returns batches of rows, with fields in the order of `columns`
   * @throws {@link RequestError} and {@link ProtocolError} as `rows()` does
   */
  batches(): AsyncGenerator<CsvBatch, void, undefined>;
  /**
   * Reads the rows as arrays of typed values, in batches.
   *
   * @param options as for `rows()`
   * @returns batches of rows, with values in the order of `columns`
   * @throws {@link RequestError} and {@link ProtocolError} as `rows()` does
   */
  batches(options: TypedOptions): AsyncGenerator<TypedBatch, void, undefined>;
  /**
   * Reads the file's bytes, including the header row, to load them elsewhere without decoding and encoding them. They
   * replace the rows, under the same rules, and must not be modified.
   *
   * Checked on the way are size and CRC-32, that the text is UTF-8, that each row is within `maxRowBytes`, and that the file ends
   * outside quotes and with a line end. Fields are not parsed, so `rows()` rejects files that pass here: with a row that has more
   * or fewer fields than the header row, a quote inside an unquoted field, text after a closing quote, or a carriage return
   * outside quotes without a line feed. The loader of the bytes must detect these.
   *
   * @returns a generator that yields the bytes, split at any position, each part after it is checked; returns the numbers of rows
   *   and bytes
   * @throws {@link RequestError} and {@link ProtocolError} as `rows()` does
   *
   * @example
   * for await (const file of openArchive("chain-1-trades-1-3000.zip").files()) {
   *   await writeFile(`from-${file.fromBlock}.csv`, file.content());
   * }
   */
  content(): AsyncGenerator<Uint8Array, CsvCount, undefined>;
}

export interface FileOptions extends Omit<CsvDecodeOptions, "name"> {
  /**
   * The requested table and range, or a function that returns them. Files whose names have the specified form must belong
   * to this table and cover this range.
   */
  readonly exported?: Exported;
}

/**
 * Reads the entries of an archive as CSV files. Each is read to its end before the next, even if its rows are not
 * requested.
 *
 * @throws {@link ProtocolError} if a file is corrupt, or rows are missing because the names are not those of adjacent ranges of
 * one table
 */
export async function* csvFiles(
  entries: AsyncIterable<Entry>,
  { exported, ...options }: FileOptions,
): AsyncGenerator<ArchiveFile, void, undefined> {
  for await (const { entry, name } of exportEntries(entries, exported)) {
    let measures = entry.listed;
    async function* measured() {
      measures = yield* entry.content();
    }
    const source = rewindable(measured());
    const decoding = { ...options, name: entry.name };
    const batches = decodeCsv(source.bytes, decoding);
    const header = await batches.next();
    if (header.done === true) {
      throw corrupt(`${nameText(entry.name)} has no header row`); // Unreachable: decodeCsv throws for such a file.
    }
    const reading = createFileReading(entry.name, {
      rows: () => {
        source.commit();
        return batches;
      },
      content: () => checkedCsv(source.rewind(), decoding),
    });
    try {
      yield asResult({
        name: entry.name,
        ...name,
        columns: header.value.columns,
        get compressedSize() {
          return measures?.compressedSize;
        },
        get size() {
          return measures?.size;
        },
        get crc32() {
          return measures?.crc32;
        },
        ...rowReaders({ name: entry.name, ...name }, () => reading.rows(header.value), exported),
        content: reading.content,
      });
      await reading.finish();
    } finally {
      await batches.return();
    }
  }
}

function rowReaders(
  file: TypedFile,
  plain: () => AsyncGenerator<CsvBatch, void, undefined>,
  exported: Exported,
): Pick<ArchiveFile, "rows" | "batches"> {
  const requestedTable = async () => (typeof exported === "function" ? await exported() : exported)?.table;

  function batches(): AsyncGenerator<CsvBatch, void, undefined>;
  function batches(options?: TypedOptions): AsyncGenerator<TypedBatch, void, undefined>;
  function batches(options?: TypedOptions): AsyncGenerator<TypedBatch, void, undefined> {
    return options?.typed === true ? typedBatches(file, plain(), options, requestedTable) : plain();
  }

  function rows(): AsyncIterableIterator<CsvRecord, undefined>;
  function rows<Table extends TableName>(
    options: TypedOptions<Table>,
  ): AsyncIterableIterator<TypedRow<Table>, undefined>;
  function rows(options?: TypedOptions): AsyncIterableIterator<TypedRecord, undefined> {
    return batchRecords(batches(options));
  }

  return { rows, batches };
}

/** The header row of a CSV file. */
export interface CsvHead extends ExportEntry {
  readonly columns: readonly string[];
}

/**
 * Reads the header rows of a seekable archive's entries. The other rows are neither read nor checked.
 *
 * @throws {@link ProtocolError} if a header row is malformed, or the entries are not those of an export
 */
export async function csvHeads(
  entries: AsyncIterable<Entry>,
  { exported, ...options }: FileOptions,
): Promise<CsvHead[]> {
  const heads: CsvHead[] = [];
  for await (const { entry, name } of exportEntries(entries, exported)) {
    for await (const { columns } of decodeCsv(entry.content(), { ...options, name: entry.name })) {
      heads.push({ entry, name, columns });
      break;
    }
  }
  return heads;
}

/** A file's content. After its header row is read, the caller reads the rest, or rewinds and reads all of it. */
interface RewindableContent {
  /** The content. The bytes that are read are retained until one of the functions is called. */
  readonly bytes: AsyncGenerator<Buffer, void, undefined>;
  /** Drops the retained bytes, and continues with `bytes`. */
  commit(): void;
  /** Reads the content from its beginning. `bytes` must not be read any more. */
  rewind(): AsyncGenerator<Buffer, void, undefined>;
}

function rewindable(source: AsyncGenerator<Buffer, void, undefined>): RewindableContent {
  let retained: Buffer[] | undefined = [];

  async function* bytes(): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of source) {
      const at = retained?.push(chunk) ?? 0;
      yield chunk;
      retained?.splice(at - 1, 1, Buffer.from(chunk)); // The source may reuse its buffer.
    }
  }

  async function* rewind(): AsyncGenerator<Buffer, void, undefined> {
    const beginning = retained ?? [];
    retained = undefined;
    yield* beginning;
    yield* source;
  }

  return {
    bytes: bytes(),
    commit() {
      retained = undefined;
    },
    rewind,
  };
}

interface FileReaders {
  /** Returns the rows after those that arrived with the header row. */
  rows(): AsyncGenerator<CsvBatch, void, undefined>;
  /** Returns the bytes from the beginning. */
  content(): AsyncGenerator<Buffer, CsvCount, undefined>;
}

/** The state of a file, whose rows or content can be read once. */
type FileState =
  | { readonly kind: "unread" }
  | {
      readonly kind: "reading";
      readonly what: keyof FileReaders;
      readonly source: AsyncGenerator<unknown, unknown, undefined>;
      /** The error that the caller got, and may have caught. */
      readonly failure?: { readonly reason: unknown };
    }
  /** The next file was requested. */
  | { readonly kind: "passed"; readonly what: keyof FileReaders | undefined };

/** A file that is read by rows or by content, once. */
interface FileReading {
  /**
   * Reads the rows.
   *
   * @throws {@link RequestError} if rows or content were requested before, or the next file was
   */
  rows(header: CsvBatch): AsyncGenerator<CsvBatch, void, undefined>;
  /**
   * Reads the bytes.
   *
   * @throws {@link RequestError} as above
   */
  content(): AsyncGenerator<Buffer, CsvCount, undefined>;
  /** Reads the rest before the next file, so that everything is checked. */
  finish(): Promise<void>;
}

function createFileReading(name: string, readers: FileReaders): FileReading {
  let state: FileState = { kind: "unread" };

  function start<T, R>(what: keyof FileReaders, open: () => AsyncGenerator<T, R, undefined>, first?: T) {
    if (state.kind === "passed") {
      throw cannotRead(name, "the next file was requested before");
    }
    if (state.kind === "reading") {
      throw cannotRead(name, `its ${state.what} ${state.what === "rows" ? "were" : "was"} already read`);
    }
    const source = open();
    state = { kind: "reading", what, source };
    return read(source, first);
  }

  async function* read<T, R>(source: AsyncGenerator<T, R, undefined>, first?: T): AsyncGenerator<T, R, undefined> {
    if (first !== undefined) {
      yield first;
    }
    // Not `yield*`, which would close the source when the caller stops early: the rest is still to be checked.
    for (;;) {
      if (state.kind === "passed") {
        const { what } = state;
        throw cannotRead(
          name,
          `the next file was requested before its ${what} ${what === "rows" ? "were" : "was"} read`,
        );
      }
      const result = await next(source);
      if (result.done === true) {
        return result.value;
      }
      yield result.value;
    }
  }

  async function next<T, R>(source: AsyncGenerator<T, R, undefined>): Promise<IteratorResult<T, R>> {
    try {
      return await source.next();
    } catch (reason) {
      if (state.kind === "reading") {
        state = { ...state, failure: { reason } };
      }
      throw reason;
    }
  }

  return {
    rows: (header) => start("rows", readers.rows, header),
    content: () => start("content", readers.content),
    async finish() {
      const before: FileState = state;
      state = { kind: "passed", what: before.kind === "unread" ? undefined : before.what };
      if (before.kind === "reading" && before.failure !== undefined) {
        throw before.failure.reason; // A caller that caught it must not take the other files for the complete archive.
      }
      await drain(before.kind === "reading" ? before.source : readers.rows());
    },
  };
}

async function drain(values: AsyncGenerator<unknown, unknown, undefined>): Promise<void> {
  while ((await values.next()).done !== true) {
    // Reading checks the values.
  }
}

function cannotRead(name: string, why: string): RequestError {
  return new RequestError(`${nameText(name)} can no longer be read: ${why}`, {
    advice: "Read each file once, before the next one. To read it again, open the archive again.",
  });
}
