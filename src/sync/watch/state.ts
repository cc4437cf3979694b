import type { BlockRange } from "../../history/segments.js";
import { monotonicMs, unixMs } from "../../runtime/index.js";
import { type TableName, tableNames } from "../../schema/tables.js";
import { setBounded } from "../../signal/set-bounded.js";
import type { SyncEvent } from "../events.js";
import type { SyncOptions } from "../options.js";
import type { TableCoverage } from "../sink.js";
import type { Unit } from "../unit.js";
import { countEnds, createLag, segmentsWithin } from "./lag.js";
import { type CoverageQuestion, createPicture } from "./picture.js";
import { createRate } from "./rate.js";
import { createErrorLog, createNodeReports } from "./reports.js";
import type { ErrorReport, Phase, SyncSnapshot } from "./snapshot.js";
import { createTableProgress, totalOf } from "./table-progress.js";

/** The most units under way, failed units and unknown columns that are remembered, each. The oldest give way. */
const MAX_REMEMBERED = 1000;
/** The time that is looked back on to say how long it will take. */
const FORECAST_WINDOW_MS = 600_000;

/** How fast it goes while all waits. */
const AT_REST = { bytes: 0, rows: 0, segments: 0 };

/** What is watched. */
export interface SyncStateOptions {
  /** The tables that are synced; all by default. */
  readonly tables?: readonly TableName[] | undefined;
  /** As of `syncHistory`: segments that lie wholly within it count; all by default. */
  readonly range?: SyncOptions["range"];
  /** Tells the time in milliseconds, never running backwards; `monotonicMs` by default. */
  readonly now?: (() => number) | undefined;
}

/** How a sync stands, kept from its events in a bounded amount of memory. */
export interface SyncState {
  /** Take an event; give this as `hooks.onEvent`. */
  readonly take: (event: SyncEvent) => void;
  /** Show how it stands. */
  readonly snapshot: () => SyncSnapshot;
  /**
   * Draw the picture anew by what the sink has: at the start, and now and then where others load into it, too.
   *
   * @param read asks the sink; what it throws is thrown unchanged, and the picture stays as it was
   * @returns whether the sink was asked: not before the first plan, and not while it is being asked already
   */
  readonly cover: (read: (question: CoverageQuestion) => Promise<readonly TableCoverage[]>) => Promise<boolean>;
}

/**
 * Keep how a sync stands, for a display, for metrics and for the page of `startWatch`.
 *
 * @param options the tables and blocks that are synced
 * @returns the state
 *
 * @example
 * const state = createSyncState({ tables: ["trades", "orders"] });
 * const timer = setInterval(() => {
 *   const { total, secondsLeft } = state.snapshot();
 *   console.log(`${total.done} of ${total.segments}`, total.rates.bytes / 1e6, "MB/s", secondsLeft, "s left");
 * }, 1000);
 * await syncHistory(client, { sink, tables: ["trades", "orders"], hooks: { onEvent: state.take } });
 * clearInterval(timer);
 */
