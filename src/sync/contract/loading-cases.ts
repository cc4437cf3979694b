import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { RequestError } from "../../base/errors/index.js";
import { unixMs } from "../../base/runtime/index.js";
import {
  bytesOf,
  CHAIN,
  expectRows,
  fetchOf,
  generateCsv,
  ledgerEntries,
  loadOptions,
  type SinkCase,
  type SinkHost,
  sinkCase,
  unitAt,
  withOpened,
} from "./contract-fixtures.js";

/** Cases of opening a sink. */
export const openingCases: readonly SinkCase[] = [
  sinkCase("has a name", async ({ makeSink }) => {
    const sink = makeSink();
    ok(sink.name.length > 0);
    await sink[Symbol.asyncDispose]();
  }),

  sinkCase("opens a new target and an existing one", async (host) => {
    strictEqual(await inspected(host), undefined);
    for (const _ of ["new", "again"]) {
      await withOpened(host, ["trades", "orders"], async ({ sink }) => {
        deepStrictEqual(await ledgerEntries(sink, "trades"), []);
      });
      strictEqual(await inspected(host), CHAIN);
    }
    deepStrictEqual(await host.readRows("trades"), []);
  }),

  sinkCase("can be inspected without creating anything", async (host) => {
    strictEqual(await inspected(host), undefined);
    strictEqual(await inspected(host), undefined);
    deepStrictEqual((await host.readRows("trades")) ?? [], []);
  }),

  sinkCase("reads its ledger after inspect(), even for tables that it does not have", async (host) => {
    await withOpened(host, ["blocks"], async ({ sink }) => {
      await sink.load(unitAt("blocks", 1), fetchOf(generateCsv("blocks")).fetch, loadOptions());
    });
    const sink = host.makeSink();
    await sink.inspect(loadOptions().signal);
    strictEqual((await ledgerEntries(sink, "blocks")).length, 1);
    deepStrictEqual(await ledgerEntries(sink, "trades"), []);
    await sink[Symbol.asyncDispose]();
  }),

  sinkCase("holds one chain and rejects another", async (host) => {
    await withOpened(host, ["blocks"], async ({ sink }) => {
      await sink.load(unitAt("blocks", 1), fetchOf(generateCsv("blocks")).fetch, loadOptions());
    });
    const other = withOpened(host, ["blocks"], async () => undefined, { chainId: "another-chain" });
    await rejects(other, (reason) => reason instanceof RequestError && reason.message.includes(CHAIN));
    strictEqual(await inspected(host), CHAIN);
    await expectRows(host, "blocks", [generateCsv("blocks")]);
  }),

  sinkCase("can be opened later with more tables, and keeps the existing ones", async (host) => {
    const csv = generateCsv("blocks");
    await withOpened(host, ["blocks"], async ({ sink }) => {
      await sink.load(unitAt("blocks", 1), fetchOf(csv).fetch, loadOptions());
    });
    await withOpened(host, ["trades"], async ({ sink }) => {
      await sink.load(unitAt("trades", 1), fetchOf(generateCsv("trades", { rows: 3 })).fetch, loadOptions());
      strictEqual((await ledgerEntries(sink, "blocks")).length, 1);
    });
    await expectRows(host, "blocks", [csv]);
    strictEqual((await host.readRows("trades"))?.length, 3);
  }),
];

async function inspected(host: SinkHost): Promise<string | undefined> {
  const sink = host.makeSink();
  try {
    return await sink.inspect(loadOptions().signal);
  } finally {
    await sink[Symbol.asyncDispose]();
  }
}

const TABLE = "trades";

