import { monotonicMs } from "../base/runtime/index.js";
import { wait } from "../base/signal/wait.js";
import type { BlockRange } from "../data/history/segments.js";
import type { TableName } from "../data/schema/table-names.js";
import { createAvailability, delayMsAfterFailure, type RetryContext, retryWhileUnavailable } from "./availability.js";
import { askedTables, createIncrementalComparison, includeAvailable, includeEarlier } from "./coverage.js";
import { divergenceError, historyMarkedError } from "./divergence.js";
import { type MergedHistory, readHistory, reportNodes } from "./node-history.js";
import type { CoverageComparison, HistoryMark, Sink, TableRange, TableSummary } from "./sink.js";
import type { ParsedSyncOptions, SyncClient } from "./sync-options.js";
import { type MissingSegment, type NodeHistory, type Segment, segmentEndingAt, type Unit, unitsOf } from "./unit.js";
import { unitUnavailable } from "./unit-loader.js";
import { openViews } from "./views/store-listed.js";

/** The nodes, the sink, and the part of the history that a plan is made for. */
export interface PlannerOptions
  extends Pick<ParsedSyncOptions, "tables" | "range" | "segmentsPerExport" | "replaceFrom" | "follow" | "pollMs"> {
  readonly clients: readonly SyncClient[];
  /** The work source opens it before the first comparison. */
  readonly sink: Sink;
  readonly retryContext: RetryContext;
}

/** The latest history of the nodes. */
export interface PlannerHistory {
  readonly current: MergedHistory;
  /** Returns whether `pollMs` have passed since the last reading. */
  isDue(): boolean;
  /** Returns the milliseconds until the next reading is due. */
  dueInMs(): number;
  /**
   * Reads the history again, and reports unreachable nodes.
   *
   * @throws {@link DivergenceError} if it is another history; errors of the nodes once `retryForMs` have passed
   */
  refresh(): Promise<void>;
}

interface WorkState {
  /** Units that were accepted and are neither loaded nor failed for good. */
  readonly pending: number;
  /** Units that the next comparison still lists as missing, although they need no planning: pending or failed ones. */
  readonly known: number;
  /** How many more units the source accepts now. */
  readonly capacity: number;
  /** Returns whether a missing segment belongs to a known unit. */
  hasSegment(missing: MissingSegment): boolean;
}

/** Where planned units go: to a loader in this process, or into a queue that workers take them from. */
export interface WorkSource {
  /** Number of missing segments that one comparison lists, besides those of known units. */
  readonly comparisonLimit: number;
  /** Returns the present state. Called before each step of the planner. */
  inspect(): Promise<WorkState>;
  /** Called with the result of each comparison. */
  onCompared?(found: CoverageComparison): Promise<void>;
  /** Called before a divergence is thrown. */
  onDivergence?(): Promise<void>;
  /** Called after the history was read again while following: failed units may be planned again. */
  onHistoryRead?(): void;
  /** Accepts units, no more than there is capacity for, in the order in which they are to be loaded. */
  accept(units: readonly Unit[]): Promise<void>;
  /** Waits until the state may have changed. */
  waitForProgress(): Promise<void>;
  /** Reports that nothing is missing, and waits until the history should be read again. */
  waitWhileIdle(): Promise<void>;
}

/** The chain that was planned, and what the sink has of it when nothing is left to do. */
export interface PlanResult {
  readonly chainId: string;
  readonly tables: readonly TableSummary[];
  /** Blocks that the sink lacks and that no node has. */
  readonly gaps: readonly TableRange[];
}

type Plan =
  /** Units still to be accepted. `isFullyListed` is whether the comparison listed all missing segments. */
  | { readonly kind: "pending"; readonly backlog: readonly Unit[]; readonly isFullyListed: boolean }
  /** Units are missing, but no node has them now. */
  | { readonly kind: "unavailable"; readonly unit: Unit }
  | { readonly kind: "complete"; readonly found: CoverageComparison };

/** The plan before the first comparison, and after each new history. */
const UNPLANNED: Plan = { kind: "pending", backlog: [], isFullyListed: false };

/**
 * Compares the nodes' history with the sink repeatedly, and hands the missing units to a work source, until nothing is missing.
 * With `follow`, it continues with new segments until it throws.
 *
 * @throws {@link DivergenceError} if the histories diverge; errors of the nodes, of the sink and of the work source
 */
