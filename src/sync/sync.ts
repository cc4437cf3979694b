import { Code } from "../base/errors/code.js";
import { CanceledError, SinkError } from "../base/errors/index.js";
import { snapshot } from "../base/input/snapshot.js";
import { linkedController } from "../base/signal/abort.js";
import { endTogether, throwIfAborted, wait } from "../base/signal/wait.js";
import type { TableName } from "../data/schema/table-names.js";
import { type RetryContext, retryWhileUnavailable } from "./availability.js";
import type { MergedHistory } from "./node-history.js";
import { firstAskedBlock, type PlannerHistory, runPlanner, type WorkSource } from "./planner.js";
import { type Sink, withSink } from "./sink.js";
import { createReporter } from "./sync-events.js";
import {
  type FailedUnit,
  type ParsedSyncOptions,
  parseClients,
  parseSyncOptions,
  type SyncClient,
  type SyncOptions,
  type SyncSummary,
} from "./sync-options.js";
import type { MissingSegment, Unit } from "./unit.js";
import { createLoader, isUnitUnavailable, type UnitOutcome } from "./unit-loader.js";

/** Missing segments of each table that one comparison lists, besides those that have failed. */
const SEGMENTS_PER_COMPARISON = 500;
/** How many units may fail. Beyond that, the cause is not the units. */
const MAX_FAILED_UNITS = 1000;
/** The first and the longest wait while other syncs load everything that is missing, in milliseconds. */
const [FIRST_WAIT_MS, MAX_WAIT_MS] = [250, 10_000];

/**
 * Loads the tables of a node's history into a sink, each unit exactly once, and continues with new segments if asked to.
 * It may be stopped at any time; the next call continues with what is missing. Several syncs may fill one sink.
 *
 * A unit that fails after all retries is listed in the summary, and the others are loaded. If the histories of the sink
 * and the node diverge, nothing is changed.
 *
 * Some of several nodes may be unreachable or have only part of the history. Each node gets requests only for units that it has
 * listed and on which the others agree. An unreachable node is retried after `pollMs`. The sync waits for units that no node has.
 *
 * @param clients the node, or several nodes of one network, which share the load
 * @param options the sink, which is opened, and closed at the end in any case; the tables, the range, and limits
 * @returns what was done. With `follow`, the sync continues until it throws
 * @throws `DivergenceError` if the histories diverge, or the node's history changes while it is followed
 * @throws `RequestError` if an option is wrong, or the sink holds another chain
 * @throws `SinkError` if the sink cannot be used; errors of the node after retries for `retryForMs`
 * @throws `CanceledError` if the signal was aborted: in-flight units are canceled and rolled back
 *
 * @example
 * const { units, rows, failed } = await syncHistory(client, { sink, tables: ["trades", "orders"] });
 */
export async function syncHistory(
  clients: SyncClient | readonly SyncClient[],
  options: SyncOptions,
): Promise<SyncSummary> {
  clients = snapshot(clients);
  options = snapshot(options);
  return withSink(options?.sink, async () => {
    const parsed = parseSyncOptions(options);
    const nodes = parseClients(clients);
    const controller = linkedController(parsed.signal);
    const results: LocalResults = { units: 0, rows: 0n, bytes: 0n, failed: new Map() };
    const report = createReporter(parsed.hooks);
    const retryContext = { retryForMs: parsed.retryForMs, report, signal: controller.signal };
    const local: LocalOptions = {
      clients: nodes,
      sink: options.sink,
      options: parsed,
      retryContext,
      controller,
      results,
    };
    try {
      const planned = await runPlanner({ ...parsed, clients: nodes, sink: options.sink, retryContext }, (history) =>
        openLocalWork(local, history),
      );
      const { failed, ...totals } = results;
      return { chainId: "", tables: [], gaps: [], ...planned, ...totals, failed: [...failed.values()] };
    } catch (reason) {
      throw parsed.signal?.aborted === true ? new CanceledError({ cause: parsed.signal.reason }) : reason;
    } finally {
      controller.abort(); // Removes the listener from the caller's signal.
    }
  });
}

/** The totals of this sync so far, and the failed units by their keys. */
interface LocalResults {
  units: number;
  rows: bigint;
  bytes: bigint;
  readonly failed: Map<string, FailedUnit>;
}

interface LocalOptions {
  readonly clients: readonly SyncClient[];
  readonly sink: Sink;
  readonly options: ParsedSyncOptions;
  readonly retryContext: RetryContext;
  /** Cancels all units once one of them stops the sync. */
  readonly controller: AbortController;
  readonly results: LocalResults;
}

