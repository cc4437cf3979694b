import { hostname } from "node:os";
import type { Client } from "pg";
import { Code } from "../../base/errors/code.js";
import { SinkError } from "../../base/errors/index.js";
import { isTransient, reactionTo } from "../../base/errors/reaction.js";
import { snapshot } from "../../base/input/snapshot.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { linkedController } from "../../base/signal/abort.js";
import { throwIfAborted, wait } from "../../base/signal/wait.js";
import { type RetryContext, retryWhileUnavailable } from "../availability.js";
import { assertSameChain } from "../divergence.js";
import { firstAskedBlock, type PlannerHistory, runPlanner, type WorkSource } from "../planner.js";
import { type TableSummary, withSink } from "../sink.js";
import { createReporter, type ReportEvent } from "../sync-events.js";
import { type FailedUnit, parseClients, type SyncClient, type SyncSummary } from "../sync-options.js";
import type { NodeHistory, Unit } from "../unit.js";
import { expireClaimsInTurn } from "./claims.js";
import { jobOf, type RetryPolicy, UNIT_QUEUE } from "./jobs.js";
import { nodeNames, registerNodes, withListingBudget } from "./node-limits.js";
import { assertFewDeadLetters, type DeadLetter, readQueueContents, reportDeadLetters } from "./queue-contents.js";
import {
  endConnection,
  executorOf,
  installQueue,
  openQueueDatabase,
  type QueueDatabase,
  targetOfSink,
} from "./queue-database.js";
import {
  jittered,
  type ParsedQueueOptions,
  parseQueueOptions,
  type QueueOptions,
  type QueueTimings,
} from "./queue-options.js";
import { storePlan } from "./stored-plan.js";

/**
 * Fills a queue in the sink's database with the units that the sink lacks, for workers to load. One of several planners
 * leads; the others wait, and one of them takes over however the leader ends.
 *
 * A unit whose attempts have all failed becomes a dead letter; the others are loaded. If the histories of the sink and the node
 * diverge, the units that wait in the queue are removed, and nothing else is changed.
 *
 * @param clients the node, or several nodes of one network. Planners and workers must call a node by the same name
 * @param options the sink, which is opened, and closed at the end; the tables, the range, and limits
 * @returns the state of the tables once nothing is missing, waiting or in flight except for dead letters, which are
 *   `failed`. With `follow`, the planner continues until it throws
 * @throws `DivergenceError` if the histories diverge, or the node's history changes while it is followed
 * @throws `RequestError` if an option is wrong, or the sink holds another chain
 * @throws {@link SinkError} if the database cannot be used; errors of the node after retries for `retryForMs`
 * @throws `CanceledError` if the signal was aborted. Waiting units stay in the queue, and workers continue with them
 *
 * @example
 * const { failed } = await queueSync(client, { sink: postgresSink("postgres://me@db.example/history") });
 */
export function queueSync(clients: SyncClient | readonly SyncClient[], options: QueueOptions): Promise<SyncSummary> {
  clients = snapshot(clients);
  options = snapshot(options);
  const sink = options?.sink;
  return withSink(sink, async () => {
    const parsed = parseQueueOptions(options);
    const nodes = parseClients(clients);
    const signal = parsed.signal ?? new AbortController().signal;
    throwIfAborted(signal);
    await using db = await openQueueDatabase(targetOfSink(sink));
    return await planWhileLeader(db, nodes, sink, { ...parsed, signal });
  });
}

interface LeaderContext {
  readonly db: QueueDatabase;
  readonly clients: readonly SyncClient[];
  readonly sink: QueueOptions["sink"];
  /** Opens the sink for a history, unless it is open. */
  readonly open: (history: NodeHistory) => Promise<void>;
  readonly report: ReportEvent;
  readonly options: ParsedQueueOptions;
  readonly leadership: Leadership;
}

