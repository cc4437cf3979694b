import { createHash } from "node:crypto";
import { ProtocolError } from "../../base/errors/index.js";
import { type TypedBatch, type TypedOptions, typedBatches } from "../../data/archive/typed-rows.js";
import type { CsvRow } from "../../data/csv/csv-format.js";
import type { CsvBatch } from "../../data/csv/csv-parser.js";
import { checkFile, type ExpectedFile, noFile, secondFile } from "../../data/history/expected-file.js";
import type { Exporter, ExportOptions } from "../../data/history/network-history-export.js";
import type { TableName } from "../../data/schema/table-names.js";
import type { TypedValue } from "../../data/schema/typed-row.js";

export interface SegmentRowsOptions extends ExportOptions {
  /** How values are converted to their types; `undefined` for text values. */
  readonly typed: TypedOptions | undefined;
}

/** The first rows of a segment, which were delivered. */
export interface PartOfSegment {
  /** The number of rows, from the first. */
  readonly rows: number;
  /** Their digest, as {@link createRowsDigest} computes it. */
  readonly digest: string;
}

export interface SegmentBatch extends TypedBatch {
  /** Returns the part of the segment that ends with the first rows of this batch. */
  partAfter(count: number): PartOfSegment;
}

/** Approximate size of a batch, in characters. Large batches cost less per row, also for storing a cursor. */
const BATCH_CHARACTERS = 256 * 1024;

/**
 * Reads the rows of a segment as they arrive. It ends without an error only after the archive and the data that follows
 * it were verified.
 *
 * @throws {@link ProtocolError} if the response is not the segment, or its first rows differ from the delivered ones
 * @throws what `exportNetworkHistory` throws
 */
export async function* segmentRows(
  client: Exporter,
  expected: ExpectedFile,
  delivered: PartOfSegment = { rows: 0, digest: "" },
  { typed, ...options }: SegmentRowsOptions,
): AsyncGenerator<SegmentBatch, void, undefined> {
  const { table, fromBlock, toBlock } = expected;
  let collector: RowCollector | undefined;
  try {
    for await (const file of client.exportNetworkHistory({ table, fromBlock, toBlock }, options).files()) {
      if (collector !== undefined) {
        throw secondFile(expected, file);
      }
      checkFile(file, expected);
      collector = createRowCollector(file.columns);
      for await (const { texts, rows } of pairedBatches(file, table, typed)) {
        const repeated = skipDelivered(collector, texts.slice(0, rows.length), delivered, expected);
        if (collector.add(texts.slice(repeated, rows.length), rows.slice(repeated)) >= BATCH_CHARACTERS) {
          yield collector.take();
        }
      }
    }
    if (collector === undefined) {
      throw noFile(expected);
    }
    if (collector.count() < delivered.rows) {
      throw changedRows(expected, delivered.rows, `${collector.count()} in all`);
    }
  } catch (reason) {
    yield* remainingRows(collector);
    throw reason;
  }
  yield* remainingRows(collector);
}

type SegmentFile = Parameters<typeof typedBatches>[0] & { batches(): AsyncGenerator<CsvBatch, void, undefined> };

/** Yields the rows of a file as text, and with typed values if wanted: of a batch with a wrong row, only those before it. */
async function* pairedBatches(file: SegmentFile, table: TableName, typed: TypedOptions | undefined) {
  let texts: readonly CsvRow[] = [];
  async function* batches(): AsyncGenerator<CsvBatch, void, undefined> {
    for await (const batch of file.batches()) {
      texts = batch.rows;
      yield batch;
    }
  }
  for await (const { rows } of typed ? typedBatches(file, batches(), typed, async () => table) : batches()) {
    yield { texts, rows };
  }
}

/** Counts the first rows of a batch that were delivered before, and compares them; returns their number. */
function skipDelivered(
  collector: RowCollector,
  texts: readonly CsvRow[],
  delivered: PartOfSegment,
  expected: ExpectedFile,
): number {
  const repeated = Math.min(texts.length, Math.max(0, delivered.rows - collector.count()));
  if (repeated > 0) {
    collector.skip(texts.slice(0, repeated));
    if (collector.count() === delivered.rows && collector.digest() !== delivered.digest) {
      throw changedRows(expected, delivered.rows, "others");
    }
  }
  return repeated;
}

