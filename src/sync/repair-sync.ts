import { assertKnownKeys, parseSignal } from "../base/input/assert.js";
import { snapshot } from "../base/input/snapshot.js";
import { throwIfAborted } from "../base/signal/wait.js";
import { assertSameChain } from "./divergence.js";
import { readHistory } from "./node-history.js";
import { type Sink, withSink } from "./sink.js";
import { createReporter, type SyncHooks } from "./sync-events.js";
import { type FailedUnit, parseClients, type SyncClient, type SyncSummary } from "./sync-options.js";
import type { LedgerEntry } from "./unit.js";
import { createLoader, unitUnavailable } from "./unit-loader.js";

/** Attempts at a unit, and how long an unreachable node or sink is retried, in milliseconds. */
const [ATTEMPTS, RETRY_FOR_MS] = [5, 300_000];

/** Options of a repair. */
export interface RepairOptions {
  /** Where the units are. It is opened, and closed at the end. */
  readonly sink: Sink;
  /** The units to load again, for example the `entry` of each unit that `verifySync` has listed. */
  readonly units: readonly LedgerEntry[];
  readonly signal?: AbortSignal | undefined;
  readonly hooks?: SyncHooks | undefined;
}

/** The result of a repair. */
export interface Repaired extends Pick<SyncSummary, "units" | "rows"> {
  /**
   * Units that were left unchanged because no node has them, or that were removed and could not be loaded: the next
   * sync fetches those.
   */
  readonly failed: readonly FailedUnit[];
}

/**
 * Loads units again: each is removed with its entry, and then fetched from a node. A unit whose segment no node lists
 * now is left unchanged. If the repair ends between the two steps, the unit is missing, and the next sync fetches it.
 *
 * @param clients the node, or several nodes of one network
 * @param options the sink and its units
 * @returns what was loaded
 * @throws `RequestError` if an option is wrong, or the sink holds another chain; errors of node and sink if they
 *   cannot be used; `CanceledError`
 *
 * @example
 * const { listed } = await verifySync(duckdbSink("history.duckdb"), { clients: client, deep: true });
 * await repairSync(client, { sink: duckdbSink("history.duckdb"), units: listed.map(({ entry }) => entry) });
 */
export function repairSync(clients: SyncClient | readonly SyncClient[], options: RepairOptions): Promise<Repaired> {
  clients = snapshot(clients);
  options = snapshot(options);
  const sink = options?.sink;
  return withSink(sink, async () => {
    assertKnownKeys("options", options, { sink: true, units: true, signal: true, hooks: true });
    const signal = parseSignal(options.signal);
    const nodes = parseClients(clients);
    const history = await readHistory(nodes, signal);
    const report = createReporter(options.hooks);
    const tables = [...new Set(options.units.map(({ table }) => table))];
    const [first] = options.units;
    assertSameChain(sink.name, first?.chainId, history.chainId);
    await sink.open({
      ...{ chainId: history.chainId, tables, unknownColumns: "add", signal },
      onUnknown: (unknown) => report({ kind: "unknown", unknown }),
    });
    const load = createLoader({
      ...{ sink, clients: nodes, replace: false, attempts: ATTEMPTS, retryForMs: RETRY_FOR_MS, signal },
      has: history.has,
      hooks: options.hooks,
    });
    const failed: FailedUnit[] = [];
    let [units, rows] = [0, 0n];
    for (const entry of options.units) {
      throwIfAborted(signal);
      const { chainId, table, fromBlock, toBlock, segmentId, previousSegmentId, schemaVersion } = entry;
      const unit = { chainId, table, fromBlock, toBlock, segmentId, previousSegmentId, schemaVersion };
      if (!history.isAvailable(unit)) {
        failed.push({ unit, error: unitUnavailable(unit, history.availablePart(unit)) });
        continue;
      }
      await sink.remove(entry);
      const outcome = await load(unit);
      if (outcome.outcome === "loaded") {
        [units, rows] = [units + 1, rows + outcome.entry.rows];
      } else if (outcome.outcome === "failed") {
        failed.push({ unit, error: outcome.error });
      }
    }
    return { units, rows, failed };
  });
}