/** Waits for the leadership and plans, again after each loss of the leadership. */
async function planWhileLeader(
  db: QueueDatabase,
  clients: readonly SyncClient[],
  sink: QueueOptions["sink"],
  options: ParsedQueueOptions & { readonly signal: AbortSignal },
): Promise<SyncSummary> {
  const { timings, retryForMs, signal } = options;
  const report = createReporter(options.hooks);
  let openedChain: string | undefined;

  /** Opens the sink in the first term as leader. From then on, its tables exist and it accepts only this chain. */
  async function open(history: NodeHistory): Promise<void> {
    const { chainId } = history;
    if (openedChain !== undefined) {
      assertSameChain(sink.name, openedChain, chainId);
      return;
    }
    const { tables, unknownColumns } = options;
    const onUnknown: Parameters<typeof sink.open>[0]["onUnknown"] = (unknown) => report({ kind: "unknown", unknown });
    const fromBlock = firstAskedBlock(history, options.range);
    await sink.open({ chainId, tables, fromBlock, unknownColumns, onUnknown, signal });
    openedChain = chainId;
  }

  let installed = false;
  for (;;) {
    await using leadership = await acquireLeadership(db, { timings, retryForMs, report, signal });
    try {
      if (!installed) {
        await installQueue(db);
        await registerNodes(db, nodeNames(clients));
        installed = true;
      }
      await leadership.announce();
      return await planAsLeader({ db, clients, sink, open, report, options, leadership });
    } catch (reason) {
      throwIfAborted(signal);
      // An error after the loss of the leadership may be a consequence of the loss.
      if (await leadership.isLeader()) {
        throw reason;
      }
    }
  }
}

/**
 * The planner stops adding units at the first number of waiting units, and adds more once fewer than the second wait.
 * pg-boss sorts all of them for each unit that is claimed.
 */
const [HIGH_WATER_MARK, LOW_WATER_MARK] = [2000, 1000];
/** Missing segments that one comparison lists, besides those in the queue. The backlog is then queued in batches. */
const COMPARISON_LIMIT = 20_000;
/** Units that one statement inserts. */
const INSERT_BATCH = 1000;
/** How often pg-boss maintains its own tables. */
const MAINTENANCE_MS = 60_000;

/** The observations of a term as leader. */
interface LeaderResults {
  /** The tables at the first comparison. */
  first?: readonly TableSummary[];
  deadLetters: readonly DeadLetter[];
}

async function planAsLeader(context: LeaderContext): Promise<SyncSummary> {
  const { db, clients, sink, report, options, leadership } = context;
  const { signal } = leadership;
  const retryContext = { retryForMs: options.retryForMs, report, signal };
  const results: LeaderResults = { deadLetters: [] };
  const planned = await runPlanner(
    { ...options, clients: withListingBudget(db, clients, options.budget, signal), sink, retryContext },
    (history) => openQueueWork(context, history, results),
  );
  const tables = planned?.tables ?? [];
  const failed = results.deadLetters.map(failedUnit);
  return { chainId: "", tables, gaps: [], ...planned, ...loadedSince(results.first ?? tables, tables), failed };
}

/** Opens the sink, and returns a work source whose units go into the queue. */
async function openQueueWork(
  { db, open, report, options, leadership }: LeaderContext,
  history: PlannerHistory,
  results: LeaderResults,
): Promise<WorkSource> {
  const { timings, replaceFrom, attempts, retryForMs } = options;
  const { client, signal } = leadership;
  const { chainId } = history.current;
  const retryContext = { retryForMs, report, signal };
  const retryPolicy = { replace: replaceFrom !== undefined, attempts, retrySeconds: timings.retrySeconds };
  await retryWhileUnavailable(() => open(history.current), retryContext);
  await client.query(`UPDATE ${db.schema}.tradewire_queue SET chain_id = $1`, [chainId]);
  const maintain = createMaintenance(db, timings, retryContext);
  const reported = new Set<string>();

  return {
    comparisonLimit: COMPARISON_LIMIT,
    async inspect() {
      await maintain();
      const { waiting, active, deadLetters, hasSegment } = await readQueueContents(db);
      assertFewDeadLetters(deadLetters);
      reportDeadLetters(deadLetters, reported, report);
      results.deadLetters = deadLetters;
      const pending = waiting + active;
      const capacity = waiting < LOW_WATER_MARK ? HIGH_WATER_MARK - waiting : 0;
      return { pending, known: pending + deadLetters.length, capacity, hasSegment };
    },
    async onCompared(found) {
      results.first ??= found.tables;
      await storePlan(db, client, found);
    },
    onDivergence: () => db.boss.purgeQueue(UNIT_QUEUE), // These units were planned from a history that is not valid.
    accept: (units) => insertUnits(db, client, units, retryPolicy),
    waitForProgress: () => wait(timings.checkMs, signal),
    async waitWhileIdle() {
      if (!history.isDue()) {
        const ms = history.dueInMs();
        report({ kind: "idle", againMs: Math.round(ms) });
        await wait(Math.max(timings.checkMs, ms), signal);
      }
    },
  };
}

