import { Code } from "../../base/errors/code.js";
import { SinkError } from "../../base/errors/index.js";
import { snapshot } from "../../base/input/snapshot.js";
import { monotonicMs, randomUUID } from "../../base/runtime/index.js";
import { linkedController } from "../../base/signal/abort.js";
import { endTogether, wait } from "../../base/signal/wait.js";
import { type RetryContext, retryWhileUnavailable } from "../availability.js";
import { withSink } from "../sink.js";
import { createReporter, type ReportEvent } from "../sync-events.js";
import { parseClients, type SyncClient } from "../sync-options.js";
import { createAdmissionGate, createPermits } from "./admission.js";
import { removeWorker, sendHeartbeat, sendHeartbeats } from "./claims.js";
import { nodeNames, registerNodes, withListingBudget } from "./node-limits.js";
import { type JobContext, processNextJob, type WorkerContext } from "./process-job.js";
import { isJobDue } from "./queue-contents.js";
import { installQueue, openQueueDatabase, type QueueDatabase, readQueueChain, targetOfSink } from "./queue-database.js";
import {
  jittered,
  type ParsedWorkerOptions,
  parseWorkerOptions,
  type QueueTimings,
  type WorkerOptions,
} from "./queue-options.js";
import { reportPlans } from "./stored-plan.js";
import { createUnitSources, type UnitSources } from "./unit-sources.js";

/** The result of a worker. */
export interface WorkerSummary {
  /** Units that it has loaded. */
  readonly units: number;
  readonly rows: bigint;
  /** Bytes of CSV. */
  readonly bytes: bigint;
  /** Failed attempts. */
  readonly failures: number;
}

/**
 * Loads units of a queue until the signal is aborted. Any number of workers on any number of machines may run. Nothing
 * is lost if one is killed: its claims expire after half a minute without a heartbeat, and a unit that is delivered
 * twice is loaded once, because rows and ledger entry are one transaction.
 *
 * @param clients the node, or several nodes of one network. All workers of a queue must call a node by the same name, because
 *   limits are shared by name
 * @param options the sink, which is opened once a planner has stored the chain, and closed at the end; and limits
 * @returns what was done. Units in flight when the signal was aborted were canceled and released
 * @throws `RequestError` if an option is wrong; errors that would fail every unit, such as refused credentials
 *
 * @example
 * await runWorker(client, { sink: postgresSink("postgres://me@db.example/history"), signal });
 */
export function runWorker(clients: SyncClient | readonly SyncClient[], options: WorkerOptions): Promise<WorkerSummary> {
  clients = snapshot(clients);
  options = snapshot(options);
  const sink = options?.sink;
  return withSink(sink, async () => {
    const checked = parseWorkerOptions(options);
    const all = parseClients(clients);
    const ending = linkedController(checked.signal);
    await using db = await openQueueDatabase(targetOfSink(sink));
    const done = { units: 0, rows: 0n, bytes: 0n, failures: 0 };
    try {
      await run(db, all, { sink, done, options: checked, ending });
    } catch (reason) {
      if (checked.signal?.aborted !== true) {
        throw reason;
      }
    } finally {
      ending.abort(); // Removes the listener from the caller's signal.
    }
    return done;
  });
}

interface Running {
  readonly sink: WorkerOptions["sink"];
  readonly done: WorkerContext["done"];
  readonly options: ParsedWorkerOptions;
  readonly ending: AbortController;
}

async function run(db: QueueDatabase, clients: readonly SyncClient[], running: Running): Promise<void> {
  const { options, ending } = running;
  const { timings } = options;
  const { signal } = ending;
  const report = createReporter(options.hooks);
  const names = nodeNames(clients);
  const workerId = randomUUID();
  const retryContext: RetryContext = { retryForMs: Number.POSITIVE_INFINITY, report, signal };
  await retryWhileUnavailable(() => installQueue(db), retryContext);
  await retryWhileUnavailable(() => registerNodes(db, names), retryContext);
  await retryWhileUnavailable(() => sendHeartbeat(db, workerId, timings), retryContext);
  const claimed = new Set<string>();
  const heartbeats = sendHeartbeats(db, { workerId, timings, claimed, signal });
  let planReports: Promise<void> | undefined;
  await using permits = createPermits(db, options.exportsPerNode);
  try {
    const holders = await openSink(db, clients, running, retryContext);
    const { sink, done } = running;
    const { exportBudget: budget, hooks } = options;
    const delivery: JobContext = { db, sink, clients, budget, timings, hooks, signal };
    const gate = createAdmissionGate(db, names, permits);
    planReports = reportPlans(db, { report, history: () => holders.history, timings, signal });
    const work: WorkerContext = { workerId, gate, holders, delivery, report, claimed, done };
    await loadUnits(work, options.parallel, ending, retryContext);
  } finally {
    ending.abort();
    await Promise.all([heartbeats, planReports]);
    await removeWorker(db, workerId).catch(() => undefined); // Otherwise its lease expires.
  }
}

