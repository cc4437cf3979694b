import { Code } from "@connectrpc/connect";
import { CanceledError, SinkError } from "../errors/index.js";
import { monotonicMs } from "../runtime/index.js";
import { followingController } from "../signal/follow.js";
import { wait } from "../signal/wait.js";
import type { AgreedHistory } from "./agree.js";
import { type CheckedOptions, checkSyncOptions, clientsOf } from "./check-options.js";
import { createHolderWait } from "./holder-wait.js";
import { createLoader, isNotHeld, type UnitOutcome } from "./load-unit.js";
import { readHistory } from "./node-history.js";
import type { FailedUnit, SyncClient, SyncOptions, SyncSummary } from "./options.js";
import { partingError } from "./parting.js";
import { patiently } from "./patiently.js";
import type { Sink, SinkOpening, Survey } from "./sink.js";
import { createSurveyor, withHeld } from "./surveyor.js";
import { teller, tellNodes } from "./tell.js";
import type { NodeHistory, Unit } from "./unit.js";
import { unitsOf } from "./units.js";
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
  const { tables, range, follow, pollMs, parallel, segmentsPerExport, replaceFrom, hooks } = options;
  const { signal } = ending;
  const tell = teller(hooks);
  const patience = { patienceMs: options.patienceMs, tell, signal };
  const failed = new Map<string, FailedUnit>();
  const done = { units: 0, rows: 0n, bytes: 0n };
  let pauseMs = FIRST_PAUSE_MS;

  const read = (known?: NodeHistory) => patiently(() => readHistory(clients, signal, known), patience);
  let look = await read();
  let readAt = monotonicMs();
  tellNodes(look, tell);
  async function lookAgain(): Promise<void> {
    readAt = monotonicMs();
    look = await read(look);
    tellNodes(look, tell);
  }

  const replace = replaceFrom !== undefined;
  const has: AgreedHistory["has"] = (client, unit) => look.has(client, unit);
  const loadOne = createLoader({ ...options, sink, clients, has, replace, signal });
  /** Loads a unit, once nodes that were away are asked again where that is due. */
  async function load(unit: Unit): Promise<UnitOutcome> {
    if (look.away.length > 0 && monotonicMs() - readAt >= pollMs) {
      await lookAgain();
    }
    return loadOne(unit);
  }

  const compare = createSurveyor(sink);
  async function survey(): Promise<Survey> {
    const limit = SURVEY_SEGMENTS * tables.length + failed.size * segmentsPerExport;
    const question = { history: look, tables, range, limit, ...(replaceFrom !== undefined && { replaceFrom }) };
    const found = await patiently(() => compare(question), patience);
    if (found.parting !== undefined) {
      throw partingError(sink.name, found.parting);
    }
    return patiently(() => withHeld(sink, question, found), patience);
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

  while (look.chainId === "") {
    if (!follow) {
      return { chainId: "", tables: [], ...done, failed: [] };
    }
    tell({ case: "idle", againMs: pollMs });
    await wait(pollMs, signal);
    await lookAgain();
  }
  let wake: (() => void) | undefined;
  const opening: SinkOpening = {
    chainId: look.chainId,
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
    const found = await survey();
    const { chainId, segments, isHeld } = look;
    tell({ case: "planned", history: { chainId, segments }, tables: found.tables });
    // A node that is away may have what lies behind the others' last block.
    const removed =
      look.away.length === 0 && (await patiently(() => removeForeign(sink, found, look, options), patience));
    const missing = unitsOf(chainId, found.missing, segmentsPerExport, isHeld).filter(
      (unit) => !failed.has(keyOf(unit)),
    );
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
      if (follow && monotonicMs() - readAt >= pollMs) {
        await lookAgain();
        failed.clear();
      }
    } else if (removed) {
      // What is there has changed.
    } else if (unheld !== undefined) {
      await holders.wait(unheld, look.away);
      await lookAgain();
    } else if (follow) {
      tell({ case: "idle", againMs: pollMs });
      await wait(pollMs, signal, (end) => {
        wake = end;
      });
      wake = undefined;
      await lookAgain();
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

/**
 * Remove foreign units that no unit of the node's takes the place of.
 *
 * @param sink the sink
 * @param survey what was found foreign
 * @param history the node's
 * @param options the range, outside of which nothing is removed
 * @returns whether there were any
 */
export async function removeForeign(
  sink: Sink,
  { foreign }: Survey,
  { segments }: NodeHistory,
  { range }: Pick<CheckedOptions, "range">,
): Promise<boolean> {
  const [first, last] = [segments[0], segments.at(-1)];
  let removed = false;
  for (const entry of foreign) {
    const within = range.fromBlock <= entry.fromBlock && entry.toBlock <= range.toBlock;
    if (within && first && last && (entry.toBlock < first.fromBlock || entry.fromBlock > last.toBlock)) {
      await sink.remove(entry);
      removed = true;
    }
  }
  return removed;
}

function keyOf({ table, fromBlock, segmentId }: Unit): string {
  return `${table} ${fromBlock} ${segmentId}`;
}