/** Returns a function that expires claims, and makes pg-boss maintain its tables, when due. */
function createMaintenance(db: QueueDatabase, timings: QueueTimings, retryContext: RetryContext): () => Promise<void> {
  const startedAt = monotonicMs();
  let maintainedAt = startedAt;
  return async () => {
    // After an outage, no worker has sent a heartbeat for a while.
    if (monotonicMs() - startedAt > timings.leaseMs) {
      await retryWhileUnavailable(() => expireClaimsInTurn(db, timings), retryContext);
    }
    if (monotonicMs() - maintainedAt >= MAINTENANCE_MS) {
      maintainedAt = monotonicMs();
      await db.boss.maintain();
    }
  };
}

/** Inserts through the connection that holds the leadership. A unit that is in the queue stays as it is. */
async function insertUnits(db: QueueDatabase, client: Client, units: readonly Unit[], retryPolicy: RetryPolicy) {
  for (let start = 0; start < units.length; start += INSERT_BATCH) {
    const jobs = units.slice(start, start + INSERT_BATCH).map((unit) => jobOf(unit, retryPolicy));
    try {
      await db.boss.insert(jobs, { db: executorOf(client) });
    } catch (reason) {
      throw db.errorOf(reason, "filling the queue");
    }
  }
}

function loadedSince(first: readonly TableSummary[], last: readonly TableSummary[]) {
  const sum = (tables: readonly TableSummary[], of: "units" | "rows" | "bytes") =>
    tables.reduce((total, table) => total + BigInt(table[of]), 0n);
  const units = Number(sum(last, "units") - sum(first, "units"));
  return { units, rows: sum(last, "rows") - sum(first, "rows"), bytes: sum(last, "bytes") - sum(first, "bytes") };
}

function failedUnit({ unit, error, advice, code, tries }: DeadLetter): FailedUnit {
  const known = Code[code] === undefined ? Code.Unknown : code;
  const summary = `${error} (${tries} attempts by workers)`;
  return { unit, error: new SinkError(summary, { code: known, advice }) };
}

/** One term of a planner as leader. It ends when the connection is lost, or when it is disposed of. */
interface Leadership extends AsyncDisposable {
  /** The connection that holds the lock: what is written through it is written by the leader, or not at all. */
  readonly client: Client;
  /** Aborted once the connection is lost, and with it the lock. */
  readonly signal: AbortSignal;
  /** Returns whether the lock is still held: PostgreSQL may report an error before the connection ends. */
  isLeader(): Promise<boolean>;
  /** Records in the queue which planner leads. It is repeated with each heartbeat. */
  announce(): Promise<void>;
}

interface LeaderElectionOptions extends RetryContext {
  readonly timings: QueueTimings;
}

/** How often a planner that waits for its turn reports that, in milliseconds. */
const WAIT_REPORT_MS = 60_000;