/** Opens the sink once a planner has stored the chain. Returns which nodes have which units of that chain. */
async function openSink(
  db: QueueDatabase,
  clients: readonly SyncClient[],
  { sink, options }: Running,
  retryContext: RetryContext,
): Promise<UnitSources> {
  const { timings, unknownColumns, budget } = options;
  const { report, signal } = retryContext;
  const chainId = await retryWhileUnavailable(() => waitForChain(db, timings, report, signal), retryContext);
  // The planner creates the tables. Workers change none, however many of them start.
  const onUnknown: Parameters<typeof sink.open>[0]["onUnknown"] = (unknown) => report({ kind: "unknown", unknown });
  await retryWhileUnavailable(
    () => sink.open({ chainId, tables: [], unknownColumns, onUnknown, signal }),
    retryContext,
  );
  const { listingMs, newSegmentMs } = timings;
  return createUnitSources(withListingBudget(db, clients, budget, signal), {
    ...retryContext,
    chainId,
    sinkName: sink.name,
    listingMs,
    newSegmentMs,
  });
}

/** Loads units in so many loops at a time until the worker ends. Throws the failure that ended it. */
async function loadUnits(
  work: WorkerContext,
  parallel: number,
  ending: AbortController,
  retryContext: RetryContext,
): Promise<void> {
  const { db, timings, signal } = work.delivery;
  const idle = createIdleWait(db, timings, work.report, signal);
  const loop = async () => {
    for (let empty = 0; ; ) {
      const went = await retryWhileUnavailable(() => processNextJob(work), retryContext);
      empty = went ? 0 : empty + 1;
      await (went ? undefined : idle(empty));
    }
  };
  await endTogether(Array.from({ length: parallel }, loop), () => ending.abort());
}

/** How often a worker that waits for a planner reports that, in milliseconds. */
const WAIT_REPORT_MS = 60_000;

/** Waits until a planner has stored the chain. */
async function waitForChain(
  db: QueueDatabase,
  timings: QueueTimings,
  report: ReportEvent,
  signal: AbortSignal,
): Promise<string> {
  for (let tellAt = 0; ; ) {
    const chainId = await readQueueChain(db);
    if (chainId !== undefined) {
      return chainId;
    }
    if (monotonicMs() >= tellAt) {
      tellAt = monotonicMs() + WAIT_REPORT_MS;
      report({ kind: "waiting", error: noPlanner(db.name), againMs: WAIT_REPORT_MS });
    }
    await wait(jittered(timings.checkMs), signal);
  }
}

function noPlanner(name: string): SinkError {
  return new SinkError(`${name} has no queue yet`, {
    code: Code.Unavailable,
    advice: "Start a planner with `tradewire sync --queue`, with the same database and schema.",
  });
}

/**
 * Lets all loops of a worker that find nothing to do wait together, while one of them checks the queue with growing delays. The
 * wait is reported periodically.
 */
function createIdleWait(
  db: QueueDatabase,
  { idleMs, listingMs }: QueueTimings,
  report: ReportEvent,
  signal: AbortSignal,
): (empty: number) => Promise<void> {
  const [first, longest] = idleMs;
  let tellAt = 0;
  let resting: Promise<void> | undefined;
  async function untilAnyIsDue(empty: number): Promise<void> {
    for (let ms = first * 2 ** (empty - 1); ; ms *= 2) {
      if (monotonicMs() >= tellAt) {
        tellAt = monotonicMs() + listingMs;
        report({ kind: "idle", againMs: listingMs });
      }
      await wait(jittered(Math.min(ms, longest)), signal);
      // If the database is unreachable, the next claim waits for it.
      if (await isJobDue(db).catch(() => true)) {
        return;
      }
    }
  }
  return (empty) => {
    resting ??= untilAnyIsDue(empty).finally(() => {
      resting = undefined;
    });
    return resting;
  };
}
