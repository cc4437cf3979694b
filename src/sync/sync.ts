import { Code } from "@connectrpc/connect";
import { CanceledError, SinkError } from "../errors/index.js";
import { followingController } from "../signal/follow.js";
import { wait } from "../signal/wait.js";
import type { AgreedHistory } from "./agree.js";
import { type CheckedOptions, checkSyncOptions, clientsOf } from "./check-options.js";
import { type Comparison, startComparison } from "./comparison.js";
import { createHolderWait } from "./holder-wait.js";
import { createLoader, isNotHeld, type UnitOutcome } from "./load-unit.js";
import type { FailedUnit, SyncClient, SyncOptions, SyncSummary } from "./options.js";
import { type Patience, patiently } from "./patiently.js";
import type { Sink, SinkOpening } from "./sink.js";
import { teller } from "./tell.js";
import type { Unit } from "./unit.js";
import { withSink } from "./with-sink.js";
import { work } from "./work.js";

/** How many missing segments of each table are listed at once; as many more as were given up come on top. */
const SURVEY_SEGMENTS = 500;
/** How many units may fail. Beyond that, it is not the units that are wrong. */
const MAX_FAILED_UNITS = 1000;
/** The first and the longest pause while other syncs load all that is missing, in milliseconds. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [250, 10_000];

/**
 * Bring the tables of a node's history into a sink, each unit exactly once, and go on with what is new where that is
 * wanted. It may be stopped at any time, and be called again: it goes on with what is missing. Several may fill one sink.
 *
 * A unit that fails, even when it is tried again, is given up and told of in the summary; the others go on. Where the
 * histories of sink and node part, nothing is changed.
 *
 * Of several nodes, some may be away, or have a part of the history: each is asked for what it has listed and the others
 * agree on. One that was away is asked again after `pollMs`. What no node has any more is waited for.
 *
 * @param clients the node, or several nodes of one network, which share the load
 * @param options the sink, which is opened, and closed at the end whatever happens; the tables, the range, and how
 * @returns what was done. With `follow` it goes on until it throws
 * @throws `PartingError` where the histories part, or the node's becomes another one while it is followed
 * @throws `RequestError` where an option is wrong, or the sink holds another chain
 * @throws `SinkError` where the sink cannot be used; errors of the node where it cannot be asked for too long
 * @throws `CanceledError` where the signal was aborted: units under way are given up, and leave nothing
 *
 * @example
 * const { units, rows, failed } = await syncHistory(client, { sink, tables: ["trades", "orders"] });
 */
export async function syncHistory(
  clients: SyncClient | readonly SyncClient[],
  options: SyncOptions,
): Promise<SyncSummary> {
  return withSink(options?.sink, async () => {
    const checked = checkSyncOptions(options);
    const ending = followingController(checked.signal);
    try {
      return await run(clientsOf(clients), options.sink, checked, ending);
    } catch (reason) {
      throw checked.signal?.aborted === true ? new CanceledError({ cause: checked.signal.reason }) : reason;
    } finally {
      ending.abort(); // Leaves nothing at the caller's signal.
    }
  });
}

async function run(
  clients: readonly SyncClient[],
  sink: Sink,
  options: CheckedOptions,
  ending: AbortController,
): Promise<SyncSummary> {
  const tell = teller(options.hooks);
  const patience = { patienceMs: options.patienceMs, tell, signal: ending.signal };
  const comparison = await startComparison({ ...options, clients, sink, patience });
  if (comparison === undefined) {
    return { chainId: "", tables: [], units: 0, rows: 0n, bytes: 0n, failed: [] };
  }
  return await loadMissing(comparison, clients, sink, options, patience, ending);
}

async function loadMissing(
  comparison: Comparison,
  clients: readonly SyncClient[],
  sink: Sink,
  options: CheckedOptions,
  patience: Patience,
  ending: AbortController,
): Promise<SyncSummary> {
  const { tables, follow, pollMs, parallel, segmentsPerExport, replaceFrom } = options;
  const { tell, signal } = patience;
  const failed = new Map<string, FailedUnit>();
  const done = { units: 0, rows: 0n, bytes: 0n };
  let pauseMs = FIRST_PAUSE_MS;

  const replace = replaceFrom !== undefined;
  const has: AgreedHistory["has"] = (client, unit) => comparison.history.has(client, unit);
  const loadOne = createLoader({ ...options, sink, clients, has, replace, signal });
  /** Loads a unit, once nodes that were away are asked again where that is due. */
  async function load(unit: Unit): Promise<UnitOutcome> {
    if (comparison.history.away.length > 0 && comparison.isDue()) {
      await comparison.read();
    }
    return loadOne(unit);
  }

  /** Loads what was found missing, and tells whether any of it was loaded. */
  async function loadAll(units: readonly Unit[]): Promise<boolean> {
    const before = done.units;
    const onOutcome = (unit: Unit, outcome: UnitOutcome) => {
      if (outcome.outcome === "loaded") {
        done.units += 1;
        done.rows += outcome.entry.rows;
        done.bytes += outcome.entry.bytes;
      } else if (outcome.outcome === "failed" && !isNotHeld(outcome.error)) {
        failed.set(keyOf(unit), { unit, error: outcome.error });
        if (failed.size > MAX_FAILED_UNITS) {
          throw outcome.error;
        }
      }
    };
    await work(units, parallel, load, onOutcome, () => ending.abort());
    return done.units > before;
  }

  let wake: (() => void) | undefined;
  const opening: SinkOpening = {
    chainId: comparison.history.chainId,
    tables,
    unknownColumns: options.unknownColumns,
    onUnknown: (unknown) => tell({ case: "unknown", unknown }),
    onLost() {
      if (wake !== undefined) {
        tell({ case: "waiting", error: lostError(sink.name), againMs: 0 });
        wake();
      }
    },
    signal,
  };
  await patiently(() => sink.open(opening), patience);
  const holders = createHolderWait(patience);

  for (;;) {
    const found = await comparison.compare(SURVEY_SEGMENTS * tables.length + failed.size * segmentsPerExport);
    const { chainId, isHeld, away } = comparison.history;
    const removed = await comparison.removeForeign(found);
    const missing = comparison.unitsOf(found.missing).filter((unit) => !failed.has(keyOf(unit)));
    const units = missing.filter(isHeld);
    const [unheld] = missing;
    if (units.length > 0) {
      holders.reached();
      if (await loadAll(units)) {
        pauseMs = FIRST_PAUSE_MS;
      } else if (units.some((unit) => !failed.has(keyOf(unit)))) {
        await wait(pauseMs, signal); // Another sync is loading what is left.
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
      if (follow && comparison.isDue()) {
        await comparison.read();
        failed.clear();
      }
    } else if (removed) {
      // What is there has changed.
    } else if (unheld !== undefined) {
      await holders.wait(unheld, away);
      await comparison.read();
    } else if (follow) {
      tell({ case: "idle", againMs: pollMs });
      await wait(pollMs, signal, (end) => {
        wake = end;
      });
      wake = undefined;
      await comparison.read();
      failed.clear();
    } else {
      return { chainId, tables: found.tables, ...done, failed: [...failed.values()] };
    }
  }
}

function lostError(name: string): SinkError {
  return new SinkError(`the connection to ${name} was lost`, {
    code: Code.Unavailable,
    advice: "All of its ledger is compared with the node's history again, once it can be reached.",
  });
}

function keyOf({ table, fromBlock, segmentId }: Unit): string {
  return `${table} ${fromBlock} ${segmentId}`;
}