export function createSyncState({
  tables = tableNames,
  range,
  now = () => monotonicMs(),
}: SyncStateOptions = {}): SyncState {
  const epoch = unixMs() - now();
  const time = (at: number) => new Date(epoch + at).toISOString();
  const startedAt = now();
  const progress = new Map(tables.map((table) => [table, createTableProgress(table, now)]));
  const [picture, errors, nodes, lag] = [createPicture(tables), createErrorLog(), createNodeReports(), createLag(now)];
  const forecast = createRate(FORECAST_WINDOW_MS, now);
  const underWay = new Map<string, { unit: Unit; node: string; bytes: number; began: number }>();
  const failed = new Map<string, Unit>();
  const unknown = new Map<string, SyncSnapshot["unknown"][number]>();
  let history: ReturnType<typeof segmentsWithin>;
  let node: BlockRange | undefined;
  let chainId: string | undefined;
  let waiting: ErrorReport | undefined;
  let phase: Phase = "starting";
  let announced: number | undefined;
  let lastEvent = startedAt;

  const settle = (unit: Unit) => {
    underWay.delete(keyOf(unit));
    failed.delete(keyOf(unit));
  };
  const fill = (unit: Unit): number => {
    const count = history === undefined ? 0 : countEnds(history.ends, unit);
    progress.get(unit.table)?.fill(count, unit);
    picture.add(unit);
    return count;
  };
  const work = (next: Phase) => {
    phase = next;
    waiting = undefined;
  };

  const arrive = (unit: Unit, bytes: number) => {
    const known = underWay.get(keyOf(unit));
    if (known !== undefined) {
      progress.get(unit.table)?.arrive(Math.max(0, bytes - known.bytes));
      known.bytes = bytes;
    }
  };
  const plan = ({ history: planned, tables: surveys }: Extract<SyncEvent, { case: "planned" }>) => {
    work("syncing");
    chainId = planned.chainId;
    const [first, last] = [planned.segments[0], planned.segments.at(-1)];
    node = first && last && { fromBlock: first.fromBlock, toBlock: last.toBlock };
    history = segmentsWithin(planned, range);
    if (history !== undefined) {
      const blocks = Number(history.toBlock - history.fromBlock) + 1;
      picture.extend(history, Math.ceil(blocks / history.ends.length));
      lag.look(history);
    }
    for (const survey of surveys) {
      progress.get(survey.table)?.plan(history?.ends.length ?? 0, survey);
    }
    const whole = new Set(surveys.filter(({ missing }) => missing === 0n).map(({ table }) => table));
    for (const [key, { table }] of failed) {
      if (whole.has(table)) {
        failed.delete(key);
      }
    }
  };
  const handle = (event: SyncEvent) => {
    switch (event.case) {
      case "planned":
        return plan(event);
      case "began": {
        work("syncing");
        settle(event.unit);
        forecast.add(0);
        progress.get(event.unit.table)?.begin();
        const entry = { unit: event.unit, node: nodes.name(event.node), bytes: 0, began: now() };
        setBounded(underWay, keyOf(event.unit), entry, MAX_REMEMBERED);
        return;
      }
      case "arrived": {
        work("syncing");
        return arrive(event.unit, event.bytes);
      }
      case "loaded": {
        const { entry } = event;
        work("syncing");
        arrive(entry, Number(entry.bytes));
        nodes.add(underWay.get(keyOf(entry))?.node, entry);
        settle(entry);
        const count = fill(entry);
        progress.get(entry.table)?.load(count, entry);
        return forecast.add(count);
      }
      case "left":
        work("syncing");
        settle(event.unit);
        return event.outcome === "there" ? forecast.add(fill(event.unit)) : undefined;
      case "failed": {
        const { unit, error, attempt, againMs } = event;
        settle(unit);
        setBounded(failed, keyOf(unit), unit, MAX_REMEMBERED);
        errors.add(error, { at: epoch + now(), unit, attempt, againMs });
        return;
      }
      case "waiting":
        work("waiting");
        waiting = errors.add(event.error, { at: epoch + now(), againMs: event.againMs });
        return;
      case "away":
        errors.add(event.error, { at: epoch + now() });
        return;
      case "lag":
        return nodes.compare(event.node, event.lag);
      case "unknown": {
        const { table, column, value } = event.unknown;
        setBounded(
          unknown,
          `${table}.${column}`,
          { table, column, ...(value === undefined ? {} : { value }) },
          MAX_REMEMBERED,
        );
        return;
      }
      case "idle":
        return work("idle");
    }
  };

  return {
    take(event) {
      lastEvent = now();
      announced = "againMs" in event && event.againMs ? lastEvent + event.againMs : undefined;
      handle(event);
    },
    cover: picture.cover,
    snapshot() {
      const isWaiting = phase === "waiting";
      const all = [...progress.values()].map((table) =>
        isWaiting ? { ...table.show(), rates: AT_REST } : table.show(),
      );
      const total = totalOf(all);
      const [units, speed] = [[...underWay.values()], forecast.perSecond()];
      const known = lag.show(all);
      const behind = isWaiting && known?.blocks === 0n ? undefined : known;
      const resting = phase === "idle" || (phase === "syncing" && units.length === 0 && total.missing === 0);
      const busy = !resting || announced !== undefined;
      const shown = picture.show(
        units.map(({ unit }) => unit),
        [...failed.values()],
      );
      return {
        at: time(now()),
        startedAt: time(startedAt),
        phase,
        ...(chainId === undefined ? {} : { chainId }),
        ...(node && { node }),
        ...(history && {
          history: { fromBlock: history.fromBlock, toBlock: history.toBlock, segments: history.ends.length },
        }),
        nodes: nodes.show(units),
        total,
        tables: all,
        ...(!isWaiting && (total.missing === 0 || speed > 0)
          ? { secondsLeft: total.missing === 0 ? 0 : total.missing / speed }
          : {}),
        ...(behind && { lag: behind }),
        underWay: units.map(({ unit: { table, fromBlock, toBlock }, node, bytes, began }) => ({
          ...{ table, fromBlock, toBlock, node, bytes },
          seconds: (now() - began) / 1000,
        })),
        failed: failed.size,
        ...errors.show(),
        ...(waiting && { waiting }),
        silentSeconds: busy ? Math.max(0, now() - (announced ?? lastEvent)) / 1000 : 0,
        unknown: [...unknown.values()],
        ...(shown && { picture: shown }),
      };
    },
  };
}

function keyOf({ table, fromBlock }: Unit): string {
  return `${table} ${fromBlock}`;
}
