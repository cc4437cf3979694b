import { withJson } from "../../base/json-result.js";
import type { PostgresSink } from "../sinks/postgres/postgres-sink.js";
import type { Unit } from "../unit.js";
import { fetchJobs } from "./claims.js";
import { DEAD_LETTER_QUEUE, jobOf, UNIT_QUEUE, unitOfJob } from "./jobs.js";
import { countWaiting, type DeadLetter, jobsInState, readActiveJobs, readDeadLetters } from "./queue-contents.js";
import { executorOf, isQueueInstalled, openQueueDatabase, type QueueDatabase, targetOfSink } from "./queue-database.js";
import { QUEUE_TIMINGS } from "./queue-options.js";

/** The state of a queue. Times are ISO 8601 in UTC, by the clock of the database. */
export interface QueueStatus {
  /** The chain whose history is queued; absent until a planner has become the leader. */
  readonly chainId?: string;
  /** The planner that leads, by its host and process; absent if none does. */
  readonly leader?: string;
  /** Units that can be claimed now. */
  readonly waiting: number;
  /** Units that wait for their next attempt. */
  readonly backoff: number;
  readonly underWay: readonly UnderWay[];
  /** Units that failed in all attempts; at most 1000. */
  readonly deadLetters: readonly DeadLetter[];
  readonly workers: readonly WorkerState[];
  readonly nodes: readonly NodeState[];
}

/** A unit that a worker has claimed. */
export interface UnderWay {
  readonly unit: Unit;
  /** Attempts before this one. */
  readonly tries: number;
  readonly worker: string;
  readonly node: string;
  readonly since: string;
}

/** A worker of a queue. */
export interface WorkerState {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly since: string;
  readonly heartbeatAt: string;
  /** Whether its lease has expired, so that its units are given to others. */
  readonly silent: boolean;
}

/** The state of a node, shared by the workers. */
export interface NodeState {
  readonly node: string;
  /** Failures in a row; 0 if it is available. */
  readonly failures: number;
  readonly error?: string;
  /** When the next call is due. */
  readonly restUntil?: string;
}

/** Maximum number of units and workers that are listed. */
const MAX_LISTED = 1000;

const READING = "reading the status of the queue";

const time = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * Returns the state of a queue. Nothing is changed.
 *
 * @param sink the sink whose database has the queue; it need not be open, and is not closed
 * @returns the waiting, claimed and failed units, the workers and the nodes; `undefined` if there is no queue
 * @throws `SinkError` if the database cannot be read
 *
 * @example
 * const status = await queueStatus(postgresSink("postgres://me@db.example/history"));
 */
export async function queueStatus(sink: PostgresSink): Promise<QueueStatus | undefined> {
  await using db = await openQueueDatabase(targetOfSink(sink));
  if (!(await isQueueInstalled(db))) {
    return undefined;
  }
  const [queue] = await db.query<{ chain_id: string | null; leader: string | null }>(
    READING,
    `SELECT chain_id, CASE WHEN led_at > now() - $1 * interval '1 ms' THEN leader END AS leader FROM ${db.schema}.tradewire_queue`,
    [QUEUE_TIMINGS.leaderTimeoutMs],
  );
  return withJson({
    ...(queue?.chain_id != null && { chainId: queue.chain_id }),
    ...(queue?.leader != null && { leader: queue.leader }),
    ...(await countWaiting(db)),
    underWay: await readClaims(db),
    deadLetters: await readDeadLetters(db),
    workers: await readWorkers(db),
    nodes: await readNodes(db),
  });
}

async function readClaims(db: QueueDatabase): Promise<UnderWay[]> {
  const claims = await db.query<{ id: string; worker: string; node: string; since: string }>(
    READING,
    `SELECT job_id AS id, worker_id AS worker, node, ${time("began_at")} AS since
     FROM ${db.schema}.tradewire_claims ORDER BY began_at LIMIT ${MAX_LISTED}`,
  );
  const jobs = await readActiveJobs(
    db,
    claims.map(({ id }) => id),
  );
  return claims.flatMap(({ id, ...claim }) => {
    const job = jobs.get(id);
    return job === undefined ? [] : [{ unit: unitOfJob(job.data).unit, tries: job.retries, ...claim }];
  });
}

function readWorkers(db: QueueDatabase): Promise<WorkerState[]> {
  return db.query<{ id: string; host: string; pid: number; since: string; heartbeatAt: string; silent: boolean }>(
    READING,
    `SELECT id, host, pid, ${time("since")} AS since, ${time("beat_at")} AS "heartbeatAt",
       beat_at < now() - $1 * interval '1 ms' AS silent
     FROM ${db.schema}.tradewire_workers w ORDER BY w.since LIMIT ${MAX_LISTED}`,
    [QUEUE_TIMINGS.leaseMs],
  );
}

async function readNodes(db: QueueDatabase): Promise<NodeState[]> {
  const nodes = await db.query<{ node: string; failures: number; error: string | null; rest: string | null }>(
    READING,
    `SELECT node, failures, error, CASE WHEN rest_until > now() THEN ${time("rest_until")} END AS rest
     FROM ${db.schema}.tradewire_nodes ORDER BY node`,
  );
  return nodes.map(({ node, failures, error, rest }) => ({
    node,
    failures,
    ...(error !== null && { error }),
    ...(rest !== null && { restUntil: rest }),
  }));
}

/** Dead letters that one transaction returns to the queue. */
const BATCH = 500;

/**
 * Puts the dead letters back into the queue, where workers try them again with all attempts.
 *
 * @param sink the sink whose database has the queue; it need not be open, and is not closed
 * @param options `attempts`: maximum number of attempts for each unit, 5 by default
 * @returns how many units were returned to the queue
 * @throws {@link SinkError} if the database cannot be used
 *
 * @example
 * const units = await retryFailed(postgresSink("postgres://me@db.example/history"));
 */
export async function retryFailed(
  sink: PostgresSink,
  { attempts = 5 }: { readonly attempts?: number | undefined } = {},
): Promise<number> {
  await using db = await openQueueDatabase(targetOfSink(sink));
  let units = 0;
  if (await isQueueInstalled(db)) {
    for (let count = BATCH; count === BATCH; ) {
      count = await retryBatch(db, attempts);
      units += count;
    }
  }
  return units;
}

function retryBatch(db: QueueDatabase, attempts: number): Promise<number> {
  return db.transaction("returning failed units to the queue", async (client) => {
    const deadLetters = await fetchJobs(db, client, DEAD_LETTER_QUEUE, BATCH);
    if (deadLetters.length === 0) {
      return 0;
    }
    const via = { db: executorOf(client) };
    const jobs = deadLetters.map(({ data }) => {
      const { unit, replace } = unitOfJob(data);
      return jobOf(unit, { replace, attempts, retrySeconds: QUEUE_TIMINGS.retrySeconds });
    });
    // A failed job stays in the queue, with the same id, until pg-boss archives it.
    const ids = jobs.flatMap(({ id }) => (id === undefined ? [] : [id]));
    const failed = await jobsInState(client, db, "failed", ids);
    if (failed.length > 0) {
      await db.boss.deleteJob(UNIT_QUEUE, failed, via);
    }
    await db.boss.insert(jobs, via);
    await db.boss.deleteJob(
      DEAD_LETTER_QUEUE,
      deadLetters.map(({ id }) => id),
      via,
    );
    return deadLetters.length;
  });
}
