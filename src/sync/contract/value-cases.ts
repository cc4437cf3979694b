import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { tableNames } from "../../data/schema/table-names.js";
import { schemaVersions } from "../../data/schema/table-schema.js";
import {
  type CsvFixture,
  expectRows,
  fetchOf,
  generateCsv,
  ledgerEntries,
  loadOptions,
  type SinkCase,
  sinkCase,
  unitAt,
  withOpened,
} from "./contract-fixtures.js";

const TABLE = "trades";
const withColumn = ({ columns, rows }: CsvFixture, name: string, values: readonly (string | null)[]): CsvFixture => ({
  columns: [...columns, name],
  rows: rows.map((row, index) => [...row, values[index % values.length] ?? null]),
});
const NEW_COLUMN = 'new "column", é';
const newer = withColumn(generateCsv(TABLE), NEW_COLUMN, ["", null, 'a "b",\n', "42"]);

/** The values of an enum column, one of them unknown. */
function withUnknownValue(): CsvFixture {
  const { columns, rows } = generateCsv("deposits");
  const at = columns.indexOf("status");
  return { columns, rows: rows.map((row, index) => (index === 1 ? row.with(at, "STATUS_OF_TOMORROW") : row)) };
}

/** Cases of how values are stored, in all schema versions. */
export const schemaCases: readonly SinkCase[] = [
  ...tableNames.map((table) =>
    sinkCase(`keeps all values of ${table}, in all schema versions`, async (host) => {
      const given = [...new Set([...schemaVersions(table), 116])].map((version, index) => ({
        unit: unitAt(table, index + 1, { version }),
        csv: generateCsv(table, { version, from: index * 100, rows: 24 }),
      }));
      await withOpened(host, [table], async ({ sink, reported }) => {
        for (const { unit, csv } of given) {
          strictEqual((await sink.load(unit, fetchOf(csv).fetch, loadOptions())).outcome, "loaded");
        }
        deepStrictEqual(reported, []);
      });
      const files = given.map(({ csv }) => csv);
      await expectRows(host, table, files);
    }),
  ),

  sinkCase("accepts columns in another order", async (host) => {
    const { columns, rows } = generateCsv(TABLE);
    const csv = { columns: columns.toReversed(), rows: rows.map((row) => row.toReversed()) };
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.load(unitAt(TABLE, 1), fetchOf(csv).fetch, loadOptions());
    });
    await expectRows(host, TABLE, [csv]);
  }),

  sinkCase("adds unknown columns as text, and reports them", async (host) => {
    const [before, after] = [generateCsv(TABLE, { from: 100 }), generateCsv(TABLE, { from: 200 })];
    await withOpened(host, [TABLE], async ({ sink, reported }) => {
      await sink.load(unitAt(TABLE, 1), fetchOf(before).fetch, loadOptions());
      await sink.load(unitAt(TABLE, 2), fetchOf(newer).fetch, loadOptions());
      ok(reported.some(({ table, column, value }) => table === TABLE && column === NEW_COLUMN && value === undefined));
      await sink.load(unitAt(TABLE, 3), fetchOf(after).fetch, loadOptions());
    });
    // The column is there when the sink is opened again.
    const more = withColumn(generateCsv(TABLE, { from: 300 }), NEW_COLUMN, ["x"]);
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.load(unitAt(TABLE, 4), fetchOf(more).fetch, loadOptions());
    });
    await expectRows(host, TABLE, [before, newer, after, more]);
  }),

  sinkCase("rejects unknown columns if they are not allowed", async (host) => {
    await withOpened(
      host,
      [TABLE],
      async ({ sink }) => {
        await rejects(sink.load(unitAt(TABLE, 1), fetchOf(newer).fetch, loadOptions()), /new \\?"column/);
        deepStrictEqual(await ledgerEntries(sink, TABLE), []);
        await sink.load(unitAt(TABLE, 1), fetchOf(generateCsv(TABLE)).fetch, loadOptions());
      },
      { unknownColumns: "fail" },
    );
    await expectRows(host, TABLE, [generateCsv(TABLE)]);
  }),

  sinkCase("keeps unknown enum values, and reports them", async (host) => {
    const [before, csv] = [generateCsv("deposits", { from: 100 }), withUnknownValue()];
    await withOpened(host, ["deposits"], async ({ sink, reported }) => {
      await sink.load(unitAt("deposits", 1), fetchOf(before).fetch, loadOptions());
      await sink.load(unitAt("deposits", 2), fetchOf(csv).fetch, loadOptions());
      ok(reported.some(({ column, value }) => column === "status" && value === "STATUS_OF_TOMORROW"));
    });
    await expectRows(host, "deposits", [before, csv]);
  }),

  sinkCase("rejects unknown enum values if they are not allowed", async (host) => {
    await withOpened(
      host,
      ["deposits"],
      async ({ sink }) => {
        await rejects(sink.load(unitAt("deposits", 1), fetchOf(withUnknownValue()).fetch, loadOptions()));
        deepStrictEqual(await ledgerEntries(sink, "deposits"), []);
      },
      { unknownColumns: "fail" },
    );
    await expectRows(host, "deposits", []);
  }),
];
