import { snapshot } from "../../base/input/snapshot.js";
import { withJson } from "../../base/json-result.js";
import { monotonicMs, unixMs } from "../../base/runtime/index.js";
import { setBounded } from "../../base/signal/collections.js";
import type { BlockRange } from "../../data/history/segments.js";
import { type TableName, tableNames } from "../../data/schema/table-names.js";
import type { TableCoverage } from "../sink.js";
import type { SyncEvent } from "../sync-events.js";
import type { SyncOptions } from "../sync-options.js";
import type { LedgerEntry, Unit } from "../unit.js";
import { createPicture, type PictureQuery } from "./coverage-picture.js";
import { createErrorLog, createNodeReports } from "./error-reports.js";
import type { ErrorReport, Phase, SyncSnapshot } from "./sync-snapshot.js";
import {
  countEnds,
  createLagTracker,
  createRate,
  createTableProgress,
  type Rate,
  segmentsWithin,
  totalOf,
} from "./table-progress.js";

/** Maximum number of units in flight, failed units and unknown columns that are stored, each. The oldest are dropped. */
const MAX_STORED = 1000;
/** The window of the rate that the remaining time is estimated from. */
const FORECAST_WINDOW_MS = 600_000;

const NO_RATES = { bytes: 0, rows: 0, segments: 0 };

/** The inputs of the state of a sync. */
export interface SyncStateOptions {
  /** The tables that are synced; all by default. */
  readonly tables?: readonly TableName[] | undefined;
  /** The range of `syncHistory`: segments that lie within it count; all by default. */
  readonly range?: SyncOptions["range"];
  /** Returns the time in milliseconds, and never goes backwards; `monotonicMs` by default. */
  readonly now?: (() => number) | undefined;
}

/** The state of a sync, derived from its events in a bounded amount of memory. */
export interface SyncState {
  /** Applies an event; pass it as `hooks.onEvent`. */
  readonly take: (event: SyncEvent) => void;
  /** Returns the present state. */
  readonly snapshot: () => SyncSnapshot;
  /**
   * Draws the picture again from the sink's coverage: at the start, and periodically if other processes load into it.
   *
   * @param read reads the sink's coverage; its errors are thrown unchanged, and the picture then stays as it was
   * @returns whether the sink was read: not before the first plan, and not while it is being read already
   */
  readonly cover: (read: (query: PictureQuery) => Promise<readonly TableCoverage[]>) => Promise<boolean>;
}

/** The current activity of the sync. While it waits, the error says why. */
type Activity =
  | { readonly kind: Exclude<Phase, "waiting"> }
  | { readonly kind: "waiting"; readonly report: ErrorReport };

/** The latest plan: the nodes' history, and its part within the range. */
interface PlannedHistory {
  readonly chainId: string;
  readonly node: BlockRange | undefined;
  readonly within: ReturnType<typeof segmentsWithin>;
}

interface ActiveUnit {
  readonly unit: Unit;
  readonly node: string;
  readonly startedAt: number;
  bytes: number;
}

/** Everything that events change. Times are those of `now`. */
interface Tracker {
  readonly now: () => number;
  /** Milliseconds since 1970 at which `now` is 0. */
  readonly epoch: number;
  readonly startedAt: number;
  readonly range: SyncOptions["range"];
  readonly progress: ReadonlyMap<TableName, ReturnType<typeof createTableProgress>>;
  readonly picture: ReturnType<typeof createPicture>;
  readonly errors: ReturnType<typeof createErrorLog>;
  readonly nodes: ReturnType<typeof createNodeReports>;
  readonly lag: ReturnType<typeof createLagTracker>;
  readonly forecast: Rate;
  readonly active: Map<string, ActiveUnit>;
  readonly failed: Map<string, Unit>;
  readonly unknown: Map<string, SyncSnapshot["unknown"][number]>;
  activity: Activity;
  planned: PlannedHistory | undefined;
  /** The time of the last event, and the time that it announced for the next one. */
  lastEvent: { readonly at: number; readonly nextAt: number | undefined };
}

