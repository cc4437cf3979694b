import { expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Segment, TableName } from "tradewire";
import { compareLedger, type LedgerEntry } from "tradewire/sync";
import { createIncrementalComparison } from "../../src/sync/coverage.js";
import { runs } from "../support/tier.js";
import { useVirtualRuntime } from "../support/virtual-runtime.js";

const TABLES = ["trades", "orders"] as const;
const ALL = { fromBlock: 0n, toBlock: 2n ** 63n - 1n };

function segmentAt(number: number): Segment {
  const [fromBlock, toBlock] = [BigInt(number * 10 - 9), BigInt(number * 10)];
  const previousId = number === 1 ? "" : `s${number - 1}`;
  return { fromBlock, toBlock, id: `s${number}`, previousId, schemaVersion: 116n };
}

function historyTo(last: number, first = 1) {
  const length = Math.max(0, last - first + 1);
  return { chainId: "c", segments: Array.from({ length }, (_, index) => segmentAt(first + index)) };
}

/** A ledger in memory, which notes how much of it is read. */
function ledger() {
  const entries: LedgerEntry[] = [];
  const asked: (bigint | undefined)[] = [];
  return {
    asked,
    /** Loads segments as one unit, unless some of it is there. */
    load(table: TableName, first: number, last = first, fork = "") {
      const { fromBlock, previousId } = segmentAt(first);
      const { toBlock, id } = segmentAt(last);
      const [segmentId, previousSegmentId] = [`${id}${fork}`, `${previousId}${fork}`];
      if (!entries.some((entry) => entry.table === table && entry.fromBlock <= toBlock && fromBlock <= entry.toBlock)) {
        const unit = { chainId: "c", table, fromBlock, toBlock, segmentId, previousSegmentId, schemaVersion: 116n };
        entries.push({ ...unit, rows: fromBlock, bytes: toBlock, sha256: "", loadedAt: "" });
        entries.sort((a, b) => Number(a.fromBlock - b.fromBlock));
      }
    },
    forget() {
      entries.length = 0;
    },
    async *entries(table: TableName, behind?: bigint): AsyncGenerator<LedgerEntry, void, undefined> {
      asked.push(behind);
      yield* entries.filter((entry) => entry.table === table && entry.fromBlock > (behind ?? -1n));
    },
  };
}

const step = fc.record({
  grown: fc.nat(4),
  /** How many of the oldest segments no node has. */
  dropped: fc.constantFrom(0, 0, 0, 2, 5),
  limit: fc.constantFrom(0, 1, 2, 1000),
  loads: fc.array(
    fc.record({
      table: fc.constantFrom(...TABLES),
      first: fc.integer({ min: 1, max: 20 }),
      size: fc.nat(2),
      fork: fc.constantFrom("", "", "", "", "", "b"),
    }),
    { maxLength: 6 },
  ),
  /** Whether all that is missing is loaded at the end. */
  fill: fc.boolean(),
});
const range = fc.constantFrom(ALL, ALL, { fromBlock: 11n, toBlock: 65n });

it("finds what comparing the whole ledger finds, however history and ledger grow", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), range, async (steps, blocks) => {
      const sink = ledger();
      const compare = createIncrementalComparison(sink);
      let last = 0;
      for (const { grown, dropped, limit, loads, fill } of steps) {
        last += grown;
        for (const { table, first, size, fork } of loads) {
          // What others load beyond the range or the history is found when the whole ledger is compared.
          if (
            first > dropped &&
            blocks.fromBlock <= segmentAt(first).fromBlock &&
            segmentAt(first + size).toBlock <= blocks.toBlock
          ) {
            sink.load(table, first, first + size, fork);
          }
        }
        const asked = new Map([["orders", 1n] as const]);
        const query = { history: historyTo(last, dropped + 1), tables: TABLES, range: blocks, limit, asked };
        const whole = await compareLedger(sink, query);
        expect(await compare(query)).toEqual(whole);
        if (fill) {
          for (const { table, segment } of (await compareLedger(sink, { ...query, limit: 1000 })).missing) {
            sink.load(table, Number(segment.toBlock / 10n));
          }
          expect(await compare(query)).toEqual(await compareLedger(sink, query));
        }
      }
    }),
    {
      numRuns: runs(500),
      // Gaps that are found one after the other, and adjacent.
      examples: [
        [
          [
            { grown: 2, dropped: 0, limit: 0, loads: [], fill: false },
            { grown: 4, dropped: 2, limit: 1000, loads: [], fill: false },
            { grown: 0, dropped: 5, limit: 0, loads: [], fill: false },
            { grown: 0, dropped: 0, limit: 0, loads: [], fill: false },
          ],
          { fromBlock: 0n, toBlock: 2n ** 63n - 1n },
        ],
      ],
    },
  );
});

it("finds what is missing, and where histories part, before what it has compared, once the history begins earlier", async () => {
  const sink = ledger();
  const compare = createIncrementalComparison(sink);
  const query = (first: number) => ({ history: historyTo(6, first), tables: TABLES, range: ALL, limit: 1000 });
  for (const table of TABLES) {
    sink.load(table, 2, 2, "b");
    sink.load(table, 4, 6);
  }
  expect((await compare(query(4))).missing).toEqual([]);
  const { missing, divergence } = await compare(query(1));
  expect(missing.map(({ segment }) => segment.id)).toEqual(["s1", "s1", "s2", "s2", "s3", "s3"]);
  expect(divergence?.entry.segmentId).toBe("s2b");
});

it("reads only what is behind the last block that all tables have, and all of it an hour later", async () => {
  const sink = ledger();
  const compare = createIncrementalComparison(sink);
  const query = (last: number) => ({ history: historyTo(last), tables: TABLES, range: ALL, limit: 1000 });
  using runtime = useVirtualRuntime();
  const asked = async (last: number) => {
    sink.asked.length = 0;
    const { missing } = await compare(query(last));
    return { behind: sink.asked[0], missing: missing.map(({ segment }) => segment.id) };
  };
  for (const number of [1, 2, 3]) {
    sink.load("trades", number);
    sink.load("orders", number);
  }
  expect(await asked(3)).toEqual({ behind: undefined, missing: [] });
  expect(await asked(5)).toEqual({ behind: 30n, missing: ["s4", "s4", "s5", "s5"] });
  sink.load("trades", 4);
  expect(await asked(5)).toEqual({ behind: 30n, missing: ["s4", "s5", "s5"] });
  sink.load("orders", 4);
  expect(await asked(5)).toEqual({ behind: 30n, missing: ["s5", "s5"] });
  expect(await asked(5)).toEqual({ behind: 40n, missing: ["s5", "s5"] });
  runtime.skip(3_599_999);
  sink.forget();
  expect(await asked(5)).toEqual({ behind: 40n, missing: ["s5", "s5"] });
  runtime.skip(1);
  expect(await asked(4)).toEqual({ behind: undefined, missing: ["s1", "s1", "s2", "s2", "s3", "s3", "s4", "s4"] });
});
