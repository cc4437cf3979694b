import { CanceledError, NodeError, TradewireError } from "../../base/errors/index.js";
import { isSinkFailure, isTransient, reactionTo } from "../../base/errors/reaction.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { linkedController } from "../../base/signal/abort.js";
import { backoffMs, wait } from "../../base/signal/wait.js";
import type { Sink } from "../sink.js";
import type { ReportEvent, SyncHooks } from "../sync-events.js";
import type { SyncClient } from "../sync-options.js";
import type { LedgerEntry, Unit } from "../unit.js";
import { createLoader, type UnitOutcome } from "../unit-loader.js";
import type { Admission, AdmissionGate } from "./admission.js";
import { claimJob, completeJob, failJob, moveClaim, releaseJob } from "./claims.js";
import { attemptedBefore, type Job, unitOfJob } from "./jobs.js";
import { endProbe, markReachable, markUnreachable, takeCallToken } from "./node-limits.js";
import type { QueueDatabase } from "./queue-database.js";
import { type CallBudget, jittered, type QueueTimings } from "./queue-options.js";
import type { UnitSources } from "./unit-sources.js";

/** The services that a worker needs to process jobs. */
export interface WorkerContext {
  readonly workerId: string;
  readonly gate: AdmissionGate;
  readonly holders: UnitSources;
  readonly delivery: JobContext;
  readonly report: ReportEvent;
  /** The jobs in flight. */
  readonly claimed: Set<string>;
  /** The totals so far. */
  readonly done: { units: number; rows: bigint; bytes: bigint; failures: number };
}

/** Claims a unit, loads it, and records the outcome of its job. */
export async function processNextJob(work: WorkerContext): Promise<boolean> {
  const { workerId, gate, delivery, report, claimed, done } = work;
  const { db, signal } = delivery;
  const place = await acquireNodeSlot(gate, signal);
  let job: Job | undefined;
  let result: JobOutcome;
  try {
    job = await claimJob(db, workerId, place.admission.node);
    if (job === undefined) {
      await releaseProbe(db, place.admission);
      return false;
    }
    claimed.add(job.id);
    result = await loadFromAnyNode(work, job, place);
  } finally {
    await place.leave();
  }
  if (result.kind === "failed") {
    done.failures += 1;
  } else if (result.kind === "done" && result.entry !== undefined) {
    done.units += 1;
    done.rows += result.entry.rows;
    done.bytes += result.entry.bytes;
  }
  try {
    await settleJob(db, { workerId, job, node: place.admission.node, result, report, signal });
  } finally {
    claimed.delete(job.id);
  }
  if (result.kind === "back" && result.stop !== undefined) {
    throw result.stop;
  }
  return result.kind !== "back" || result.unavailable !== true;
}

interface NodeSlot {
  readonly admission: Admission;
  /** Moves to another node; returns `undefined` if none is free for a while. */
  move(candidates: ReadonlySet<number>, ms: number): Promise<Admission | undefined>;
  leave(): Promise<void>;
}

async function acquireNodeSlot(gate: AdmissionGate, signal: AbortSignal): Promise<NodeSlot> {
  let admission = await gate.acquire(signal);
  let isIn = true;
  async function leave(): Promise<void> {
    if (isIn) {
      isIn = false;
      await gate.release(admission);
    }
  }
  return {
    get admission() {
      return admission;
    },
    async move(candidates, ms) {
      await leave();
      const other = await gate.acquireOneOf(candidates, ms, signal);
      [admission, isIn] = [other ?? admission, other !== undefined];
      return other;
    },
    leave,
  };
}

