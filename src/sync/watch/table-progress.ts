import type { BlockRange } from "../../history/segments.js";
import type { TableName } from "../../schema/tables.js";
import type { TableSurvey } from "../sink.js";
import type { LedgerEntry } from "../unit.js";
import { createRate } from "./rate.js";
import type { Done, Loaded, TableProgress } from "./snapshot.js";

/** The window of the rates. */
const RATE_WINDOW_MS = 60_000;

const NOTHING: Loaded = { units: 0n, rows: 0n, bytes: 0n };

/**
 * Keep a table's progress.
 *
 * @param table the table
 * @param now tells the time in milliseconds
 * @returns functions that change and show it
 */
export function createTableProgress(table: TableName, now: () => number) {
  const rates = {
    bytes: createRate(RATE_WINDOW_MS, now),
    rows: createRate(RATE_WINDOW_MS, now),
    segments: createRate(RATE_WINDOW_MS, now),
  };
  let [segments, missing] = [0, 0];
  let [there, loaded] = [NOTHING, NOTHING];
  let toBlock: bigint | undefined;
  const reach = (range: BlockRange) => {
    toBlock = toBlock === undefined || range.toBlock > toBlock ? range.toBlock : toBlock;
  };
  return {
    /** A plan was made: the node has so many segments, and the sink so much of them. */
    plan(segmentsOfNode: number, survey: TableSurvey): void {
      segments = segmentsOfNode;
      missing = Math.min(segments, Number(survey.missing));
      there = { units: survey.units, rows: survey.rows, bytes: survey.bytes };
      toBlock = survey.toBlock;
    },
    /** The rates begin. */
    begin(): void {
      for (const rate of Object.values(rates)) {
        rate.add(0);
      }
    },
    /** Bytes of CSV have arrived. */
    arrive(bytes: number): void {
      rates.bytes.add(bytes);
    },
    /** Segments of the table are there, whoever has loaded them. */
    fill(count: number, range: BlockRange): void {
      missing = Math.max(0, missing - count);
      reach(range);
    },
    /** This process has loaded a unit. */
    load(count: number, entry: LedgerEntry): void {
      there = sum(there, { ...entry, units: 1n });
      loaded = sum(loaded, { ...entry, units: 1n });
      rates.rows.add(Number(entry.rows));
      rates.segments.add(count);
    },
    show(): TableProgress {
      return {
        table,
        segments,
        done: segments - missing,
        missing,
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

/** Add what was loaded. */
export function sum(a: Loaded, b: Loaded): Loaded {
  return { units: a.units + b.units, rows: a.rows + b.rows, bytes: a.bytes + b.bytes };
}

/** Add the progress of all tables. */
export function totalOf(tables: readonly TableProgress[]): Done {
  const count = (one: (table: TableProgress) => number) => tables.reduce((total, table) => total + one(table), 0);
  return {
    segments: count(({ segments }) => segments),
    done: count(({ done }) => done),
    missing: count(({ missing }) => missing),
    there: tables.reduce((total, { there }) => sum(total, there), NOTHING),
    loaded: tables.reduce((total, { loaded }) => sum(total, loaded), NOTHING),
    rates: {
      bytes: count(({ rates }) => rates.bytes),
      rows: count(({ rates }) => rates.rows),
      segments: count(({ rates }) => rates.segments),
    },
  };
}
