import { expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Segment, TableName } from "tradewire";
import { type CoverageQuery, compareLedger, type LedgerEntry, unitsOf } from "tradewire/sync";
import { runs } from "../support/tier.js";

const TABLES = ["trades", "orders"] as const;

/** Segment `number` of ten blocks, of the history `a` or from `fork` on of `b`. */
function segmentAt(number: number, fork = 1000): Segment {
  const name = (at: number) => (at < 1 ? "" : `${at}${at >= fork ? "b" : "a"}`);
  const [fromBlock, toBlock] = [BigInt(number * 10 - 9), BigInt(number * 10)];
  return {
    fromBlock,
    toBlock,
    id: name(number),
    previousId: name(number - 1),
    schemaVersion: number < 6 ? 115n : 116n,
  };
}

function entryOf(table: TableName, first: number, last: number, fork?: number): LedgerEntry {
  const unit = {
    ...{ chainId: "c", table, fromBlock: segmentAt(first).fromBlock, toBlock: segmentAt(last).toBlock },
    ...{ segmentId: segmentAt(last, fork).id, previousSegmentId: segmentAt(first, fork).previousId },
    schemaVersion: 116n,
  };
  return { ...unit, rows: BigInt(first), bytes: BigInt(last), sha256: "", loadedAt: "" };
}

/** Which segments a ledger has, as runs of 1 to 3, each of one of two histories. */
const ledger = (table: TableName) =>
  fc
    .array(
      fc.record({ gap: fc.nat(3), size: fc.integer({ min: 1, max: 3 }), fork: fc.constantFrom(1000, 1000, 1, 5) }),
      {
        maxLength: 6,
      },
    )
    .map((runs) => {
      const entries: LedgerEntry[] = [];
      let next = 1;
      for (const { gap, size, fork } of runs) {
        entries.push(entryOf(table, next + gap, next + gap + size - 1, fork));
        next += gap + size;
      }
      return entries;
    });

const block = fc.integer({ min: 0, max: 160 }).map(BigInt);
const query = fc
  .record({
    ...{ first: fc.integer({ min: 1, max: 8 }), size: fc.nat(10), fork: fc.constantFrom(1000, 1000, 4) },
    ...{ from: block, to: block, limit: fc.constantFrom(0, 1, 3, 100), replaceFrom: fc.option(block) },
    start: fc.option(block),
  })
  .map(({ first, size, fork, from, to, limit, replaceFrom, start }): CoverageQuery => {
    const segments = Array.from({ length: size }, (_, index) => segmentAt(first + index, fork));
    const range = { fromBlock: from, toBlock: to };
    const asked = new Map(start === null ? [] : [["trades" as const, start]]);
    const common = { history: { chainId: "c", segments }, tables: TABLES, range, limit, asked };
    return replaceFrom === null ? common : { ...common, replaceFrom };
  });

/** What the documentation says, written out block by block and segment by segment. */
function naive(
  entries: readonly LedgerEntry[],
  { history: { segments }, range, limit, replaceFrom, asked }: CoverageQuery,
) {
  const [first, last] = [segments[0], segments.at(-1)];
  const of = (entry: LedgerEntry) => {
    const inside = segments.filter((s) => s.fromBlock <= entry.toBlock && s.toBlock >= entry.fromBlock);
    const [start, end] = [inside[0], inside.at(-1)];
    if (first === undefined || last === undefined || start === undefined || end === undefined) {
      const adjacent = first !== undefined && entry.toBlock + 1n === first.fromBlock;
      const before = last !== undefined && entry.toBlock < last.toBlock;
      return adjacent && entry.segmentId !== first.previousId ? "parted" : before ? "before" : "behind";
    }
    const begins = entry.fromBlock < first.fromBlock || start.previousId === entry.previousSegmentId;
    if (entry.toBlock > last.toBlock) {
      return begins ? "beyond" : "parted";
    }
    return begins && end.id === entry.segmentId ? "of" : "parted";
  };
  const isForeign = (entry: LedgerEntry) =>
    replaceFrom !== undefined &&
    first !== undefined &&
    entry.fromBlock >= replaceFrom &&
    !["of", "before"].includes(of(entry));
  const covering = entries.filter((entry) => of(entry) === "of" || (of(entry) === "beyond" && !isForeign(entry)));
  const byBlock = (a: LedgerEntry, b: LedgerEntry) => Number(a.fromBlock - b.fromBlock);
  const missing = TABLES.flatMap((table) =>
    segments
      .filter((s) => s.fromBlock >= range.fromBlock && s.toBlock <= range.toBlock)
      .filter((s) => !covering.some((e) => e.table === table && e.fromBlock <= s.fromBlock && e.toBlock >= s.toBlock))
      .map((segment) => ({ table, segment })),
  );
  const gapsOf = (table: TableName) => {
    const held = entries.filter((each) => each.table === table && !isForeign(each));
    const start = asked?.get(table) ?? held[0]?.fromBlock;
    const end = Math.max(Number(held.at(-1)?.toBlock ?? 0n), Number(first?.fromBlock ?? 1n) - 1);
    const gaps: { table: TableName; fromBlock: bigint; toBlock: bigint }[] = [];
    for (let at = start ?? BigInt(end) + 1n; at <= BigInt(end); at += 1n) {
      const isListed = first !== undefined && last !== undefined && first.fromBlock <= at && at <= last.toBlock;
      const isHeld = held.some(({ fromBlock, toBlock }) => fromBlock <= at && at <= toBlock);
      const previous = gaps.at(-1);
      if (isListed || isHeld || at < range.fromBlock || at > range.toBlock) {
        continue;
      }
      if (previous !== undefined && previous.toBlock + 1n === at) {
        gaps[gaps.length - 1] = { ...previous, toBlock: at };
      } else {
        gaps.push({ table, fromBlock: at, toBlock: at });
      }
    }
    return gaps;
  };
  const entry = entries.filter((each) => of(each) === "parted" && !isForeign(each)).sort(byBlock)[0];
  const segment = entry && segments.find(({ toBlock }) => toBlock === entry.toBlock);
  return {
    missing: missing.toSorted((a, b) => Number(a.segment.fromBlock - b.segment.fromBlock)).slice(0, limit),
    gaps: TABLES.flatMap(gapsOf).sort((a, b) => Number(a.fromBlock - b.fromBlock)),
    foreign: entries.filter(isForeign).sort(byBlock).slice(0, limit),
    ...(entry && { divergence: { entry, ...(segment && { segment }) } }),
    tables: TABLES.map((table) => {
      const own = entries.filter((each) => each.table === table);
      const sum = (value: (each: LedgerEntry) => bigint) => own.reduce((all, each) => all + value(each), 0n);
      const [oldest, newest] = [own[0], own.at(-1)];
      return {
        ...{ table, units: own.length, rows: sum(({ rows }) => rows), bytes: sum(({ bytes }) => bytes) },
        ...(oldest && newest && { fromBlock: oldest.fromBlock, toBlock: newest.toBlock }),
        missing: BigInt(missing.filter((each) => each.table === table).length),
        gapBlocks: gapsOf(table).reduce((all, { fromBlock, toBlock }) => all + toBlock - fromBlock + 1n, 0n),
      };
    }),
  };
}

