import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { RequestError } from "../../base/errors/index.js";
import { compareLedger } from "../coverage.js";
import type { CoverageQuery } from "../sink.js";
import type { Segment } from "../unit.js";
import {
  CHAIN,
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
const csv = (number: number) => generateCsv(TABLE, { from: number * 100 });
/** Returns a row with a different value in a column that is not part of the key. */
const changed = (number: number) => {
  const { columns, rows } = csv(number);
  const at = columns.indexOf("price");
  return { columns, rows: rows.map((row, index) => (index === 3 ? row.with(at, "987654321") : row)) };
};

/** Cases of units that are replaced, removed, counted and compared. */
export const replacingCases: readonly SinkCase[] = [
  sinkCase("replaces overlapping units of another history, and no others", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      for (const segment of [1, 2, 3, 5]) {
        await sink.load(unitAt(TABLE, segment), fetchOf(csv(segment)).fetch, loadOptions());
      }
      const unit = unitAt(TABLE, 2, { last: 4, fork: "b" });
      strictEqual((await sink.load(unit, fetchOf(csv(9)).fetch, loadOptions())).outcome, "there");
      strictEqual((await sink.load(unit, fetchOf(csv(9)).fetch, loadOptions(true))).outcome, "loaded");
      deepStrictEqual(
        (await ledgerEntries(sink, TABLE)).map(({ segmentId }) => segmentId),
        ["segment-1", "segment-4b", "segment-5"],
      );
    });
    await expectRows(host, TABLE, [1, 9, 5].map(csv));
  }),

  sinkCase("replaces a unit with one that has the same rows", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.load(unitAt(TABLE, 1), fetchOf(csv(1)).fetch, loadOptions());
      const result = await sink.load(unitAt(TABLE, 1, { fork: "b" }), fetchOf(csv(1)).fetch, loadOptions(true));
      ok(result.outcome === "loaded");
      strictEqual(await sink.countRows(result.entry), 16n);
    });
    await expectRows(host, TABLE, [csv(1)]);
  }),

  sinkCase("does not fetch the same unit again to replace it", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.load(unitAt(TABLE, 1), fetchOf(csv(1)).fetch, loadOptions());
      const again = fetchOf(csv(1));
      strictEqual((await sink.load(unitAt(TABLE, 1), again.fetch, loadOptions(true))).outcome, "there");
      strictEqual(again.calls(), 0);
    });
  }),

  sinkCase("keeps the existing unit if its replacement fails", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.load(unitAt(TABLE, 1), fetchOf(csv(1)).fetch, loadOptions());
      const error = new Error("the archive is broken");
      const { fetch } = fetchOf(csv(2), { error });
      const loading = sink.load(unitAt(TABLE, 1, { fork: "b" }), fetch, loadOptions(true));
      await rejects(loading, (reason) => reason === error);
      strictEqual((await ledgerEntries(sink, TABLE))[0]?.segmentId, "segment-1");
    });
    await expectRows(host, TABLE, [csv(1)]);
  }),

  sinkCase("keeps the marks of the loaded history, and changes none if that fails", async (host) => {
    const [first, ...others] = [1n, 2n, 3n].map((toBlock) => ({ toBlock, segmentId: `segment-${toBlock}` }));
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.markHistory?.((marks) => {
        deepStrictEqual(marks, []);
        return first === undefined ? undefined : [first];
      });
    });
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.markHistory?.(() => undefined);
      const refused = new RequestError("another history", { advice: "Use another target." });
      const refusal = sink.markHistory?.(() => {
        throw refused;
      });
      await rejects(refusal ?? Promise.reject(refused), refused);
      await Promise.all(others.map((mark) => sink.markHistory?.((marks) => [...marks, mark])));
      await sink.markHistory?.((marks) => {
        deepStrictEqual(marks.map(({ segmentId }) => segmentId).sort(), ["segment-1", "segment-2", "segment-3"]);
        return undefined;
      });
    });
  }),

  sinkCase("removes a unit, and does nothing if it is missing", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      for (const segment of [1, 2]) {
        await sink.load(unitAt(TABLE, segment), fetchOf(csv(segment)).fetch, loadOptions());
      }
      const [first, second] = await ledgerEntries(sink, TABLE);
      ok(first && second);
      await sink.remove(first);
      await sink.remove(first);
      await sink.remove({ ...second, segmentId: "segment-of-another-history" });
      deepStrictEqual(await ledgerEntries(sink, TABLE), [second]);
      await expectRows(host, TABLE, [csv(2)]);
      strictEqual((await sink.load(unitAt(TABLE, 1), fetchOf(csv(3)).fetch, loadOptions())).outcome, "loaded");
    });
    await expectRows(host, TABLE, [2, 3].map(csv));
  }),

  sinkCase("counts and compares the rows of a unit", async (host) => {
    await withOpened(host, [TABLE, "market_data"], async ({ sink }) => {
      for (const segment of [1, 2]) {
        await sink.load(unitAt(TABLE, segment), fetchOf(csv(segment)).fetch, loadOptions());
      }
      const [entry] = await ledgerEntries(sink, TABLE);
      ok(entry);
      strictEqual(await sink.countRows(entry), 16n);
      const compare = (given: ReturnType<typeof csv>) =>
        sink.compareRows(entry, fetchOf(given).fetch, loadOptions().signal);
      const { columns, rows } = csv(1);
      deepStrictEqual(await compare(csv(1)), { missing: 0n, extra: 0n });
      deepStrictEqual(await compare(changed(1)), { missing: 1n, extra: 1n });
      deepStrictEqual(await compare({ columns, rows: rows.slice(2) }), { missing: 0n, extra: 2n });
      deepStrictEqual(await compare({ columns, rows: [...rows, ...csv(7).rows] }), { missing: 16n, extra: 0n });
      deepStrictEqual(await compare({ columns, rows: [] }), { missing: 0n, extra: 16n });
      await rejects(compareFailing(), /broken/);
      strictEqual(await sink.countRows(entry), 16n);

      async function compareFailing(): Promise<unknown> {
        const { fetch } = fetchOf(csv(1), { failAfter: 100, error: new Error("the archive is broken") });
        return entry && sink.compareRows(entry, fetch, loadOptions().signal);
      }
    });
    await expectRows(host, TABLE, [1, 2].map(csv));
  }),

  sinkCase("compares values of all kinds", async (host) => {
    await withOpened(host, ["orders", "market_data"], async ({ sink }) => {
      for (const table of ["orders", "market_data"] as const) {
        const given = generateCsv(table, { rows: 24 });
        const result = await sink.load(unitAt(table, 1), fetchOf(given).fetch, loadOptions());
        ok(result.outcome === "loaded");
        const compared = await sink.compareRows(result.entry, fetchOf(given).fetch, loadOptions().signal);
        deepStrictEqual(compared, { missing: 0n, extra: 0n });
      }
    });
  }),
];