async function loadFromAnyNode(
  { workerId, holders, delivery }: WorkerContext,
  job: Job,
  place: NodeSlot,
): Promise<JobOutcome> {
  const { db, timings, signal } = delivery;
  const unavailable: JobOutcome = { kind: "back", ms: jittered(timings.unreachableRetryMs), unavailable: true };
  try {
    const unit = tryReadUnit(job);
    if (unit !== undefined) {
      const candidates = await holders.nodesFor(unit);
      if (!candidates.has(place.admission.index)) {
        await releaseProbe(db, place.admission);
        const other = candidates.size === 0 ? undefined : await place.move(candidates, timings.busyRetryMs);
        if (other === undefined) {
          return unavailable;
        }
        await moveClaim(db, workerId, job.id, other.node);
      }
    }
  } catch (reason) {
    if (signal.aborted || reason instanceof CanceledError) {
      return { kind: "back", ms: 0 };
    }
    const passes = reason instanceof TradewireError && reactionTo(reason).repeat;
    return passes ? unavailable : { kind: "back", ms: 0, stop: reason };
  }
  return loadJob(delivery, job, place.admission);
}

/** Returns the unit of a job; data that is not a unit fails later, when it is loaded. */
function tryReadUnit({ data }: Job): Unit | undefined {
  try {
    return unitOfJob(data).unit;
  } catch {
    return undefined;
  }
}

/** How long a worker that ends tries to release its claims. After that, they expire with its lease. */
const AT_END_MS = 5000;
/** The longest wait for an unreachable database. */
const LONGEST_MS = 5000;

/** The outcome to record. */
interface SettleOptions {
  readonly workerId: string;
  readonly job: Job;
  readonly node: string;
  readonly result: JobOutcome;
  readonly report: ReportEvent;
  readonly signal: AbortSignal;
}

/** Records the outcome of a job, and retries while the database is unreachable. */
async function settleJob(db: QueueDatabase, settling: SettleOptions): Promise<void> {
  const { signal } = settling;
  reportFailure(settling);
  let endsAt = Number.POSITIVE_INFINITY;
  for (let failures = 1; ; failures += 1) {
    try {
      return await recordOutcome(db, settling);
    } catch (reason) {
      endsAt = signal.aborted ? Math.min(endsAt, monotonicMs() + AT_END_MS) : endsAt;
      if (!isTransient(reason) || monotonicMs() > endsAt) {
        throw reason;
      }
      const ms = Math.min(backoffMs(failures), LONGEST_MS);
      // If the worker ends meanwhile, it retries at once, and then only until its deadline.
      await wait(ms, signal.aborted ? new AbortController().signal : signal).catch(() => undefined);
    }
  }
}

function recordOutcome(db: QueueDatabase, { workerId, job: { id }, node, result }: SettleOptions): Promise<void> {
  switch (result.kind) {
    case "done":
      return completeJob(db, id);
    case "back":
      return releaseJob(db, workerId, id, result.ms);
    default: {
      const { name, summary, advice, code } = result.error;
      return failJob(db, workerId, id, { name, message: summary, advice, code, node });
    }
  }
}

function reportFailure({ job: { data, retryCount, retryLimit, retryDelay }, result, report }: SettleOptions): void {
  if (result.kind === "failed" && result.unit !== undefined) {
    // pg-boss waits at least this long, and at most twice as long.
    const againMs = Math.round(retryDelay * 2 ** Math.min(16, retryCount + 1) * 500);
    const { unit, error } = result;
    report({
      kind: "failed",
      unit,
      error,
      attempt: attemptedBefore(data) + retryCount + 1,
      ...(retryCount < retryLimit && { againMs }),
    });
  }
}

type JobOutcome =
  | { readonly kind: "done"; readonly entry?: LedgerEntry }
  /**
   * The claim is released for a while, and no attempt is used up. `stop` is an error that would fail every unit;
   * `unavailable` means that no node of this worker has the unit, or all of them are unreachable.
   */
  | { readonly kind: "back"; readonly ms: number; readonly stop?: unknown; readonly unavailable?: true }
  | { readonly kind: "failed"; readonly unit?: Unit; readonly error: TradewireError };

/** The services that a worker needs to load units. */
export interface JobContext {
  readonly db: QueueDatabase;
  readonly sink: Pick<Sink, "load">;
  readonly clients: readonly SyncClient[];
  /** Absent if exports do not count as calls. */
  readonly budget: CallBudget | undefined;
  readonly timings: QueueTimings;
  readonly hooks: SyncHooks | undefined;
  readonly signal: AbortSignal;
}