async function* stream<T>(values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* values;
}

const sinkOf = (entries: readonly LedgerEntry[]) => ({
  entries: (table: TableName) => stream(entries.filter((entry) => entry.table === table)),
});

it("compares a ledger with a history as the documentation says", async () => {
  const both = fc.tuple(ledger("trades"), ledger("orders")).map((ledgers) => ledgers.flat());
  await fc.assert(
    fc.asyncProperty(both, query, async (entries, asked) => {
      expect(await compareLedger(sinkOf(entries), asked)).toEqual(naive(entries, asked));
    }),
    { numRuns: runs(2000) },
  );
});

it("refuses a ledger whose units overlap", async () => {
  const entries = [entryOf("trades", 1, 3), entryOf("trades", 3, 4)];
  const history = { chainId: "c", segments: [segmentAt(1)] };
  const range = { fromBlock: 0n, toBlock: 100n };
  await expect(compareLedger(sinkOf(entries), { history, tables: ["trades"], range, limit: 1 })).rejects.toThrow(
    /^the ledger of trades has a unit that starts at block 21 after the unit of blocks 1 to 30$/m,
  );
});

it("keeps no more than the limit of a long history", async () => {
  const segments = Array.from({ length: 100_000 }, (_, index) => segmentAt(index + 1));
  async function* half() {
    for (let number = 1; number <= segments.length; number += 2) {
      yield entryOf("trades", number, number);
    }
  }
  const range = { fromBlock: 0n, toBlock: 10n ** 9n };
  const asked = { history: { chainId: "c", segments }, tables: ["trades"] as const, range, limit: 10 };
  const { tables, missing } = await compareLedger({ entries: half }, asked);
  expect([tables[0]?.units, tables[0]?.missing, missing.length]).toEqual([50_000, 50_000n, 10]);
});

it("makes units of adjacent segments of one schema version, which bring what is missing, once", () => {
  fc.assert(
    fc.property(
      fc.subarray(Array.from({ length: 20 }, (_, n) => n + 1)),
      fc.integer({ min: 1, max: 5 }),
      (numbers, most) => {
        const missing = numbers.flatMap((n) => TABLES.map((table) => ({ table, segment: segmentAt(n) })));
        const units = unitsOf("c", missing, most);
        for (const table of TABLES) {
          const brought = units
            .filter((unit) => unit.table === table)
            .map(({ fromBlock, toBlock, segmentId, previousSegmentId, schemaVersion }) => {
              const [first, last] = [Number((fromBlock + 9n) / 10n), Number(toBlock / 10n)];
              expect([previousSegmentId, segmentId]).toEqual([segmentAt(first).previousId, segmentAt(last).id]);
              expect(segmentAt(first).schemaVersion).toBe(schemaVersion);
              expect(segmentAt(last).schemaVersion).toBe(schemaVersion);
              expect(last - first).toBeLessThan(most);
              return Array.from({ length: last - first + 1 }, (_, index) => first + index);
            });
          expect(brought.flat()).toEqual(numbers);
        }
        const starts = units.map(({ fromBlock }) => fromBlock);
        expect(starts).toEqual(starts.toSorted((a, b) => Number(a - b)));
      },
    ),
  );
  expect(
    unitsOf(
      "c",
      [1, 2, 3, 4, 5, 6, 7].map((n) => ({ table: "trades", segment: segmentAt(n) })),
      3,
    ),
  ).toMatchObject([
    { fromBlock: 1n, toBlock: 30n },
    { fromBlock: 31n, toBlock: 50n }, // The schema version changes.
    { fromBlock: 51n, toBlock: 70n },
  ]);
});
