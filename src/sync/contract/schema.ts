import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { schemaVersions } from "../../schema/table-schema.js";
import { tableNames } from "../../schema/tables.js";
import { arriving, floatsOf, type GivenCsv, madeUp, rowsOf, unitAt } from "./given.js";
import { entriesOf, expectRows, plainly, type SinkCase, sinkCase, withOpened } from "./host.js";

const TABLE = "trades";
const withColumn = ({ columns, rows }: GivenCsv, name: string, values: readonly (string | null)[]): GivenCsv => ({
  columns: [...columns, name],
  rows: rows.map((row, index) => [...row, values[index % values.length] ?? null]),
});
const NEW_COLUMN = 'new "column", é';
const newer = withColumn(madeUp(TABLE), NEW_COLUMN, ["", null, 'a "b",\n', "42"]);

/** The values of a column which has an enum type, one of them unknown. */
function withUnknownValue(): GivenCsv {
  const { columns, rows } = madeUp("deposits");
  const at = columns.indexOf("status");
  return { columns, rows: rows.map((row, index) => (index === 1 ? row.with(at, "STATUS_OF_TOMORROW") : row)) };
}

/** What values become, in all schema versions. */
export const schemaCases: readonly SinkCase[] = [
  ...tableNames.map((table) =>
    sinkCase(`keeps all values of ${table}, in all schema versions`, async (host) => {
      const given = [...new Set([...schemaVersions(table), 116])].map((version, index) => ({
        unit: unitAt(table, index + 1, { version }),
        csv: madeUp(table, { version, from: index * 100, rows: 24 }),
      }));
      await withOpened(host, [table], async ({ sink, told }) => {
        for (const { unit, csv } of given) {
          strictEqual((await sink.load(unit, arriving(csv).fetch, plainly())).outcome, "loaded");
        }
        deepStrictEqual(told, []);
      });
      const rows = given.flatMap(({ csv }) => rowsOf(table, csv));
      await expectRows(host, table, rows, floatsOf(table));
    }),
  ),

  sinkCase("takes columns in another order", async (host) => {
    const { columns, rows } = madeUp(TABLE);
    const csv = { columns: columns.toReversed(), rows: rows.map((row) => row.toReversed()) };
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.load(unitAt(TABLE, 1), arriving(csv).fetch, plainly());
    });
    await expectRows(host, TABLE, rowsOf(TABLE, csv));
  }),

  sinkCase("adds columns that are not known as text, and tells of them", async (host) => {
    const [before, after] = [madeUp(TABLE, { from: 100 }), madeUp(TABLE, { from: 200 })];
    await withOpened(host, [TABLE], async ({ sink, told }) => {
      await sink.load(unitAt(TABLE, 1), arriving(before).fetch, plainly());
      await sink.load(unitAt(TABLE, 2), arriving(newer).fetch, plainly());
      ok(told.some(({ table, column, value }) => table === TABLE && column === NEW_COLUMN && value === undefined));
      await sink.load(unitAt(TABLE, 3), arriving(after).fetch, plainly());
    });
    // The column is there when the sink is opened again.
    const more = withColumn(madeUp(TABLE, { from: 300 }), NEW_COLUMN, ["x"]);
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.load(unitAt(TABLE, 4), arriving(more).fetch, plainly());
    });
    await expectRows(
      host,
      TABLE,
      [before, newer, after, more].flatMap((csv) => rowsOf(TABLE, csv)),
    );
  }),

  sinkCase("refuses columns that are not known where they are to fail", async (host) => {
    await withOpened(
      host,
      [TABLE],
      async ({ sink }) => {
        await rejects(sink.load(unitAt(TABLE, 1), arriving(newer).fetch, plainly()), /new \\?"column/);
        deepStrictEqual(await entriesOf(sink, TABLE), []);
        await sink.load(unitAt(TABLE, 1), arriving(madeUp(TABLE)).fetch, plainly());
      },
      { unknownColumns: "fail" },
    );
    await expectRows(host, TABLE, rowsOf(TABLE, madeUp(TABLE)));
  }),

  sinkCase("keeps enum values that are not known, and tells of them", async (host) => {
    const [before, csv] = [madeUp("deposits", { from: 100 }), withUnknownValue()];
    await withOpened(host, ["deposits"], async ({ sink, told }) => {
      await sink.load(unitAt("deposits", 1), arriving(before).fetch, plainly());
      await sink.load(unitAt("deposits", 2), arriving(csv).fetch, plainly());
      ok(told.some(({ column, value }) => column === "status" && value === "STATUS_OF_TOMORROW"));
    });
    await expectRows(
      host,
      "deposits",
      [before, csv].flatMap((each) => rowsOf("deposits", each)),
      floatsOf("deposits"),
    );
  }),

  sinkCase("refuses enum values that are not known where they are to fail", async (host) => {
    await withOpened(
      host,
      ["deposits"],
      async ({ sink }) => {
        await rejects(sink.load(unitAt("deposits", 1), arriving(withUnknownValue()).fetch, plainly()));
        deepStrictEqual(await entriesOf(sink, "deposits"), []);
      },
      { unknownColumns: "fail" },
    );
    await expectRows(host, "deposits", []);
  }),
];