/** Opens the sink, and returns a work source whose units this process loads as soon as it accepts them. */
async function openLocalWork(local: LocalOptions, history: PlannerHistory): Promise<WorkSource> {
  const { sink, options, retryContext, results } = local;
  const { tables, pollMs } = options;
  const { report, signal } = retryContext;
  const { failed } = results;
  const idle = createIdleWait(sink.name, retryContext);
  await retryWhileUnavailable(
    () =>
      sink.open({
        chainId: history.current.chainId,
        tables,
        fromBlock: firstAskedBlock(history.current, options.range),
        unknownColumns: options.unknownColumns,
        onUnknown: (unknown) => report({ kind: "unknown", unknown }),
        onLost: idle.onLost,
        signal,
      }),
    retryContext,
  );
  const load = createLocalLoader(local, history);
  let waitMs = FIRST_WAIT_MS;

  return {
    comparisonLimit: SEGMENTS_PER_COMPARISON * tables.length,
    async inspect() {
      return { pending: 0, known: failed.size, capacity: Number.POSITIVE_INFINITY, hasSegment: segmentsOf(failed) };
    },
    async accept(units) {
      const loaded = results.units;
      await load(units);
      if (results.units > loaded) {
        waitMs = FIRST_WAIT_MS;
      } else if (units.some((unit) => !failed.has(keyOf(unit)))) {
        await wait(waitMs, signal); // Another sync is loading the rest.
        waitMs = Math.min(waitMs * 2, MAX_WAIT_MS);
      }
    },
    async waitForProgress() {
      // All accepted units are finished.
    },
    waitWhileIdle: () => idle.wait(pollMs),
    onHistoryRead: () => failed.clear(),
  };
}

/** Returns a function that loads units, several at a time, and adds their results. */
function createLocalLoader(
  { clients, sink, options, retryContext, controller, results }: LocalOptions,
  history: PlannerHistory,
): (units: readonly Unit[]) => Promise<void> {
  const { signal } = retryContext;
  const replace = options.replaceFrom !== undefined;
  const has: MergedHistory["has"] = (client, unit) => history.current.has(client, unit);
  const loadUnit = createLoader({ ...options, sink, clients, has, replace, signal });

  async function load(unit: Unit): Promise<UnitOutcome> {
    if (history.current.unreachable.length > 0 && history.isDue()) {
      await history.refresh(); // An unreachable node may be back, and have units that are waited for.
    }
    return loadUnit(unit);
  }

  function addOutcome(unit: Unit, outcome: UnitOutcome): void {
    if (outcome.outcome === "loaded") {
      results.units += 1;
      results.rows += outcome.entry.rows;
      results.bytes += outcome.entry.bytes;
    } else if (outcome.outcome === "failed" && !isUnitUnavailable(outcome.error)) {
      results.failed.set(keyOf(unit), { unit, error: outcome.error });
      if (results.failed.size > MAX_FAILED_UNITS) {
        throw outcome.error;
      }
    }
  }

  // Several at a time, in order.
  return async (units) => {
    const remaining = units.values();
    const runWorker = async () => {
      // The workers share one iterator, so that each unit is taken once.
      for (const unit of remaining) {
        throwIfAborted(signal);
        addOutcome(unit, await load(unit));
      }
    };
    const workers = Array.from({ length: Math.min(options.parallel, units.length) }, runWorker);
    await endTogether(workers, () => controller.abort());
  };
}

/** Waits for the next reading of the history. The loss of the sink's connection ends the wait: it may be another sink now. */
function createIdleWait(sinkName: string, { report, signal }: RetryContext) {
  let wake: (() => void) | undefined;
  return {
    onLost(): void {
      if (wake !== undefined) {
        report({ kind: "waiting", error: lostError(sinkName), againMs: 0 });
        wake();
      }
    },
    async wait(ms: number): Promise<void> {
      report({ kind: "idle", againMs: ms });
      await wait(ms, signal, (end) => {
        wake = end;
      });
      wake = undefined;
    },
  };
}

/** Returns a function that reports whether a segment belongs to a unit that has failed. */
function segmentsOf(failed: ReadonlyMap<string, FailedUnit>): (missing: MissingSegment) => boolean {
  const byTable = new Map<TableName, Unit[]>();
  for (const { unit } of failed.values()) {
    byTable.set(unit.table, [...(byTable.get(unit.table) ?? []), unit]);
  }
  return ({ table, segment: { fromBlock, toBlock } }) =>
    (byTable.get(table) ?? []).some((unit) => unit.fromBlock <= fromBlock && toBlock <= unit.toBlock);
}

function lostError(name: string): SinkError {
  return new SinkError(`the connection to ${name} was lost`, {
    code: Code.Unavailable,
    advice: "Once it is reachable, its ledger is compared with the node's history again.",
  });
}

function keyOf({ table, fromBlock, segmentId }: Unit): string {
  return `${table} ${fromBlock} ${segmentId}`;
}