/** Loads the unit of a job, with one attempt. */
async function loadJob(delivery: JobContext, job: Job, admission: Admission): Promise<JobOutcome> {
  const { db, sink, signal } = delivery;
  const client = delivery.clients[admission.index];
  if (client === undefined) {
    return { kind: "back", ms: 0 };
  }
  const ending = linkedController(signal, admission.permit.signal);
  let unit: Unit | undefined;
  try {
    const read = unitOfJob(job.data);
    unit = read.unit;
    const load = createLoader({
      sink,
      clients: [withExportBudget(delivery, client, admission)],
      replace: read.replace,
      attempts: 1,
      retryForMs: 0,
      signal: ending.signal,
      hooks: withoutFailures(delivery.hooks),
    });
    return await jobOutcomeOf(await load(unit), unit, delivery, admission);
  } catch (reason) {
    const isCanceled = signal.aborted || (ending.signal.aborted && reason instanceof CanceledError);
    return isCanceled ? { kind: "back", ms: 0 } : await outcomeOfError(reason, unit, delivery, admission);
  } finally {
    ending.abort();
    await releaseProbe(db, admission);
  }
}

/** Returns the outcome of a job whose load has ended without an error that concerns more than its unit. */
async function jobOutcomeOf(
  result: UnitOutcome,
  unit: Unit,
  { db, timings }: JobContext,
  { isProbe, node }: Admission,
): Promise<JobOutcome> {
  switch (result.outcome) {
    case "loaded":
      return { kind: "done", entry: result.entry };
    case "there":
      return { kind: "done" };
    case "busy":
      return { kind: "back", ms: jittered(timings.busyRetryMs) };
    default:
      if (isProbe && result.error instanceof NodeError) {
        await markReachable(db, node);
      }
      return { kind: "failed", unit, error: result.error };
  }
}

/** Returns the outcome of a job whose load threw an error. `unit` is `undefined` if the job's data is not a unit. */
async function outcomeOfError(
  reason: unknown,
  unit: Unit | undefined,
  { db, timings }: JobContext,
  { node }: Admission,
): Promise<JobOutcome> {
  if (!(reason instanceof TradewireError) || (unit !== undefined && reactionTo(reason).unit === "stop")) {
    return { kind: "back", ms: 0, stop: reason };
  }
  const failed: JobOutcome = { kind: "failed", ...(unit && { unit }), error: reason };
  if (reactionTo(reason).unit !== "wait") {
    return failed;
  }
  if (isSinkFailure(reason)) {
    return { kind: "back", ms: 0 };
  }
  // If the node was available before, the unit may be the cause of the failure. Otherwise the failure says nothing
  // about the unit.
  const wasWell = await markUnreachable(db, node, reason, timings.nodeBackoffMs);
  return wasWell ? failed : { kind: "back", ms: jittered(timings.unreachableRetryMs) };
}

/** Lets other workers probe a node, if this admission was the probe. */
async function releaseProbe(db: QueueDatabase, { isProbe, node }: Admission): Promise<void> {
  if (isProbe) {
    await endProbe(db, node).catch(() => undefined); // Otherwise the probe expires.
  }
}

/** Counts the export as a call if it is one, and records that a probed node answers. */
function withExportBudget(
  { db, budget, signal }: JobContext,
  client: SyncClient,
  { node, isProbe }: Admission,
): SyncClient {
  return {
    name: node,
    listSegments: (options) => client.listSegments(options),
    exportNetworkHistory(request, options) {
      const exported = client.exportNetworkHistory(request, options);
      async function* files() {
        if (budget !== undefined) {
          await takeCallToken(db, node, budget, options?.signal ?? signal);
        }
        let first = isProbe;
        for await (const file of exported.files()) {
          if (first) {
            first = false;
            await markReachable(db, node);
          }
          yield file;
        }
      }
      return { ...exported, files };
    },
  };
}

/** Hides failures from the hooks: the queue decides whether a unit is retried, and reports them itself. */
function withoutFailures(hooks: SyncHooks | undefined): SyncHooks {
  return {
    onEvent(event) {
      if (event.kind !== "failed") {
        return hooks?.onEvent?.(event);
      }
    },
  };
}
