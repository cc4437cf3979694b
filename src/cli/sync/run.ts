import { CanceledError, RequestError } from "../../errors/index.js";
import type { BlockRange } from "../../history/segments.js";
import { monotonicMs } from "../../runtime/index.js";
import { checkSyncOptions } from "../../sync/check-options.js";
import type { FailedUnit, SyncClient, SyncOptions, SyncSummary } from "../../sync/options.js";
import { queueSync, retryFailed } from "../../sync/queue/index.js";
import type { PostgresSink } from "../../sync/sinks/postgres/postgres-sink.js";
import { syncHistory } from "../../sync/sync.js";
import { keepCovered } from "../../sync/watch/keep-covered.js";
import type { SyncSnapshot } from "../../sync/watch/snapshot.js";
import { createSyncState } from "../../sync/watch/state.js";
import { type CommandContext, isTerminated, json, printable, Reported, size } from "../output.js";
import { openClients, type SyncClientOptions } from "./clients.js";
import { summaryObject } from "./events.js";
import { grouped, span } from "./figures.js";
import { type HowOptions, howOf, type LimitOptions, type WatchCommandOptions } from "./options.js";
import { createReporter, type Reporter } from "./reporter.js";
import { postgresOf, readTarget, type SinkChoices, sinkOf, type Target, type TargetOptions } from "./target.js";
import { countsOf, watching } from "./watching.js";