const TABLES = ["trades", "blocks"] as const;

/** Cases of sinks with their own comparison and coverage picture. Other sinks pass them automatically. */
export const coverageCases: readonly SinkCase[] = [
  sinkCase("compares its ledger with a history in the same way as a reader of the ledger", async (host) => {
    await withOpened(host, TABLES, async ({ sink }) => {
      if (sink.compareCoverage === undefined) {
        return;
      }
      const units = [unitAt("trades", 2), unitAt("trades", 3, { last: 4 }), unitAt("trades", 6, { fork: "b" })];
      for (const unit of [...units, unitAt("blocks", 1), unitAt("blocks", 4), unitAt("blocks", 8)]) {
        const csv = generateCsv(unit.table, { from: Number(unit.fromBlock) * 100, rows: 2 });
        await sink.load(unit, fetchOf(csv).fetch, loadOptions());
      }
      for (const query of queries()) {
        const own = await sink.compareCoverage(query);
        const merged = await compareLedger(sink, query);
        deepStrictEqual(own, merged, `from ${query.history.segments[0]?.fromBlock}`);
      }
    });
  }),

  sinkCase("reports the coverage of a range", async (host) => {
    await withOpened(host, TABLES, async ({ sink }) => {
      if (sink.coverage === undefined) {
        return;
      }
      for (const unit of [unitAt("trades", 2), unitAt("trades", 3, { last: 6 })]) {
        await sink.load(
          unit,
          fetchOf(generateCsv("trades", { from: Number(unit.fromBlock), rows: 1 })).fetch,
          loadOptions(),
        );
      }
      for (const [fromBlock, toBlock, parts] of [
        [1n, 80n, 8],
        [1n, 80n, 7],
        [15n, 33n, 4],
        [1n, 3n, 5],
      ] as const) {
        const entries = await ledgerEntries(sink, "trades");
        const edge = (part: number) => fromBlock + (BigInt(part) * (toBlock - fromBlock + 1n)) / BigInt(parts);
        const expected = Array.from({ length: parts }, (_, part) => {
          const [low, high] = [edge(part), edge(part + 1) - 1n];
          return entries.reduce((sum, entry) => {
            const from = entry.fromBlock > low ? entry.fromBlock : low;
            const to = entry.toBlock < high ? entry.toBlock : high;
            return sum + (to >= from ? Number(to - from) + 1 : 0);
          }, 0);
        });
        deepStrictEqual(await sink.coverage(TABLES, { fromBlock, toBlock }, parts), [
          { table: "trades", blocks: expected },
          { table: "blocks", blocks: expected.map(() => 0) },
        ]);
      }
    });
  }),
];

/** Histories of all lengths, some of which diverge from the ledger, with ranges, limits and `replaceFrom`. */
function* queries(): Generator<CoverageQuery> {
  for (const first of [1, 2, 3, 4, 7, 9]) {
    for (const last of [0, 1, 3, 4, 5, 6, 8, 12]) {
      for (const forkFrom of [100, 1, 4, 6]) {
        const segments = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) =>
          segmentAt(first + index, forkFrom),
        );
        const [range, limit] = [first % 2 === 0 ? [1n, 1000n] : [11n, 55n], last % 2 === 0 ? 100 : 2] as const;
        const common = { history: { chainId: CHAIN, segments }, tables: TABLES, limit };
        const query = { ...common, range: { fromBlock: range[0] ?? 0n, toBlock: range[1] ?? 0n } };
        yield query;
        yield { ...query, replaceFrom: 31n };
        yield { ...query, asked: new Map([["trades", 1n] as const, ["blocks", 25n] as const]) };
        yield { ...query, replaceFrom: 0n };
        yield { ...query, behind: BigInt(first - 1) * 10n };
      }
    }
  }
}

function segmentAt(number: number, forkFrom: number): Segment {
  const fork = (at: number) => (at >= forkFrom ? "b" : "");
  return {
    fromBlock: BigInt(number - 1) * 10n + 1n,
    toBlock: BigInt(number) * 10n,
    id: `segment-${number}${fork(number)}`,
    previousId: number === 1 ? "" : `segment-${number - 1}${fork(number - 1)}`,
    schemaVersion: 116n,
  };
}