export async function runPlanner(
  options: PlannerOptions,
  openSource: (history: PlannerHistory) => Promise<WorkSource>,
): Promise<PlanResult | undefined> {
  const history = await readFirstHistory(options);
  if (history === undefined) {
    return undefined;
  }
  const { follow, retryContext } = options;
  const source = await openSource(history);
  await using listed = await openViews(options.clients, options.sink, options.tables, retryContext);
  listed.start();
  const compare = createComparison(options, history, source);
  const unitAvailability = createAvailability(retryContext.retryForMs);
  const gapAvailability = createAvailability(retryContext.retryForMs);

  /** Waits until the plan may have to change, and returns the plan to continue with. */
  const nextPlan = async (current: Plan): Promise<Plan> => {
    if (current.kind === "unavailable") {
      const [offline] = history.current.unreachable;
      const { report, signal } = retryContext;
      const error = offline?.error ?? unitUnavailable(current.unit);
      await wait(delayMsAfterFailure(unitAvailability, error, report), signal);
      await history.refresh();
      return UNPLANNED;
    }
    if (current.kind === "complete") {
      await source.waitWhileIdle();
    } else if (!follow || !history.isDue()) {
      await source.waitForProgress();
      return current;
    }
    await history.refresh();
    source.onHistoryRead?.();
    return current.kind === "pending" ? { ...current, isFullyListed: false } : UNPLANNED;
  };

  /** Waits for a node that does not answer, and may have blocks that the others lack. Returns whether there is one to wait for. */
  const waitForNodes = async (): Promise<boolean> => {
    const [offline] = history.current.unreachable;
    if (offline === undefined) {
      return false;
    }
    const againMs = gapAvailability.recordFailure(offline.error, true);
    if (gapAvailability.state.kind === "unreachable" && gapAvailability.state.timedOut) {
      return false;
    }
    retryContext.report({ kind: "waiting", error: offline.error, againMs });
    await wait(againMs, retryContext.signal);
    await history.refresh();
    return true;
  };

  for (let plan = UNPLANNED; ; plan = await nextPlan(plan)) {
    const state = await source.inspect();
    if (isComparisonDue(plan, state)) {
      plan = await compare(state);
    }
    if (plan.kind === "complete") {
      listed.start(); // For what is new since the beginning.
    }
    if (plan.kind === "complete" && !follow) {
      await listed.ended();
      const { tables, gaps } = plan.found;
      if (gaps.length === 0 || !(await waitForNodes())) {
        return { chainId: history.current.chainId, tables, gaps };
      }
      plan = UNPLANNED;
    }
    if (plan.kind === "pending" && plan.backlog.length > 0 && state.capacity > 0) {
      unitAvailability.recordSuccess();
      await source.accept(plan.backlog.slice(0, state.capacity));
      plan = { ...plan, backlog: plan.backlog.slice(state.capacity) };
    }
  }
}

export function firstAskedBlock({ segments }: NodeHistory, { fromBlock, toBlock }: BlockRange): bigint | undefined {
  return segments.find((segment) => fromBlock <= segment.fromBlock && segment.toBlock <= toBlock)?.fromBlock;
}

/**
 * Returns whether the next comparison is due: once the work source has taken the backlog or, if the backlog contained
 * all missing units, once it has finished them.
 */
function isComparisonDue(plan: Plan, { pending, capacity }: WorkState): boolean {
  return plan.kind === "pending" && plan.backlog.length === 0 && (plan.isFullyListed ? pending === 0 : capacity > 0);
}

/** Reads the history until the nodes name their chain; returns `undefined` if they do not and are not followed. */
async function readFirstHistory(options: PlannerOptions): Promise<PlannerHistory | undefined> {
  const { clients, follow, pollMs, retryContext } = options;
  const { report, signal } = retryContext;
  let readAt = monotonicMs();

  async function read(known?: NodeHistory): Promise<MergedHistory> {
    readAt = monotonicMs();
    const found = await retryWhileUnavailable(() => readHistory(clients, signal, known), retryContext);
    reportNodes(found, report);
    return found;
  }

  let current = await read();
  while (current.chainId === "") {
    if (!follow) {
      return undefined;
    }
    report({ kind: "idle", againMs: pollMs });
    await wait(pollMs, signal);
    current = await read(current);
  }
  return {
    get current() {
      return current;
    },
    isDue: () => monotonicMs() - readAt >= pollMs,
    dueInMs: () => Math.max(0, pollMs - (monotonicMs() - readAt)),
    async refresh() {
      current = await read(current);
    },
  };
}

