import { batchRecords, type CsvBatch, type CsvDecodeOptions, type CsvRecord, decodeCsv } from "../csv/index.js";
import { RequestError } from "../errors/index.js";
import type { TableName } from "../schema/tables.js";
import { corrupt, nameText, refused } from "../zip/archive-error.js";
import type { Entry } from "../zip/entry.js";
import type { ExportedRange } from "./names.js";
import { type ExportName, parseCsvName } from "./names.js";

/** One CSV file of an archive. What its name says is missing where that is no name by the specification, 4.1. */
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
  /** Size in the archive, in bytes; from a stream it is known after the file was read. */
  readonly compressedSize: number | undefined;
  /** Size of the file, in bytes; from a stream it is known after the file was read. */
  readonly size: number | undefined;
  /** CRC-32 of the file's content; from a stream it is known after the file was read. */
  readonly crc32: number | undefined;
  /** The rows as plain objects, `null` for NULL. They, or the batches, can be taken once, before the next file is asked for. */
  rows(): AsyncIterableIterator<CsvRecord, undefined>;
  /** The rows as arrays, many at once: faster than `rows()`. */
  batches(): AsyncGenerator<CsvBatch, void, undefined>;
}

/** How the files of an archive are read. */
export interface FileOptions extends Omit<CsvDecodeOptions, "name"> {
  /**
   * What was asked for, where that is known, or what tells it once it is: the files whose names parse must be of it, from end
   * to end.
   */
  readonly exported?: ExportedRange | (() => Promise<ExportedRange>) | undefined;
}

/**
 * The entries of an archive as CSV files. Each is read to its end, whether its rows are taken or not, before the next.
 *
 * @throws ProtocolError where the names say that the files are not adjacent ranges of one table: rows are then missing
 */
export async function* csvFiles(
  entries: AsyncIterable<Entry>,
  { exported: given, ...options }: FileOptions,
): AsyncGenerator<ArchiveFile, void, undefined> {
  const exported = typeof given === "function" ? await given() : given;
  let first: ExportName | undefined;
  let last: ExportName | undefined;
  for await (const entry of entries) {
    if (entry.name.endsWith("/")) {
      await readFolder(entry);
      continue;
    }
    const batches = decode(entry, options);
    const name = parseCsvName(entry.name);
    if (name !== undefined) {
      checkRange(entry.name, name, last, exported);
      first ??= name;
      last = name;
    }
    const header = await batches.next();
    if (header.done === true) {
      throw corrupt(`${nameText(entry.name)} has no header`); // decodeCsv has thrown before.
    }
    const reading = startReading(entry.name, header.value, batches);
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
        rows: () => batchRecords(reading.batches()),
        batches: reading.batches,
      };
      await reading.finish();
    } finally {
      await batches.return();
    }
  }
  checkWhole(first, last, exported);
}

/** What a CSV file begins with. */
export interface CsvHead {
  readonly entry: Entry;
  readonly name: ExportName | undefined;
  readonly columns: readonly string[];
}

/** The header rows of the entries of a stored archive; nothing behind them is read or checked. */
export async function csvHeads(entries: AsyncIterable<Entry>, options: FileOptions): Promise<CsvHead[]> {
  const heads: CsvHead[] = [];
  for await (const entry of entries) {
    for await (const { columns } of entry.name.endsWith("/") ? [] : decode(entry, options)) {
      heads.push({ entry, name: parseCsvName(entry.name), columns });
      break;
    }
  }
  return heads;
}

function decode(entry: Entry, options: CsvDecodeOptions): AsyncGenerator<CsvBatch, void, undefined> {
  return decodeCsv(entry.content(), { ...options, name: entry.name });
}

/** Nothing of a folder is read, but one with content would hide it. */
async function readFolder(entry: Entry): Promise<void> {
  for await (const bytes of entry.content()) {
    if (bytes.length > 0) {
      throw corrupt(`${nameText(entry.name)} is a folder with content`);
    }
  }
}

/** Gives the batches to whoever takes them; what is left when the next file is due is read for the checks in it. */
function startReading(name: string, header: CsvBatch, batches: AsyncGenerator<CsvBatch, void, undefined>) {
  let state: "new" | "taken" | "over" = "new";
  let failure: { readonly reason: unknown } | undefined;

  async function next(): Promise<IteratorResult<CsvBatch, void>> {
    try {
      return await batches.next();
    } catch (reason) {
      failure = { reason };
      throw reason;
    }
  }

  async function* taken(): AsyncGenerator<CsvBatch, void, undefined> {
    yield header;
    // Not `yield*`: whoever stops early leaves the rest, which is still to be checked.
    for (;;) {
      if (state === "over") {
        throw passed(name, "its rows are taken after the next file was asked for");
      }
      const batch = await next();
      if (batch.done === true) {
        return;
      }
      yield batch.value;
    }
  }

  return {
    batches() {
      if (state !== "new") {
        throw passed(name, state === "taken" ? "its rows were taken before" : "the next file was asked for before");
      }
      state = "taken";
      return taken();
    },
    async finish() {
      state = "over";
      if (failure !== undefined) {
        throw failure.reason; // Whoever caught it must not take the rest for the whole.
      }
      while ((await next()).done !== true) {
        // Only read.
      }
    },
  };
}

function passed(name: string, what: string): RequestError {
  return new RequestError(`${nameText(name)} cannot be read now: ${what}`, {
    advice: "Read each file once, when it comes; open the archive again to read it again.",
  });
}

function checkRange(
  fileName: string,
  name: ExportName,
  before: ExportName | undefined,
  exported: ExportedRange | undefined,
): void {
  if (name.fromBlock > name.toBlock) {
    throw corrupt(`the range in the name ${nameText(fileName)} is reversed`);
  }
  if (before !== undefined && (name.chainId !== before.chainId || name.table !== before.table)) {
    throw refused(`${nameText(fileName)} is of another table or chain than the file before it`);
  }
  if (before !== undefined && name.fromBlock !== before.toBlock + 1n) {
    throw corrupt(
      `${nameText(fileName)} begins at block ${name.fromBlock}, but the file before it ends at block ${before.toBlock}`,
    );
  }
  if (exported !== undefined && name.table !== exported.table) {
    throw corrupt(`${nameText(fileName)} is of the table ${name.table}, but ${exported.table} was asked for`);
  }
  if (exported !== undefined && before === undefined && name.fromBlock !== exported.fromBlock) {
    throw corrupt(
      `its first file begins at block ${name.fromBlock}, but the export was to begin at block ${exported.fromBlock}`,
    );
  }
}

function checkWhole(
  first: ExportName | undefined,
  last: ExportName | undefined,
  exported: ExportedRange | undefined,
): void {
  if (exported !== undefined && first !== undefined && last !== undefined && last.toBlock !== exported.toBlock) {
    throw corrupt(
      `its last file ends at block ${last.toBlock}, but the export was to end at block ${exported.toBlock}: rows are missing`,
    );
  }
}
