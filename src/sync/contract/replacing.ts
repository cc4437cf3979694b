import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { arriving, madeUp, rowsOf, unitAt } from "./given.js";
import { entriesOf, expectRows, plainly, type SinkCase, sinkCase, withOpened } from "./host.js";

const TABLE = "trades";
const csv = (number: number) => madeUp(TABLE, { from: number * 100 });
/** A row with another value that is of no key. */
const changed = (number: number) => {
  const { columns, rows } = csv(number);
  const at = columns.indexOf("price");
  return { columns, rows: rows.map((row, index) => (index === 3 ? row.with(at, "987654321") : row)) };
};

/** How units are replaced, removed, counted and compared. */
export const replacingCases: readonly SinkCase[] = [
  sinkCase("replaces units of another history that overlap, and no others", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      for (const segment of [1, 2, 3, 5]) {
        await sink.load(unitAt(TABLE, segment), arriving(csv(segment)).fetch, plainly());
      }
      const unit = unitAt(TABLE, 2, { last: 4, fork: "b" });
      strictEqual((await sink.load(unit, arriving(csv(9)).fetch, plainly())).outcome, "there");
      strictEqual((await sink.load(unit, arriving(csv(9)).fetch, plainly(true))).outcome, "loaded");
      deepStrictEqual(
        (await entriesOf(sink, TABLE)).map(({ segmentId }) => segmentId),
        ["segment-1", "segment-4b", "segment-5"],
      );
    });
    await expectRows(
      host,
      TABLE,
      [1, 9, 5].flatMap((number) => rowsOf(TABLE, csv(number))),
    );
  }),

  sinkCase("replaces a unit by one with the same rows", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.load(unitAt(TABLE, 1), arriving(csv(1)).fetch, plainly());
      const result = await sink.load(unitAt(TABLE, 1, { fork: "b" }), arriving(csv(1)).fetch, plainly(true));
      ok(result.outcome === "loaded");
      strictEqual(await sink.countRows(result.entry), 16n);
    });
    await expectRows(host, TABLE, rowsOf(TABLE, csv(1)));
  }),

  sinkCase("does not fetch the same unit again to replace it", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.load(unitAt(TABLE, 1), arriving(csv(1)).fetch, plainly());
      const again = arriving(csv(1));
      strictEqual((await sink.load(unitAt(TABLE, 1), again.fetch, plainly(true))).outcome, "there");
      strictEqual(again.calls(), 0);
    });
  }),

  sinkCase("keeps what it has where replacing it fails", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.load(unitAt(TABLE, 1), arriving(csv(1)).fetch, plainly());
      const error = new Error("the archive is broken");
      const { fetch } = arriving(csv(2), { error });
      const loading = sink.load(unitAt(TABLE, 1, { fork: "b" }), fetch, plainly(true));
      await rejects(loading, (reason) => reason === error);
      strictEqual((await entriesOf(sink, TABLE))[0]?.segmentId, "segment-1");
    });
    await expectRows(host, TABLE, rowsOf(TABLE, csv(1)));
  }),

  sinkCase("removes a unit, and nothing where it is not there", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      for (const segment of [1, 2]) {
        await sink.load(unitAt(TABLE, segment), arriving(csv(segment)).fetch, plainly());
      }
      const [first, second] = await entriesOf(sink, TABLE);
      ok(first && second);
      await sink.remove(first);
      await sink.remove(first);
      await sink.remove({ ...second, segmentId: "segment-of-another-history" });
      deepStrictEqual(await entriesOf(sink, TABLE), [second]);
      await expectRows(host, TABLE, rowsOf(TABLE, csv(2)));
      strictEqual((await sink.load(unitAt(TABLE, 1), arriving(csv(3)).fetch, plainly())).outcome, "loaded");
    });
    await expectRows(
      host,
      TABLE,
      [2, 3].flatMap((number) => rowsOf(TABLE, csv(number))),
    );
  }),

  sinkCase("counts and compares the rows of a unit", async (host) => {
    await withOpened(host, [TABLE, "market_data"], async ({ sink }) => {
      for (const segment of [1, 2]) {
        await sink.load(unitAt(TABLE, segment), arriving(csv(segment)).fetch, plainly());
      }
      const [entry] = await entriesOf(sink, TABLE);
      ok(entry);
      strictEqual(await sink.countRows(entry), 16n);
      const compare = (given: ReturnType<typeof csv>) =>
        sink.compareRows(entry, arriving(given).fetch, plainly().signal);
      const { columns, rows } = csv(1);
      deepStrictEqual(await compare(csv(1)), { missing: 0n, extra: 0n });
      deepStrictEqual(await compare(changed(1)), { missing: 1n, extra: 1n });
      deepStrictEqual(await compare({ columns, rows: rows.slice(2) }), { missing: 0n, extra: 2n });
      deepStrictEqual(await compare({ columns, rows: [...rows, ...csv(7).rows] }), { missing: 16n, extra: 0n });
      deepStrictEqual(await compare({ columns, rows: [] }), { missing: 0n, extra: 16n });
      await rejects(compareFailing(), /broken/);
      strictEqual(await sink.countRows(entry), 16n);

      async function compareFailing(): Promise<unknown> {
        const { fetch } = arriving(csv(1), { failAfter: 100, error: new Error("the archive is broken") });
        return entry && sink.compareRows(entry, fetch, plainly().signal);
      }
    });
    await expectRows(
      host,
      TABLE,
      [1, 2].flatMap((number) => rowsOf(TABLE, csv(number))),
    );
  }),

  sinkCase("compares values of all kinds", async (host) => {
    await withOpened(host, ["orders", "market_data"], async ({ sink }) => {
      for (const table of ["orders", "market_data"] as const) {
        const given = madeUp(table, { rows: 24 });
        const result = await sink.load(unitAt(table, 1), arriving(given).fetch, plainly());
        ok(result.outcome === "loaded");
        const compared = await sink.compareRows(result.entry, arriving(given).fetch, plainly().signal);
        deepStrictEqual(compared, { missing: 0n, extra: 0n });
      }
    });
  }),
];
