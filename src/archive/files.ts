import { type CsvCount, checkedCsv } from "../csv/check.js";
import { batchRecords, type CsvDecodeOptions, decodeCsv } from "../csv/decode.js";
import type { CsvRecord } from "../csv/format.js";
import type { CsvBatch } from "../csv/reader.js";
import type { TableName } from "../schema/tables.js";
import type { TypedRecord, TypedRow } from "../schema/typed-row.js";
import { corrupt, nameText } from "../zip/archive-error.js";
import type { Entry } from "../zip/entry.js";
import { startReading } from "./reading.js";
import { rewindable } from "./rewindable.js";
import { type ExportEntry, type Exported, exportEntries } from "./rules.js";
import { type TypedBatch, type TypedFile, type TypedOptions, typedBatches } from "./typed.js";

/**
 * One CSV file of an archive. The parts of its name are missing where the name has another form (specification, 4.1).
 */
export interface ArchiveFile {
  readonly name: string;
  readonly chainId?: string;
  readonly table?: TableName;
  /** Version of the database schema, where the name has it. */
  readonly schemaVersion?: bigint | undefined;
  /** First block. */
  readonly fromBlock?: bigint;
  /** Last block, inclusive. */
  readonly toBlock?: bigint;
  /** The names in its header row. */
  readonly columns: readonly string[];
  /** Size in the archive, in bytes; from a stream it is known once the file has been read. */
  readonly compressedSize: number | undefined;
  /** Size of the file, in bytes; from a stream it is known once the file has been read. */
  readonly size: number | undefined;
  /** CRC-32 of the file's content; from a stream it is known once the file has been read. */
  readonly crc32: number | undefined;
  /**
   * Read the rows as plain objects. Rows, batches or content can be taken once, before the next file is asked for.
   *
   * @returns the rows by the names of their columns, `null` for NULL, in the order in which they stand in the file
   * @throws {@link RequestError} where the rows were taken before, or the next file was asked for
   * @throws {@link ProtocolError} while reading, where the file or the archive is broken
   */
  rows(): AsyncIterableIterator<CsvRecord, undefined>;
  /**
   * Read the rows as plain objects whose values have the types of the table's columns.
   *
   * @param options `typed: true`; the table, where the file's name does not tell it
   * @returns the typed rows by the names of their columns; those before a mistake come before the error
   * @throws {@link RequestError} as above, and where the table is not known; {@link ProtocolError} also where a column
   *   is missing or a value does not fit its type
   */
  rows<Table extends TableName>(options: TypedOptions<Table>): AsyncIterableIterator<TypedRow<Table>, undefined>;
  /**
   * Read the rows as arrays, many at once. This is faster than `rows()`.
   *
   * @returns batches of rows, fields in the order of `columns`
   * @throws {@link RequestError} and {@link ProtocolError} as `rows()` does
   */
  batches(): AsyncGenerator<CsvBatch, void, undefined>;
  /**
   * Read the rows as arrays of typed values, many at once.
   *
   * @param options as for `rows()`
   * @returns batches of rows, values in the order of `columns`
   * @throws {@link RequestError} and {@link ProtocolError} as `rows()` does
   */
  batches(options: TypedOptions): AsyncGenerator<TypedBatch, void, undefined>;
  /**
   * Read the file's own bytes, header row included, to load them elsewhere: nothing is decoded and encoded again. They
   * are taken in place of rows, under the same rules, and are not to be changed.
   *
   * What is checked on the way: size and CRC-32, that the text is UTF-8, that each row is within `maxRowBytes`, and that
   * the file ends outside quotes and with a line end. Fields are not looked at, so `rows()` refuses what this lets pass:
   * a row with more or fewer fields than the header row, a quote inside an unquoted field, text behind a closing quote,
   * a carriage return outside quotes that no line feed follows. Whoever loads the bytes has to find these.
   *
   * @returns yields the bytes, split anywhere, each part once it is checked; returns how many rows and bytes there were
   * @throws {@link RequestError} and {@link ProtocolError} as `rows()` does
   *
   * @example
   * for await (const file of openArchive("chain-1-trades-1-3000.zip").files()) {
   *   await writeFile(`from-${file.fromBlock}.csv`, file.content());
   * }
   */
  content(): AsyncGenerator<Uint8Array, CsvCount, undefined>;
}

/** How the files of an archive are read. */
export interface FileOptions extends Omit<CsvDecodeOptions, "name"> {
  /**
   * The table and range that were asked for, or a function that gives them. The files whose names have the specified
   * form must be of this table and cover this range.
   */
  readonly exported?: Exported;
}

/**
 * Read the entries of an archive as CSV files. Each is read to its end before the next, even where its rows are not
 * taken.
 *
 * @param entries the archive's entries; their errors pass unchanged
 * @param options how CSV is decoded, and the table and range that were asked for
 * @returns the files, in the order in which they stand in the archive
 * @throws {@link ProtocolError} where a file is broken, or the names are not those of adjacent ranges of one table, so
 *   that rows are missing
 */
export async function* csvFiles(
  entries: AsyncIterable<Entry>,
  { exported, ...options }: FileOptions,
): AsyncGenerator<ArchiveFile, void, undefined> {
  for await (const { entry, name } of exportEntries(entries, exported)) {
    const source = rewindable(entry.content());
    const decoding = { ...options, name: entry.name };
    const batches = decodeCsv(source.bytes, decoding);
    const header = await batches.next();
    if (header.done === true) {
      throw corrupt(`${nameText(entry.name)} has no header`); // decodeCsv has thrown before.
    }
    const reading = startReading(entry.name, {
      batches: () => {
        source.go();
        return batches;
      },
      content: () => checkedCsv(source.rewound(), decoding),
    });
    try {
      yield {
        name: entry.name,
        ...name,
        columns: header.value.columns,
        get compressedSize() {
          return entry.measures?.compressedSize;
        },
        get size() {
          return entry.measures?.size;
        },
        get crc32() {
          return entry.measures?.crc32;
        },
        ...consuming({ name: entry.name, ...name }, () => reading.batches(header.value), exported),
        content: reading.content,
      };
      await reading.finish();
    } finally {
      await batches.return();
    }
  }
}

/** The ways to take the rows of a file. */
function consuming(
  file: TypedFile,
  plain: () => AsyncGenerator<CsvBatch, void, undefined>,
  exported: Exported,
): Pick<ArchiveFile, "rows" | "batches"> {
  const asked = async () => (typeof exported === "function" ? await exported() : exported)?.table;

  function batches(): AsyncGenerator<CsvBatch, void, undefined>;
  function batches(options?: TypedOptions): AsyncGenerator<TypedBatch, void, undefined>;
  function batches(options?: TypedOptions): AsyncGenerator<TypedBatch, void, undefined> {
    return options?.typed === true ? typedBatches(file, plain(), options, asked) : plain();
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
 * Read the header rows of a seekable archive's entries. The rows behind them are neither read nor checked.
 *
 * @param entries the archive's entries; their errors pass unchanged
 * @param options how CSV is decoded
 * @returns the header row of each file
 * @throws {@link ProtocolError} where a header row is broken, or the entries are not those of an export
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