/** Returns a function that compares the history with the sink, and makes units of the missing segments. */
function createComparison(
  options: PlannerOptions,
  history: PlannerHistory,
  source: WorkSource,
): (state: WorkState) => Promise<Plan> {
  const { sink, tables, range, replaceFrom, segmentsPerExport, retryContext } = options;
  let compareIncrementally = createIncrementalComparison(sink);
  let asked: ReadonlyMap<TableName, bigint> | undefined;

  async function compare(limit: number): Promise<CoverageComparison> {
    asked ??= await askedTables(sink);
    const query = {
      history: history.current,
      tables,
      range,
      asked,
      limit,
      ...(replaceFrom !== undefined && { replaceFrom }),
    };
    const found = await compareIncrementally(query);
    if (found.divergence !== undefined) {
      await source.onDivergence?.();
      throw divergenceError(sink.name, found.divergence);
    }
    await markHistory(sink, history.current, options);
    const available = await includeAvailable(sink, query, found);
    const whole = await includeEarlier(sink, query, available);
    if (whole !== available) {
      compareIncrementally = createIncrementalComparison(sink); // Its gaps are about to be filled.
    }
    return whole;
  }

  /** Removes units of another history that no unit of the nodes' history replaces. Returns whether there were any. */
  async function removeForeign({ foreign }: CoverageComparison): Promise<boolean> {
    const { segments, unreachable } = history.current;
    const [first, last] = [segments[0], segments.at(-1)];
    if (unreachable.length > 0 || first === undefined || last === undefined) {
      return false; // An unreachable node may have what is outside of the other nodes' blocks.
    }
    let removed = false;
    for (const entry of foreign) {
      const isWithin = range.fromBlock <= entry.fromBlock && entry.toBlock <= range.toBlock;
      if (isWithin && (entry.toBlock < first.fromBlock || entry.fromBlock > last.toBlock)) {
        await sink.remove(entry);
        removed = true;
      }
    }
    return removed;
  }

  return async (state) => {
    const limit = source.comparisonLimit + state.known * segmentsPerExport;
    const found = await retryWhileUnavailable(() => compare(limit), retryContext);
    const { chainId, segments, isAvailable } = history.current;
    retryContext.report({ kind: "planned", history: { chainId, segments }, tables: found.tables, gaps: found.gaps });
    await source.onCompared?.(found);
    const removed = await retryWhileUnavailable(() => removeForeign(found), retryContext);
    const missing = found.missing.filter((segment) => !state.hasSegment(segment));
    const units = unitsOf(chainId, missing, segmentsPerExport, isAvailable);
    const [unit] = units;
    const backlog = units.filter(isAvailable);
    if (backlog.length > 0 || removed || state.pending > 0) {
      return { kind: "pending", backlog, isFullyListed: found.missing.length < limit };
    }
    return unit === undefined ? { kind: "complete", found } : { kind: "unavailable", unit };
  };
}

/**
 * Marks in a sink the history that is loaded into it, so that of two syncs with different histories, which both found an empty sink,
 * only one loads units.
 *
 * @throws `DivergenceError` if another history is marked; nothing was changed then
 */
async function markHistory(
  sink: Pick<Sink, "name" | "markHistory">,
  { segments }: NodeHistory,
  { range, replaceFrom }: { readonly range: BlockRange; readonly replaceFrom?: bigint | undefined },
): Promise<void> {
  const loaded = segments.filter(({ toBlock }) => toBlock <= range.toBlock);
  const [first, last] = [loaded[0], loaded.at(-1)];
  if (first === undefined || last === undefined) {
    return;
  }
  await sink.markHistory?.((marks) => {
    const kept = marks.filter(({ toBlock }) => replaceFrom === undefined || toBlock < replaceFrom);
    const other = kept.find((mark) => isOfOtherHistory(mark, segments));
    if (other !== undefined) {
      throw historyMarkedError(sink.name, other, segments);
    }
    const outside = kept.filter(({ toBlock }) => toBlock < first.fromBlock || toBlock > last.toBlock);
    const next = [...outside, ...marksOf(loaded)].sort((a, b) => (a.toBlock < b.toBlock ? -1 : 1));
    const isSame = next.length === marks.length && next.every((mark) => marks.some((known) => isSameMark(mark, known)));
    return isSame ? undefined : next;
  });
}

/** Returns whether a mark lies within the blocks of a history, which has another segment there. */
function isOfOtherHistory({ toBlock, segmentId }: HistoryMark, segments: readonly Segment[]): boolean {
  const [first, last] = [segments[0], segments.at(-1)];
  const isWithin = first !== undefined && last !== undefined && first.fromBlock <= toBlock && toBlock <= last.toBlock;
  return isWithin && segmentEndingAt(segments, toBlock)?.id !== segmentId;
}

/**
 * Returns the marks of a history. A segment names the one before it, so that the last one suffices for a history that is as long. A
 * shorter one is compared with an earlier mark: these are the closer to each other, the closer they are to the end.
 */
function marksOf(segments: readonly Segment[]): HistoryMark[] {
  const marks = new Set([segments[0], segments.at(-1)]);
  for (let back = 1; back < segments.length; back *= 2) {
    marks.add(segments.at(-1 - back));
  }
  return [...marks].flatMap((segment) => (segment ? [{ toBlock: segment.toBlock, segmentId: segment.id }] : []));
}

function isSameMark(a: HistoryMark, b: HistoryMark): boolean {
  return a.toBlock === b.toBlock && a.segmentId === b.segmentId;
}
