import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { unixMs } from "../../runtime/index.js";
import { arriving, bytesOf, madeUp, rowsOf, unitAt } from "./given.js";
import { entriesOf, expectRows, plainly, type SinkCase, type SinkHost, sinkCase, withOpened } from "./host.js";

const TABLE = "trades";

/** How units are loaded: whole and once, or not at all. */
export const loadingCases: readonly SinkCase[] = [
  sinkCase("loads a unit and its entry", async (host) => {
    const csv = madeUp(TABLE);
    await withOpened(host, [TABLE], async ({ sink }) => {
      const unit = unitAt(TABLE, 1);
      const result = await sink.load(unit, arriving(csv).fetch, plainly());
      ok(result.outcome === "loaded");
      const { loadedAt, sha256, ...entry } = result.entry;
      deepStrictEqual(entry, { ...unit, rows: BigInt(csv.rows.length), bytes: BigInt((await bytesOf(csv)).length) });
      match(sha256, /^[0-9a-f]{64}$/);
      match(loadedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      ok(Math.abs(unixMs() - Date.parse(loadedAt)) < 3_600_000);
      deepStrictEqual(await entriesOf(sink, TABLE), [result.entry]);
      strictEqual(await sink.countRows(result.entry), 16n);
    });
    await expectRows(host, TABLE, rowsOf(TABLE, csv));
  }),

  sinkCase("asks for nothing that is there, whole or in part", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.load(unitAt(TABLE, 2, { last: 3 }), arriving(madeUp(TABLE)).fetch, plainly());
      const again = arriving(madeUp(TABLE));
      for (const unit of [
        unitAt(TABLE, 2, { last: 3 }),
        unitAt(TABLE, 3),
        unitAt(TABLE, 1, { last: 2 }),
        unitAt(TABLE, 1, { last: 4 }),
        unitAt(TABLE, 2, { fork: "b" }),
      ]) {
        deepStrictEqual(await sink.load(unit, again.fetch, plainly()), { outcome: "there" });
      }
      strictEqual(again.calls(), 0);
      strictEqual((await entriesOf(sink, TABLE)).length, 1);
    });
    await expectRows(host, TABLE, rowsOf(TABLE, madeUp(TABLE)));
  }),

  sinkCase("leaves nothing of a fetch that fails before it begins", async (host) => {
    const error = new Error("the node is not there");
    await leavesNothing(host, async () => Promise.reject(error), error);
  }),

  ...["before its first byte", "behind the header", "in the middle", "behind its last byte"].map((where, index) =>
    sinkCase(`leaves nothing of a file that fails ${where}`, async (host) => {
      const error = new Error("the archive is broken");
      const csv = madeUp(TABLE);
      const bytes = await bytesOf(csv);
      const failAfter = [0, bytes.indexOf(0x0a) + 1, bytes.length >> 1, bytes.length][index] ?? 0;
      await leavesNothing(host, arriving(csv, { failAfter, error }).fetch, error);
    }),
  ),

  ...([-1n, 1n] as const).map((off) =>
    sinkCase(`refuses a file with ${off < 0n ? "more" : "fewer"} rows than were counted`, async (host) => {
      const csv = madeUp(TABLE);
      await leavesNothing(host, arriving(csv, { rows: BigInt(csv.rows.length) + off }).fetch);
    }),
  ),

  sinkCase("loads a unit that has no rows", async (host) => {
    const csv = madeUp(TABLE, { rows: 0 });
    await withOpened(host, [TABLE], async ({ sink }) => {
      const result = await sink.load(unitAt(TABLE, 1), arriving(csv).fetch, plainly());
      ok(result.outcome === "loaded");
      strictEqual(result.entry.rows, 0n);
      strictEqual(await sink.countRows(result.entry), 0n);
      strictEqual((await sink.load(unitAt(TABLE, 1), arriving(csv).fetch, plainly())).outcome, "there");
    });
    await expectRows(host, TABLE, []);
  }),

  sinkCase("lists its ledger in the order of the blocks", async (host) => {
    await withOpened(host, [TABLE, "blocks"], async ({ sink }) => {
      const segments = [11, 2, 101, 1, 20];
      for (const segment of segments) {
        const csv = madeUp(TABLE, { from: segment * 100, rows: segment % 3 });
        await sink.load(unitAt(TABLE, segment), arriving(csv).fetch, plainly());
      }
      const entries = await entriesOf(sink, TABLE);
      deepStrictEqual(
        entries.map(({ fromBlock }) => fromBlock),
        [1n, 11n, 101n, 191n, 1001n],
      );
      for (const [behind, from] of [
        [11n, 101n],
        [12n, 101n],
        [100n, 101n],
        [1001n, undefined],
      ] as const) {
        deepStrictEqual((await entriesOf(sink, TABLE, behind))[0]?.fromBlock, from, `behind ${behind}`);
      }
      deepStrictEqual(await entriesOf(sink, "blocks"), []);
    });
  }),

  sinkCase("loads units side by side", async (host) => {
    const tables = [TABLE, "blocks"] as const;
    const segments = [1, 2, 3, 4];
    const csv = (segment: number) => madeUp(TABLE, { from: segment * 100 });
    await withOpened(host, tables, async ({ sink }) => {
      const outcomes = await Promise.all(
        segments.flatMap((segment) => [
          sink.load(unitAt(TABLE, segment), arriving(csv(segment)).fetch, plainly()),
          sink.load(unitAt("blocks", segment), arriving(madeUp("blocks", { from: segment * 100 })).fetch, plainly()),
        ]),
      );
      deepStrictEqual(
        outcomes.map(({ outcome }) => outcome),
        outcomes.map(() => "loaded"),
      );
      for (const entry of await entriesOf(sink, TABLE)) {
        strictEqual(await sink.countRows(entry), 16n);
      }
    });
    await expectRows(
      host,
      TABLE,
      segments.flatMap((segment) => rowsOf(TABLE, csv(segment))),
    );
  }),
];

/** Loads a unit that fails, looks for what it left, and loads it as it should be. */
async function leavesNothing(
  host: SinkHost,
  fetch: ReturnType<typeof arriving>["fetch"],
  error?: Error,
): Promise<void> {
  await withOpened(host, [TABLE], async ({ sink }) => {
    await sink.load(unitAt(TABLE, 1), arriving(madeUp(TABLE, { from: 100 })).fetch, plainly());
    const loading = sink.load(unitAt(TABLE, 2), fetch, plainly());
    await (error === undefined ? rejects(loading) : rejects(loading, (reason) => reason === error));
    strictEqual((await entriesOf(sink, TABLE)).length, 1);
    await expectRows(host, TABLE, rowsOf(TABLE, madeUp(TABLE, { from: 100 })));
    const { outcome } = await sink.load(unitAt(TABLE, 2), arriving(madeUp(TABLE)).fetch, plainly());
    strictEqual(outcome, "loaded");
  });
  await expectRows(host, TABLE, [...rowsOf(TABLE, madeUp(TABLE, { from: 100 })), ...rowsOf(TABLE, madeUp(TABLE))]);
}
