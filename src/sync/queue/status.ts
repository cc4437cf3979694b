import type { PostgresSink } from "../sinks/postgres/postgres-sink.js";
import type { Unit } from "../unit.js";
import { openDatabase, placeOf } from "./database.js";
import type { DeadLetter } from "./dead-letter.js";
import { isInstalled } from "./install.js";
import { unitOfJob } from "./jobs.js";
import { UNITS } from "./names.js";
import { PACE } from "./pace.js";
import { readDead } from "./present.js";

/** How a queue stands. Times are ISO 8601 in UTC, by the database's clock. */
export interface QueueStatus {
  /** The chain whose history is queued; absent before a planner has led. */
  readonly chainId?: string;
  /** The planner that leads, by its host and process; absent where none does. */
  readonly leader?: string;
  /** Units that may be taken. */
  readonly waiting: number;
  /** Units that wait for another attempt, or for what holds them. */
  readonly backoff: number;
  readonly underWay: readonly UnderWay[];
  /** Units that were tried too often; at most 1000. */
  readonly dead: readonly DeadLetter[];
  readonly workers: readonly WorkerState[];
  readonly nodes: readonly NodeState[];
}

/** A unit that a worker holds. */
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
  readonly beatAt: string;
  /** Whether it has not been heard of for so long that its units are given to others. */
  readonly silent: boolean;
}

/** What the workers know of a node. */
export interface NodeState {
  readonly node: string;
  /** Failures in a row; 0 where it is well. */
  readonly failures: number;
  readonly error?: string;
  /** Until when it is left alone. */
  readonly restUntil?: string;
}

/** The most units and workers that are listed. */
const LISTED = 1000;

const time = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * Tell how a queue stands. Nothing is changed.
 *
 * @param sink the sink beside which the queue is; it need not be open, and is not closed
 * @returns what waits, is under way or was given up, the workers and the nodes; `undefined` where there is no queue
 * @throws `SinkError` where the database cannot be asked
 *
 * @example
 * const status = await queueStatus(postgresSink("postgres://me@db.example/history"));
 */
export async function queueStatus(sink: PostgresSink): Promise<QueueStatus | undefined> {
  await using db = await openDatabase(placeOf(sink));
  if (!(await isInstalled(db))) {
    return undefined;
  }
  const { schema } = db;
  const what = "reading how the queue stands";
  const [counts] = await db.query<{ waiting: number; backoff: number }>(
    what,
    `SELECT (count(*) FILTER (WHERE start_after <= now()))::int AS waiting,
       (count(*) FILTER (WHERE start_after > now()))::int AS backoff
     FROM ${schema}.job WHERE name = $1 AND state < 'active'`,
    [UNITS],
  );
  const [queue] = await db.query<{ chain_id: string | null; leader: string | null }>(
    what,
    `SELECT chain_id, CASE WHEN led_at > now() - $1 * interval '1 ms' THEN leader END AS leader FROM ${schema}.tradewire_queue`,
    [PACE.leadIdleMs],
  );
  const claims = await db.query<{ data: unknown; tries: number; worker: string; node: string; since: string }>(
    what,
    `SELECT j.data, j.retry_count AS tries, c.worker_id AS worker, c.node, ${time("c.began_at")} AS since
     FROM ${schema}.tradewire_claims c JOIN ${schema}.job j ON j.name = $1 AND j.id = c.job_id AND j.state = 'active'
     ORDER BY c.began_at LIMIT ${LISTED}`,
    [UNITS],
  );
  const workers = await db.query<{
    id: string;
    host: string;
    pid: number;
    since: string;
    beat: string;
    silent: boolean;
  }>(
    what,
    `SELECT id, host, pid, ${time("since")} AS since, ${time("beat_at")} AS beat,
       beat_at < now() - $1 * interval '1 ms' AS silent FROM ${schema}.tradewire_workers w ORDER BY w.since LIMIT ${LISTED}`,
    [PACE.silentMs],
  );
  const nodes = await db.query<{ node: string; failures: number; error: string | null; rest: string | null }>(
    what,
    `SELECT node, failures, error, CASE WHEN rest_until > now() THEN ${time("rest_until")} END AS rest
     FROM ${schema}.tradewire_nodes ORDER BY node`,
  );
  return {
    ...(queue?.chain_id != null && { chainId: queue.chain_id }),
    ...(queue?.leader != null && { leader: queue.leader }),
    waiting: counts?.waiting ?? 0,
    backoff: counts?.backoff ?? 0,
    underWay: claims.map(({ data, ...rest }) => ({ unit: unitOfJob(data).unit, ...rest })),
    dead: await readDead(db),
    workers: workers.map(({ beat, ...rest }) => ({ ...rest, beatAt: beat })),
    nodes: nodes.map(({ node, failures, error, rest }) => ({
      node,
      failures,
      ...(error !== null && { error }),
      ...(rest !== null && { restUntil: rest }),
    })),
  };
}