/**
 * Creates the state of a sync, for a display, for metrics and for the page of `startWatch`.
 *
 * @param options the tables and blocks that are synced
 * @returns the state
 *
 * @example
 * const state = createSyncState({ tables: ["trades", "orders"] });
 * const timer = setInterval(() => {
 *   const { total, secondsLeft } = state.snapshot();
 *   console.log(`${total.done} of ${total.segments}`, total.rates.bytes / 2 ** 20, "MiB/s", secondsLeft, "s left");
 * }, 1000);
 * await syncHistory(client, { sink, tables: ["trades", "orders"], hooks: { onEvent: state.take } });
 * clearInterval(timer);
 */
export function createSyncState(options: SyncStateOptions = {}): SyncState {
  const { tables = tableNames, range, now = () => monotonicMs() } = snapshot(options);
  const startedAt = now();
  const tracker: Tracker = {
    now,
    epoch: unixMs() - startedAt,
    startedAt,
    range,
    progress: new Map(tables.map((table) => [table, createTableProgress(table, now)])),
    picture: createPicture(tables),
    errors: createErrorLog(),
    nodes: createNodeReports(),
    lag: createLagTracker(now),
    forecast: createRate(FORECAST_WINDOW_MS, now),
    active: new Map(),
    failed: new Map(),
    unknown: new Map(),
    activity: { kind: "starting" },
    planned: undefined,
    lastEvent: { at: startedAt, nextAt: undefined },
  };
  return {
    take(event) {
      const at = now();
      const nextAt = "againMs" in event && event.againMs ? at + event.againMs : undefined;
      tracker.lastEvent = { at, nextAt };
      applyEvent(tracker, event);
    },
    cover: tracker.picture.cover,
    snapshot: () => withJson(snapshotOf(tracker)),
  };
}

function applyEvent(tracker: Tracker, event: SyncEvent): void {
  const { errors, forecast, nodes, progress } = tracker;
  const at = tracker.epoch + tracker.lastEvent.at;
  switch (event.kind) {
    case "planned":
      tracker.activity = { kind: "syncing" };
      applyPlan(tracker, event);
      return;
    case "began": {
      const { unit } = event;
      tracker.activity = { kind: "syncing" };
      finish(tracker, unit);
      forecast.add(0);
      progress.get(unit.table)?.begin();
      const active = { unit, node: nodes.name(event.node), bytes: 0, startedAt: tracker.now() };
      setBounded(tracker.active, keyOf(unit), active, MAX_STORED);
      return;
    }
    case "arrived":
      tracker.activity = { kind: "syncing" };
      addBytes(tracker, event.unit, event.bytes);
      return;
    case "loaded":
      tracker.activity = { kind: "syncing" };
      applyLoaded(tracker, event.entry);
      return;
    case "skipped":
      tracker.activity = { kind: "syncing" };
      finish(tracker, event.unit);
      if (event.outcome === "there") {
        forecast.add(addCovered(tracker, event.unit));
      }
      return;
    case "failed": {
      const { unit, error, attempt, againMs } = event;
      finish(tracker, unit);
      setBounded(tracker.failed, keyOf(unit), unit, MAX_STORED);
      errors.add(error, { at, unit, attempt, againMs });
      return;
    }
    case "waiting":
      tracker.activity = { kind: "waiting", report: errors.add(event.error, { at, againMs: event.againMs }) };
      return;
    case "unreachable":
    case "unlisted":
    case "unviewed":
      errors.add(event.error, { at });
      return;
    case "lag":
      nodes.compare(event.node, event.lag);
      return;
    case "unknown": {
      const { table, column, value } = event.unknown;
      const unknown = { table, column, ...(value === undefined ? {} : { value }) };
      setBounded(tracker.unknown, `${table}.${column}`, unknown, MAX_STORED);
      return;
    }
    case "idle":
      tracker.activity = { kind: "idle" };
  }
}

function applyPlan(tracker: Tracker, { history, tables }: Extract<SyncEvent, { kind: "planned" }>): void {
  const [first, last] = [history.segments[0], history.segments.at(-1)];
  const within = segmentsWithin(history, tracker.range);
  tracker.planned = {
    chainId: history.chainId,
    node: first && last && { fromBlock: first.fromBlock, toBlock: last.toBlock },
    within,
  };
  if (within !== undefined) {
    const blocks = Number(within.toBlock - within.fromBlock) + 1;
    tracker.picture.extend(within, Math.ceil(blocks / within.ends.length));
    tracker.lag.look(within);
  }
  for (const table of tables) {
    tracker.progress.get(table.table)?.plan(within?.ends.length ?? 0, table);
  }
  // Another process has loaded the failed units of a table that is complete.
  const complete = new Set(tables.filter(({ missing }) => missing === 0n).map(({ table }) => table));
  for (const [key, { table }] of tracker.failed) {
    if (complete.has(table)) {
      tracker.failed.delete(key);
    }
  }
}

