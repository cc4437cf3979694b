import type { BlockRange } from "../../data/history/segments.js";
import type { TableName } from "../../data/schema/table-names.js";
import type { TableSummary } from "../sink.js";
import type { SyncOptions } from "../sync-options.js";
import type { LedgerEntry, NodeHistory } from "../unit.js";
import { firstBehind } from "./coverage-picture.js";
import type { Done, Lag, Loaded, TableProgress } from "./sync-snapshot.js";

/** The window of the rates. */
const RATE_WINDOW_MS = 60_000;

const NOTHING: Loaded = { units: 0, rows: 0n, bytes: 0n };

export function createTableProgress(table: TableName, now: () => number) {
  const rates = {
    bytes: createRate(RATE_WINDOW_MS, now),
    rows: createRate(RATE_WINDOW_MS, now),
    segments: createRate(RATE_WINDOW_MS, now),
  };
  let [segments, missing] = [0, 0];
  let [there, loaded] = [NOTHING, NOTHING];
  let gapBlocks = 0n;
  let toBlock: bigint | undefined;
  const reach = (range: BlockRange) => {
    toBlock = toBlock === undefined || range.toBlock > toBlock ? range.toBlock : toBlock;
  };
  return {
    /** Applies a plan: the number of the node's segments, and the state of the table. */
    plan(segmentsOfNode: number, survey: TableSummary): void {
      segments = segmentsOfNode;
      missing = Math.min(segments, Number(survey.missing));
      there = { units: survey.units, rows: survey.rows, bytes: survey.bytes };
      gapBlocks = survey.gapBlocks;
      toBlock = survey.toBlock;
    },
    /** Starts the measurement of the rates. */
    begin(): void {
      for (const rate of Object.values(rates)) {
        rate.add(0);
      }
    },
    /** Adds bytes of CSV that have arrived. */
    arrive(bytes: number): void {
      rates.bytes.add(bytes);
    },
    /** Adds segments that are in the table, regardless of the process that loaded them. */
    fill(count: number, range: BlockRange): void {
      missing = Math.max(0, missing - count);
      reach(range);
    },
    /** Adds a unit that this process has loaded. */
    load(count: number, entry: LedgerEntry): void {
      there = addLoaded(there, { ...entry, units: 1 });
      loaded = addLoaded(loaded, { ...entry, units: 1 });
      rates.rows.add(Number(entry.rows));
      rates.segments.add(count);
    },
    show(): TableProgress {
      return {
        table,
        segments,
        done: segments - missing,
        missing,
        gapBlocks,
        there,
        loaded,
        rates: {
          bytes: rates.bytes.perSecond(),
          rows: rates.rows.perSecond(),
          segments: rates.segments.perSecond(),
        },
        ...(toBlock === undefined ? {} : { toBlock }),
      };
    },
  };
}

export function addLoaded(a: Loaded, b: Loaded): Loaded {
  return { units: a.units + b.units, rows: a.rows + b.rows, bytes: a.bytes + b.bytes };
}

export function totalOf(tables: readonly TableProgress[]): Done {
  const count = (one: (table: TableProgress) => number) => tables.reduce((total, table) => total + one(table), 0);
  return {
    segments: count(({ segments }) => segments),
    done: count(({ done }) => done),
    missing: count(({ missing }) => missing),
    gapBlocks: tables.reduce((total, { gapBlocks }) => total + gapBlocks, 0n),
    there: tables.reduce((total, { there }) => addLoaded(total, there), NOTHING),
    loaded: tables.reduce((total, { loaded }) => addLoaded(total, loaded), NOTHING),
    rates: {
      bytes: count(({ rates }) => rates.bytes),
      rows: count(({ rates }) => rates.rows),
      segments: count(({ rates }) => rates.segments),
    },
  };
}

/** Number of slots of a window: the rate forgets the past in steps of one slot. */
const SLOTS = 60;

/** A rate over a sliding window. */
export interface Rate {
  /** Adds an amount. The first call starts the measurement. */
  add(amount: number): void;
  /** Returns the amount per second over the window, or since the start of the measurement if that is shorter. */
  perSecond(): number;
}

/**
 * Measures a rate over a sliding window, in constant memory.
 *
 * @example
 * const bytes = createRate(60_000, () => performance.now());
 * bytes.add(chunk.length);
 */
export function createRate(windowMs: number, now: () => number): Rate {
  const slotMs = windowMs / SLOTS;
  const slots = new Float64Array(SLOTS);
  let began: number | undefined;
  let newest = 0;
  const slide = (since: number) => {
    const slot = Math.floor((now() - since) / slotMs);
    for (let passed = Math.max(newest + 1, slot - SLOTS + 1); passed <= slot; passed += 1) {
      slots[passed % SLOTS] = 0;
    }
    newest = Math.max(newest, slot);
  };
  return {
    add(amount) {
      began ??= now();
      slide(began);
      slots[newest % SLOTS] = (slots[newest % SLOTS] ?? 0) + amount;
    },
    perSecond() {
      if (began === undefined) {
        return 0;
      }
      slide(began);
      const ms = Math.max(1000, Math.min(now() - began, windowMs));
      return (slots.reduce((sum, amount) => sum + amount, 0) / ms) * 1000;
    },
  };
}

/** Maximum number of readings of the history that are stored. After that, the newest ones count as one. */
const MAX_READINGS = 1000;

export function createLagTracker(now: () => number) {
  /** When the node was first seen to have newer blocks than before, oldest first. */
  const looks: { readonly from: bigint; readonly at: number }[] = [];
  let seen: BlockRange | undefined;
  return {
    look({ fromBlock, toBlock }: BlockRange): void {
      const news = seen === undefined ? fromBlock : seen.toBlock + 1n;
      if (toBlock >= news && looks.length < MAX_READINGS) {
        looks.push({ from: news, at: now() });
      }
      seen = { fromBlock, toBlock };
    },
    show(tables: readonly TableProgress[]): Lag | undefined {
      if (seen === undefined) {
        return undefined;
      }
      const { fromBlock, toBlock: newest } = seen;
      const behind = tables.reduce(
        (least, { toBlock = fromBlock - 1n }) => (toBlock < least ? toBlock : least),
        newest,
      );
      while ((looks[1]?.from ?? newest + 1n) <= behind + 1n && looks.length > 0) {
        looks.shift(); // Everything seen then is loaded.
      }
      const since = behind < newest ? (looks[0]?.at ?? now()) : now();
      return { blocks: newest - behind, seconds: (now() - since) / 1000 };
    },
  };
}

/** Returns the ends of the segments within a range, so that those within a unit can be counted. */
export function segmentsWithin(
  { segments }: NodeHistory,
  { fromBlock = 0n, toBlock }: NonNullable<SyncOptions["range"]> = {},
): (BlockRange & { readonly ends: Float64Array }) | undefined {
  const within = segments.filter(
    (segment) => segment.fromBlock >= fromBlock && (toBlock === undefined || segment.toBlock <= toBlock),
  );
  const [first, last] = [within[0], within.at(-1)];
  return (
    first &&
    last && {
      fromBlock: first.fromBlock,
      toBlock: last.toBlock,
      ends: Float64Array.from(within, (segment) => Number(segment.toBlock)),
    }
  );
}

export function countEnds(ends: Float64Array, { fromBlock, toBlock }: BlockRange): number {
  return firstBehind(ends, Number(toBlock)) - firstBehind(ends, Number(fromBlock) - 1);
}
