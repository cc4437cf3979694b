import fc from "fast-check";
import { type CsvDecodeOptions, type CsvRow, type CsvSource, decodeCsv, encodeCsv } from "../../src/csv/index.js";

export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly CsvRow[];
}

/** What became of decoding: the rows that were given, and the error, if any, that came after them. */
export interface Outcome {
  readonly columns: readonly string[] | undefined;
  readonly rows: readonly CsvRow[];
  readonly error: string | undefined;
}

export async function outcomeOf(source: CsvSource, options: CsvDecodeOptions = {}): Promise<Outcome> {
  let columns: readonly string[] | undefined;
  const rows: CsvRow[] = [];
  try {
    for await (const batch of decodeCsv(source, options)) {
      columns = batch.columns;
      rows.push(...batch.rows);
    }
    return { columns, rows, error: undefined };
  } catch (error) {
    if (error instanceof Error) {
      return { columns, rows, error: error.message };
    }
    throw error;
  }
}

export async function encoded(table: Table, nullString = ""): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of encodeCsv(table.columns, table.rows, { nullString })) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The bytes in parts, which end where `cuts` say, in parts of the whole. */
export function* split(bytes: Buffer, cuts: readonly number[]): Generator<Buffer> {
  let from = 0;
  for (const cut of cuts.map((part) => Math.floor(part * bytes.length)).sort((a, b) => a - b)) {
    yield bytes.subarray(from, cut);
    from = cut;
  }
  yield bytes.subarray(from);
}

export const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

/** Texts out of what means something in CSV, and of all of Unicode but U+0000, which PostgreSQL cannot hold. */
export const text = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: fc.constantFrom(..."ab,\"\n\r\\.é漢😀\uFEFF N'\t"), maxLength: 8 }) },
  fc.string({ unit: "binary", maxLength: 12 }).map((value) => value.replaceAll("\0", "")),
  fc.constantFrom("", "\\.", "\\N", "NULL", '"', '""', "\r\n", " x "),
);

export const nullString = fc.constantFrom("", "NULL", "\\N", "a", "\\.", "é");

/** Tables whose names, too, PostgreSQL can hold: at most 63 bytes. */
export const table: fc.Arbitrary<Table> = fc
  .uniqueArray(
    text.filter((name) => name !== "" && Buffer.byteLength(name) <= 63),
    { minLength: 1, maxLength: 4 },
  )
  .chain((columns) =>
    fc.record({
      columns: fc.constant(columns),
      rows: fc.array(fc.array(fc.option(text), { minLength: columns.length, maxLength: columns.length }), {
        maxLength: 8,
      }),
    }),
  );