function applyLoaded(tracker: Tracker, entry: LedgerEntry): void {
  addBytes(tracker, entry, Number(entry.bytes));
  tracker.nodes.add(tracker.active.get(keyOf(entry))?.node, entry);
  finish(tracker, entry);
  const count = addCovered(tracker, entry);
  tracker.progress.get(entry.table)?.load(count, entry);
  tracker.forecast.add(count);
}

function finish({ active, failed }: Tracker, unit: Unit): void {
  active.delete(keyOf(unit));
  failed.delete(keyOf(unit));
}

/** Records that the sink has a unit, and returns its number of segments. */
function addCovered({ planned, progress, picture }: Tracker, unit: Unit): number {
  const count = planned?.within === undefined ? 0 : countEnds(planned.within.ends, unit);
  progress.get(unit.table)?.fill(count, unit);
  picture.add(unit);
  return count;
}

function addBytes({ active, progress }: Tracker, unit: Unit, bytes: number): void {
  const known = active.get(keyOf(unit));
  if (known !== undefined) {
    progress.get(unit.table)?.arrive(Math.max(0, bytes - known.bytes));
    known.bytes = bytes;
  }
}

function snapshotOf(tracker: Tracker): SyncSnapshot {
  const { now, epoch, activity, planned, errors, failed } = tracker;
  const time = (at: number) => new Date(epoch + at).toISOString();
  const isWaiting = activity.kind === "waiting";
  const tables = [...tracker.progress.values()].map((table) =>
    isWaiting ? { ...table.show(), rates: NO_RATES } : table.show(),
  );
  const total = totalOf(tables);
  const active = [...tracker.active.values()];
  const lag = tracker.lag.show(tables);
  const picture = tracker.picture.show(
    active.map(({ unit }) => unit),
    [...failed.values()],
  );
  const within = planned?.within;
  return {
    at: time(now()),
    startedAt: time(tracker.startedAt),
    phase: activity.kind,
    ...(planned && { chainId: planned.chainId }),
    ...(planned?.node && { node: planned.node }),
    ...(within && {
      history: { fromBlock: within.fromBlock, toBlock: within.toBlock, segments: within.ends.length },
    }),
    nodes: tracker.nodes.show(active),
    total,
    tables,
    ...(isWaiting ? {} : secondsLeft(total.missing, tracker.forecast.perSecond())),
    // While the node is unreachable, nobody knows whether it has newer blocks.
    ...(lag && !(isWaiting && lag.blocks === 0n) && { lag }),
    underWay: active.map(({ unit: { table, fromBlock, toBlock }, node, bytes, startedAt }) => ({
      ...{ table, fromBlock, toBlock, node, bytes },
      seconds: (now() - startedAt) / 1000,
    })),
    failed: failed.size,
    ...errors.show(),
    ...(isWaiting && { waiting: activity.report }),
    silentSeconds: silentSeconds(tracker, total.missing),
    unknown: [...tracker.unknown.values()],
    ...(picture && { picture }),
  };
}

function secondsLeft(missing: number, perSecond: number): Pick<SyncSnapshot, "secondsLeft"> {
  return missing === 0 ? { secondsLeft: 0 } : perSecond > 0 ? { secondsLeft: missing / perSecond } : {};
}

/** Returns for how many seconds a due event has been missing. */
function silentSeconds({ now, activity, active, lastEvent }: Tracker, missing: number): number {
  const hasWork = activity.kind !== "idle" && !(activity.kind === "syncing" && active.size === 0 && missing === 0);
  const isDue = hasWork || lastEvent.nextAt !== undefined;
  return isDue ? Math.max(0, now() - (lastEvent.nextAt ?? lastEvent.at)) / 1000 : 0;
}

function keyOf({ table, fromBlock }: Unit): string {
  return `${table} ${fromBlock}`;
}
