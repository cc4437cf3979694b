import { checkSignal, requireKnown } from "../errors/check-values.js";
import { requireGoing } from "../signal/wait.js";
import { clientsOf } from "./check-options.js";
import { createLoader, notHeld } from "./load-unit.js";
import { readHistory } from "./node-history.js";
import type { FailedUnit, SyncClient, SyncHooks, SyncSummary } from "./options.js";
import { requireSameChain } from "./parting.js";
import type { Sink } from "./sink.js";
import { teller } from "./tell.js";
import type { LedgerEntry } from "./unit.js";
import { withSink } from "./with-sink.js";

/** How often a unit is tried, and how long a node or sink that cannot be reached is waited for, in milliseconds. */
const [ATTEMPTS, PATIENCE_MS] = [5, 300_000];

/** What is repaired. */
export interface RepairOptions {
  /** Where the units are. It is opened, and closed at the end. */
  readonly sink: Sink;
  /** The units to load anew, such as the `entry` of each unit that `verifySync` has listed. */
  readonly units: readonly LedgerEntry[];
  readonly signal?: AbortSignal | undefined;
  readonly hooks?: SyncHooks | undefined;
}

/** What a repair has done. */
export interface Repaired extends Pick<SyncSummary, "units" | "rows"> {
  /** Units that were left as they were, as no node has them, or that were removed and could not be loaded: a sync fetches those. */
  readonly failed: readonly FailedUnit[];
}

/**
 * Load units anew: each is removed with its entry, and fetched from a node again. A unit whose segment no node lists now
 * is left as it is. Ended between the two, a unit is missing, and the next sync fetches it.
 *
 * @param clients the node, or several nodes of one network
 * @param options the sink and its units
 * @returns what was loaded
 * @throws `RequestError` where an option is wrong, or the sink holds another chain; errors of node and sink where they
 *   cannot be used; `CanceledError`
 *
 * @example
 * const { listed } = await verifySync(duckdbSink("history.duckdb"), { clients: client, deep: true });
 * await repairSync(client, { sink: duckdbSink("history.duckdb"), units: listed.map(({ entry }) => entry) });
 */
export function repairSync(clients: SyncClient | readonly SyncClient[], options: RepairOptions): Promise<Repaired> {
  const sink = options?.sink;
  return withSink(sink, async () => {
    requireKnown("options", options, { sink: true, units: true, signal: true, hooks: true });
    const signal = checkSignal(options.signal);
    const nodes = clientsOf(clients);
    const history = await readHistory(nodes, signal);
    const tell = teller(options.hooks);
    const tables = [...new Set(options.units.map(({ table }) => table))];
    const [first] = options.units;
    requireSameChain(sink.name, first?.chainId, history.chainId);
    await sink.open({
      ...{ chainId: history.chainId, tables, unknownColumns: "add", signal },
      onUnknown: (unknown) => tell({ case: "unknown", unknown }),
    });
    const load = createLoader({
      ...{ sink, clients: nodes, replace: false, attempts: ATTEMPTS, patienceMs: PATIENCE_MS, signal },
      has: history.has,
      hooks: options.hooks,
    });
    const failed: FailedUnit[] = [];
    let [units, rows] = [0, 0n];
    for (const entry of options.units) {
      requireGoing(signal);
      const { chainId, table, fromBlock, toBlock, segmentId, previousSegmentId, schemaVersion } = entry;
      const unit = { chainId, table, fromBlock, toBlock, segmentId, previousSegmentId, schemaVersion };
      if (!history.isHeld(unit)) {
        failed.push({ unit, error: notHeld(unit, history.heldPart(unit)) });
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
