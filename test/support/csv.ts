import fc from "fast-check";
import { type CsvDecodeOptions, type CsvRow, type CsvSource, decodeCsv, encodeCsv } from "tradewire";

/** The content of a CSV file. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly CsvRow[];
}

/** The result of decoding: the rows up to an error, and the error's message if there was one. */
export interface Outcome {
  readonly columns: readonly string[] | undefined;
  readonly rows: readonly CsvRow[];
  readonly error: string | undefined;
}

/** Decode CSV to its end or to the first error. */
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

/** Encode a table as CSV. */
export async function encoded(table: Table, nullString = ""): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of encodeCsv(table.columns, table.rows, { nullString })) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Cut bytes into parts. */
export function* split(bytes: Buffer, cuts: readonly number[]): Generator<Buffer> {
  let from = 0;
  for (const cut of cuts.map((part) => Math.floor(part * bytes.length)).sort((a, b) => a - b)) {
    yield bytes.subarray(from, cut);
    from = cut;
  }
  yield bytes.subarray(from);
}

/** Places to cut a file at, as fractions of its length. */
export const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

/** Texts of characters that have a meaning in CSV, and of all Unicode except U+0000, which PostgreSQL cannot hold. */
export const text = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: fc.constantFrom(..."ab,\"\n\r\\.é漢😀\uFEFF N'\t"), maxLength: 8 }) },
  fc.string({ unit: "binary", maxLength: 12 }).map((value) => value.replaceAll("\0", "")),
  fc.constantFrom("", "\\.", "\\N", "NULL", '"', '""', "\r\n", " x "),
);

/** Texts for NULL. */
export const nullString = fc.constantFrom("", "NULL", "\\N", "a", "\\.", "é");

/** Tables whose column names PostgreSQL can hold, too: at most 63 bytes. */
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