function* remainingRows(collector: RowCollector | undefined): Generator<SegmentBatch, void, undefined> {
  const remaining = collector?.take();
  if (remaining !== undefined && remaining.rows.length > 0) {
    yield remaining;
  }
}

/** The rows of a batch that is not full yet. */
interface PendingBatch {
  readonly texts: readonly CsvRow[];
  readonly rows: TypedValue[][];
  readonly characters: number;
  /** Returns the digest of all rows before this batch, and some of this one. */
  readonly digestWith: (texts: readonly CsvRow[]) => string;
}

type RowCollector = ReturnType<typeof createRowCollector>;

/** Collects the rows of a file into batches, and counts all rows that it reads. */
function createRowCollector(columns: readonly string[]) {
  const digest = createRowsDigest(columns);
  const emptyBatch = (): PendingBatch => ({ texts: [], rows: [], characters: 0, digestWith: digest.snapshot() });
  let count = 0;
  let pending = emptyBatch();
  return {
    /** Returns the number of rows that were read. */
    count: () => count,
    digest: () => digest.snapshot()([]),
    /** Counts rows that were delivered before, while no batch is pending. */
    skip(texts: readonly CsvRow[]): void {
      digest.add(texts);
      count += texts.length;
      pending = emptyBatch();
    },
    /** Adds rows to the pending batch, and returns its size in characters. */
    add(texts: readonly CsvRow[], rows: readonly TypedValue[][]): number {
      const characters = pending.characters + digest.add(texts);
      count += texts.length;
      pending = {
        texts: pending.texts.concat(texts),
        rows: pending.rows.concat(rows),
        characters,
        digestWith: pending.digestWith,
      };
      return characters;
    },
    /** Removes and returns the pending batch. */
    take(): SegmentBatch {
      const { texts, rows, digestWith } = pending;
      const before = count - texts.length;
      pending = emptyBatch();
      return {
        columns,
        rows,
        partAfter: (taken) => ({ rows: before + taken, digest: digestWith(texts.slice(0, taken)) }),
      };
    },
  };
}

function changedRows({ table, fromBlock, toBlock }: ExpectedFile, count: number, now: string): ProtocolError {
  return new ProtocolError(
    `the node's rows of ${table}, blocks ${fromBlock} to ${toBlock}, changed: ${count} were delivered, and now there are ${now}`,
    {
      advice:
        "The delivered rows or the node may be wrong. Drop the rows of these blocks, and start over with the segment.",
    },
  );
}

/** Length of a digest: the first characters of SHA-256 in base64url, 132 bits. */
const DIGEST_LENGTH = 22;

/** A digest of rows. It depends only on the rows, and not on how they were batched. */
interface RowsDigest {
  /** Adds rows, and returns their approximate size in characters. */
  add(rows: readonly CsvRow[]): number;
  /** Returns a function that computes the digest of the rows added so far and of some more. Later rows do not change it. */
  snapshot(): (rows: readonly CsvRow[]) => string;
}

function createRowsDigest(columns: readonly string[]): RowsDigest {
  const hash = createHash("sha256").update(textOf([columns]));
  return {
    add(rows) {
      const text = textOf(rows);
      hash.update(text);
      return text.length;
    },
    snapshot() {
      const before = hash.copy();
      return (rows) => before.copy().update(textOf(rows)).digest("base64url").slice(0, DIGEST_LENGTH);
    },
  };
}

export function isDigest(text: string): boolean {
  return text.length === DIGEST_LENGTH && /^[A-Za-z0-9_-]+$/.test(text);
}

function textOf(rows: readonly (readonly (string | null)[])[]): string {
  return rows.length === 0 ? "" : `${JSON.stringify(rows).slice(1, -1)},`;
}