/** The values of the options of `tradewire sync`. */
export interface SyncCommandOptions
  extends TargetOptions,
    HowOptions,
    SinkChoices,
    SyncClientOptions,
    LimitOptions,
    WatchCommandOptions {
  readonly queue?: boolean;
  readonly retryFailed?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** The most failed units that are named. */
const MAX_NAMED = 20;

/**
 * Run `tradewire sync`.
 *
 * @param options the values of its options
 * @param context the streams, and the signal that interrupts it
 * @throws {@link Reported} where units failed; errors of the sync unchanged
 */
export async function runSync(options: SyncCommandOptions, context: CommandContext): Promise<void> {
  const { signal } = context;
  const target = readTarget(options, context);
  const how = howOf(options);
  // What does not fit is refused before anything is shown.
  checkSyncOptions({ ...how, sink: sinkOf(target, options) });
  const queued = checkQueue(options, target);
  const state = createSyncState(how);
  await using watch = await watching(options, state, { signal, queue: queued && (() => countsOf(queued)) });
  const reporter = createReporter(state, options.json === true, context);
  const began = monotonicMs();
  let summary: SyncSummary;
  try {
    if (watch !== undefined) {
      reporter.notes.write(`See ${watch.url} for how it goes.\n`);
    }
    await using nodes = openClients(options, { notes: reporter.notes, environment: context.environment });
    const sync: Sync = {
      clients: nodes.clients,
      how: { ...how, signal, hooks: { onEvent: reporter.take } },
      target,
      covered: (sink) => (watch === undefined ? () => {} : keepCovered(state, sink, { signal })),
      reporter,
    };
    if (queued !== undefined && options.retryFailed === true) {
      reporter.notes.write(`${grouped(await retryFailed(queued))} units that were given up are in the queue again.\n`);
    }
    summary = await synced(sync, options);
  } catch (reason) {
    reporter.end();
    if (signal.aborted && reason instanceof CanceledError) {
      return interrupted(reason, state.snapshot().total.loaded, options, context);
    }
    throw reason;
  }
  reporter.end();
  const seconds = (monotonicMs() - began) / 1000;
  tell(summary, { seconds, name: sinkOf(target).name, beyond: beyondRange(state.snapshot()) }, options, context);
}

/** The node's blocks, where none of its segments lies within the range. */
function beyondRange({ history, node }: SyncSnapshot): BlockRange | undefined {
  return history === undefined ? node : undefined;
}

/**
 * Check that the options of a queue fit, and make the sink that it is asked by.
 *
 * @param options the values of the options
 * @param target where the tables go
 * @returns the sink; `undefined` without a queue
 * @throws {@link RequestError} where they do not fit
 */
export function checkQueue(
  { queue, retryFailed: retry, callsPerSecond, parallel }: SyncCommandOptions,
  target: Target,
): PostgresSink | undefined {
  if (queue === true) {
    if (parallel !== undefined) {
      throw new RequestError("--parallel is for those who load, and with --queue these are the workers", {
        advice: "Give it to `tradewire sync worker`.",
      });
    }
    return postgresOf(target, "--queue");
  }
  const given = retry === true ? "--retry-failed" : callsPerSecond === undefined ? undefined : "--calls-per-second";
  if (given !== undefined) {
    throw new RequestError(`${given} is for a queue`, { advice: "Give --queue too, or leave it out." });
  }
  return undefined;
}

/** What a run of the command goes by. */
interface Sync {
  readonly clients: readonly SyncClient[];
  readonly how: Omit<SyncOptions, "sink">;
  readonly target: Target;
  readonly covered: (sink: SyncOptions["sink"]) => () => void;
  readonly reporter: Reporter;
}

async function synced(sync: Sync, options: SyncCommandOptions): Promise<SyncSummary> {
  const { how, target } = sync;
  const isAfter = options.createIndexes === "after";
  const isForQueries = target.kind === "postgres" && options.indexes !== "keys";
  if (!isAfter && !isForQueries) {
    return await once(sync, how, options);
  }
  // What is there now is loaded first, also where it is then followed.
  const patience = how.follow === true ? { patienceMs: Number.POSITIVE_INFINITY } : {};
  const first = await once(sync, { ...how, follow: false, pollMs: undefined, ...patience }, options);
  if (first.chainId === "") {
    return how.follow === true ? await once(sync, how, options) : first;
  }
  if (isAfter) {
    sync.reporter.notes.write("Making the primary keys and indexes.\n");
  }
  // Opened to have them, a sink makes those that are missing.
  await using sink = postgresOf(target, "--create-indexes", { createIndexes: "with" });
  const tables = first.tables.map(({ table }) => table);
  const signal = how.signal ?? new AbortController().signal;
  await sink.open({ chainId: first.chainId, tables, unknownColumns: "add", onUnknown: () => undefined, signal });
  const made = isForQueries ? await sink.createQueryIndexes(signal) : 0;
  if (made > 0) {
    sync.reporter.notes.write(`Made ${made} indexes for usual questions; --indexes keys makes none.\n`);
  }
  return how.follow === true ? await once(sync, how, { ...options, createIndexes: "with" }) : first;
}

async function once(
  { clients, target, covered }: Sync,
  how: Omit<SyncOptions, "sink">,
  { queue, callsPerSecond, ...choices }: SyncCommandOptions,
): Promise<SyncSummary> {
  if (queue === true) {
    const { parallel: _, ...planned } = how;
    const sink = postgresOf(target, "--queue", choices);
    const leave = covered(sink);
    return await queueSync(clients, { ...planned, callsPerSecond, sink }).finally(leave);
  }
  const sink = sinkOf(target, choices);
  const leave = covered(sink);
  return await syncHistory(clients, { ...how, sink }).finally(leave);
}

/**
 * Tell that a sync was interrupted. One that follows ends in no other way: for it, SIGTERM is a success, as service
 * managers expect.
 */
function interrupted(
  reason: CanceledError,
  loaded: { readonly units: bigint; readonly rows: bigint },
  { follow, json: asJson }: SyncCommandOptions,
  { out, notes, signal }: CommandContext,
): void {
  if (asJson === true) {
    out.write(json({ event: "interrupted", units: loaded.units, rows: loaded.rows }));
  } else {
    const did = `${grouped(loaded.units)} units were loaded; those under way were given up and left nothing.`;
    notes.write(`Interrupted: ${did}\nRun the same command again to go on.\n`);
  }
  if (follow !== true || !isTerminated(signal)) {
    throw reason;
  }
}

function tell(
  summary: SyncSummary,
  {
    seconds,
    name,
    beyond,
  }: { readonly seconds: number; readonly name: string; readonly beyond: BlockRange | undefined },
  { json: asJson }: SyncCommandOptions,
  { out, err }: CommandContext,
): void {
  const { units, rows, bytes, tables, failed } = summary;
  if (asJson === true) {
    out.write(json(summaryObject(summary)));
  } else {
    const did = `${grouped(rows)} rows of ${grouped(units)} units, ${size(Number(bytes))} of CSV, in ${span(seconds)}`;
    const all = grouped(tables.reduce((sum, table) => sum + table.rows, 0n));
    out.write(`Loaded ${did}. The ledger of ${printable(name)} counts ${all} rows.\n`);
  }
  if (beyond !== undefined) {
    if (asJson !== true) {
      const { fromBlock, toBlock } = beyond;
      err.write(
        `tradewire: no segment of the node lies within --from-block and --to-block: its history has blocks ${fromBlock} to ${toBlock}. Nothing was loaded.\n`,
      );
    }
    throw new Reported();
  }
  if (failed.length > 0) {
    if (asJson !== true) {
      err.write(failedText(failed));
    }
    throw new Reported();
  }
}

function failedText(failed: readonly FailedUnit[]): string {
  const named = failed.slice(0, MAX_NAMED).map(({ unit: { table, fromBlock, toBlock }, error }) => {
    return `  ${table} of blocks ${fromBlock} to ${toBlock}: ${printable(error.summary)}\n`;
  });
  const further = failed.length > MAX_NAMED ? `  and ${failed.length - MAX_NAMED} more\n` : "";
  const head = `tradewire: ${failed.length} ${failed.length === 1 ? "unit" : "units"} failed, and left nothing\n`;
  return `${head}Run the same command again: it fetches what is missing.\n${named.join("")}${further}`;
}