/** Cases of loading units: completely and once, or not at all. */
export const loadingCases: readonly SinkCase[] = [
  sinkCase("loads a unit and its ledger entry", async (host) => {
    const csv = generateCsv(TABLE);
    await withOpened(host, [TABLE], async ({ sink }) => {
      const unit = unitAt(TABLE, 1);
      const result = await sink.load(unit, fetchOf(csv).fetch, loadOptions());
      ok(result.outcome === "loaded");
      const { loadedAt, sha256, ...entry } = result.entry;
      deepStrictEqual(entry, { ...unit, rows: BigInt(csv.rows.length), bytes: BigInt((await bytesOf(csv)).length) });
      match(sha256, /^[0-9a-f]{64}$/);
      match(loadedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      ok(Math.abs(unixMs() - Date.parse(loadedAt)) < 3_600_000);
      deepStrictEqual(await ledgerEntries(sink, TABLE), [result.entry]);
      strictEqual(await sink.countRows(result.entry), 16n);
    });
    await expectRows(host, TABLE, [csv]);
  }),

  sinkCase("does not fetch a unit that is loaded, completely or in part", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      await sink.load(unitAt(TABLE, 2, { last: 3 }), fetchOf(generateCsv(TABLE)).fetch, loadOptions());
      const again = fetchOf(generateCsv(TABLE));
      for (const unit of [
        unitAt(TABLE, 2, { last: 3 }),
        unitAt(TABLE, 3),
        unitAt(TABLE, 1, { last: 2 }),
        unitAt(TABLE, 1, { last: 4 }),
        unitAt(TABLE, 2, { fork: "b" }),
      ]) {
        deepStrictEqual(await sink.load(unit, again.fetch, loadOptions()), { outcome: "there" });
      }
      strictEqual(again.calls(), 0);
      strictEqual((await ledgerEntries(sink, TABLE)).length, 1);
    });
    await expectRows(host, TABLE, [generateCsv(TABLE)]);
  }),

  sinkCase("loads nothing if a fetch fails before it begins", async (host) => {
    const error = new Error("the node is not there");
    await leavesNothing(host, async () => Promise.reject(error), error);
  }),

  ...["before its first byte", "after the header", "in the middle", "after its last byte"].map((where, index) =>
    sinkCase(`loads nothing of a file that fails ${where}`, async (host) => {
      const error = new Error("the archive is broken");
      const csv = generateCsv(TABLE);
      const bytes = await bytesOf(csv);
      const failAfter = [0, bytes.indexOf(0x0a) + 1, bytes.length >> 1, bytes.length][index] ?? 0;
      await leavesNothing(host, fetchOf(csv, { failAfter, error }).fetch, error);
    }),
  ),

  ...([-1n, 1n] as const).map((off) =>
    sinkCase(`rejects a file with ${off < 0n ? "more" : "fewer"} rows than were counted`, async (host) => {
      const csv = generateCsv(TABLE);
      await leavesNothing(host, fetchOf(csv, { rows: BigInt(csv.rows.length) + off }).fetch);
    }),
  ),

  sinkCase("loads a unit that has no rows", async (host) => {
    const csv = generateCsv(TABLE, { rows: 0 });
    await withOpened(host, [TABLE], async ({ sink }) => {
      const result = await sink.load(unitAt(TABLE, 1), fetchOf(csv).fetch, loadOptions());
      ok(result.outcome === "loaded");
      strictEqual(result.entry.rows, 0n);
      strictEqual(await sink.countRows(result.entry), 0n);
      strictEqual((await sink.load(unitAt(TABLE, 1), fetchOf(csv).fetch, loadOptions())).outcome, "there");
    });
    await expectRows(host, TABLE, []);
  }),

  sinkCase("lists its ledger in block order", async (host) => {
    await withOpened(host, [TABLE, "blocks"], async ({ sink }) => {
      const segments = [11, 2, 101, 1, 20];
      for (const segment of segments) {
        const csv = generateCsv(TABLE, { from: segment * 100, rows: segment % 3 });
        await sink.load(unitAt(TABLE, segment), fetchOf(csv).fetch, loadOptions());
      }
      const entries = await ledgerEntries(sink, TABLE);
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
        deepStrictEqual((await ledgerEntries(sink, TABLE, behind))[0]?.fromBlock, from, `behind ${behind}`);
      }
      deepStrictEqual(await ledgerEntries(sink, "blocks"), []);
    });
  }),

  sinkCase("loads units concurrently", async (host) => {
    const tables = [TABLE, "blocks"] as const;
    const segments = [1, 2, 3, 4];
    const csv = (segment: number) => generateCsv(TABLE, { from: segment * 100 });
    await withOpened(host, tables, async ({ sink }) => {
      const outcomes = await Promise.all(
        segments.flatMap((segment) => [
          sink.load(unitAt(TABLE, segment), fetchOf(csv(segment)).fetch, loadOptions()),
          sink.load(
            unitAt("blocks", segment),
            fetchOf(generateCsv("blocks", { from: segment * 100 })).fetch,
            loadOptions(),
          ),
        ]),
      );
      deepStrictEqual(
        outcomes.map(({ outcome }) => outcome),
        outcomes.map(() => "loaded"),
      );
      for (const entry of await ledgerEntries(sink, TABLE)) {
        strictEqual(await sink.countRows(entry), 16n);
      }
    });
    await expectRows(host, TABLE, segments.map(csv));
  }),
];

/** Loads a unit that fails, checks that nothing of it remains, and then loads it successfully. */
async function leavesNothing(host: SinkHost, fetch: ReturnType<typeof fetchOf>["fetch"], error?: Error): Promise<void> {
  await withOpened(host, [TABLE], async ({ sink }) => {
    await sink.load(unitAt(TABLE, 1), fetchOf(generateCsv(TABLE, { from: 100 })).fetch, loadOptions());
    const loading = sink.load(unitAt(TABLE, 2), fetch, loadOptions());
    await (error === undefined ? rejects(loading) : rejects(loading, (reason) => reason === error));
    strictEqual((await ledgerEntries(sink, TABLE)).length, 1);
    await expectRows(host, TABLE, [generateCsv(TABLE, { from: 100 })]);
    const { outcome } = await sink.load(unitAt(TABLE, 2), fetchOf(generateCsv(TABLE)).fetch, loadOptions());
    strictEqual(outcome, "loaded");
  });
  await expectRows(host, TABLE, [generateCsv(TABLE, { from: 100 }), generateCsv(TABLE)]);
}
