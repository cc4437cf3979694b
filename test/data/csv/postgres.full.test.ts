import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { CsvRow } from "tradewire";
import { cuts, encoded, nullString, outcomeOf, split, type Table, table } from "../../support/csv.js";

// PostgreSQL itself says what its COPY CSV is.
let postgres: PGlite;
beforeAll(async () => {
  postgres = await PGlite.create();
});
afterAll(async () => {
  await postgres.close();
});

const identifier = (name: string) => `"${name.replaceAll('"', '""')}"`;

async function createTable({ columns }: Table): Promise<void> {
  await postgres.exec(`drop table if exists t; create table t (${columns.map((name) => `${identifier(name)} text`)})`);
}

async function insert({ rows }: Table): Promise<void> {
  for (const row of rows) {
    await postgres.query(`insert into t values (${row.map((_, index) => `$${index + 1}`)})`, row);
  }
}

async function copyTo(nullText: string): Promise<Buffer> {
  const { blob } = await postgres.query(`copy t to '/dev/blob' with (format csv, header, null '${nullText}')`);
  return Buffer.from((await blob?.arrayBuffer()) ?? new ArrayBuffer(0));
}

async function copyFrom(bytes: Buffer, { columns }: Table, nullText: string): Promise<CsvRow[]> {
  await postgres.query(`copy t from '/dev/blob' with (format csv, header match, null '${nullText}')`, [], {
    blob: new Blob([new Uint8Array(bytes)]),
  });
  // In hexadecimal, as the client drops a U+FEFF from the start of a text.
  const hex = columns.map((name) => `encode(convert_to(${identifier(name)}, 'UTF8'), 'hex')`);
  const { rows } = await postgres.query<CsvRow>(`select ${hex} from t`, [], { rowMode: "array" });
  return rows.map((row) => row.map((value) => (value === null ? null : Buffer.from(value, "hex").toString())));
}

test("decodes what PostgreSQL writes, and encodes the same bytes", async () => {
  await fc.assert(
    fc.asyncProperty(table, nullString, cuts, async (written, nullText, parts) => {
      await createTable(written);
      await insert(written);
      const bytes = await copyTo(nullText);
      expect(await outcomeOf(split(bytes, parts), { nullString: nullText })).toEqual({ ...written, error: undefined });
      expect((await encoded(written, nullText)).toString()).toBe(bytes.toString());
    }),
    { numRuns: 150 },
  );
});

test("encodes what PostgreSQL reads back", async () => {
  await fc.assert(
    fc.asyncProperty(table, nullString, async (written, nullText) => {
      await createTable(written);
      expect(await copyFrom(await encoded(written, nullText), written, nullText)).toEqual(written.rows);
    }),
    { numRuns: 150 },
  );
});

test("takes U+FEFF at the start for data, as PostgreSQL does", async () => {
  const written = { columns: ["\uFEFFid"], rows: [["\uFEFF"]] };
  await createTable(written);
  await insert(written);
  const bytes = await copyTo("");
  expect(bytes.toString("hex")).toBe(Buffer.from("\uFEFFid\n\uFEFF\n").toString("hex"));
  expect(await outcomeOf([bytes])).toEqual({ ...written, error: undefined });
});