/**
 * Waits until no other planner leads, and becomes the leader.
 *
 * The lock belongs to a session, and PostgreSQL releases it when the session ends. If the leader's process dies, the
 * session ends immediately. If the process freezes, or its machine or network fails, PostgreSQL ends the session after
 * it was idle for `leaderTimeoutMs`. The leader gives up if a heartbeat is not answered within half of that time.
 *
 * @throws {@link SinkError} once the database was unreachable for `retryForMs`; {@link CanceledError}
 */
function acquireLeadership(db: QueueDatabase, options: LeaderElectionOptions): Promise<Leadership> {
  const mayRetry = (error: Error) => error instanceof SinkError && reactionTo(error).unit === "wait";
  return retryWhileUnavailable(() => waitForLeadership(db, options), options, mayRetry);
}

async function waitForLeadership(db: QueueDatabase, options: LeaderElectionOptions): Promise<Leadership> {
  const { timings, signal } = options;
  const controller = linkedController(signal);
  const client = await db.connect("electing a leader", () => controller.abort());
  try {
    await waitForLock(db, client, options, controller.signal);
  } catch (reason) {
    const isLost = controller.signal.aborted;
    controller.abort();
    await endConnection(client);
    throwIfAborted(signal);
    throw db.errorOf(isLost ? new Error("the connection was terminated") : reason, "electing a leader");
  }
  const text = `UPDATE ${db.schema}.tradewire_queue SET leader = $1, led_at = now()`;
  const heartbeat = { text, values: [`${hostname()} ${process.pid}`], query_timeout: timings.leaderTimeoutMs / 2 };
  const announce = async () => {
    await client.query(heartbeat).catch((reason: unknown) => {
      throw db.errorOf(reason, "recording the leader");
    });
  };
  const renewed = renewLeadership(announce, timings, controller);
  return {
    client,
    announce,
    signal: controller.signal,
    async isLeader() {
      try {
        await client.query("SELECT");
        return !controller.signal.aborted;
      } catch {
        return false;
      }
    },
    async [Symbol.asyncDispose]() {
      controller.abort();
      await endConnection(client);
      await renewed;
    },
  };
}

/** Tries the lock of the leader until no other session holds it. */
async function waitForLock(
  db: QueueDatabase,
  client: Client,
  { timings, report }: LeaderElectionOptions,
  signal: AbortSignal,
): Promise<void> {
  const { checkMs, leaderTimeoutMs } = timings;
  await client.query(
    `SET idle_session_timeout TO ${leaderTimeoutMs}; SET idle_in_transaction_session_timeout TO ${leaderTimeoutMs};
     SET tcp_keepalives_idle TO 30; SET tcp_keepalives_interval TO 5; SET tcp_keepalives_count TO 4`,
  );
  const sql = "SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS leads";
  for (let reportAt = 0; ; ) {
    const { rows } = await client.query<{ leads: boolean }>(sql, [`tradewire leader ${db.schema}`]);
    if (rows[0]?.leads === true) {
      return;
    }
    if (monotonicMs() >= reportAt) {
      reportAt = monotonicMs() + WAIT_REPORT_MS;
      report({ kind: "waiting", error: otherLeaderError(), againMs: WAIT_REPORT_MS });
    }
    await wait(Math.min(jittered(checkMs), leaderTimeoutMs / 2), signal);
  }
}

/** Sends heartbeats, which keep the session from being idle, until the leadership ends. */
async function renewLeadership(
  announce: Leadership["announce"],
  timings: QueueTimings,
  controller: AbortController,
): Promise<void> {
  try {
    for (;;) {
      await announce().catch((reason: unknown) => {
        if (isTransient(reason)) {
          throw reason;
        } // Otherwise the lock is held, and the planner itself fails because of what is wrong with the queue's tables.
      });
      await wait(timings.leaderHeartbeatMs, controller.signal);
    }
  } catch {
    controller.abort();
  }
}

function otherLeaderError(): SinkError {
  return new SinkError("another planner is the leader of the queue", {
    code: Code.Unavailable,
    advice: "This planner takes over when the leader stops. `tradewire sync status` shows the leader.",
  });
}
