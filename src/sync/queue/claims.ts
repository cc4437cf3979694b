import { hostname } from "node:os";
import type { PoolClient } from "pg";
import { Code } from "../../base/errors/code.js";
import { SinkError } from "../../base/errors/index.js";
import { wait } from "../../base/signal/wait.js";
import { type Job, type JobData, releasedJob, UNIT_QUEUE } from "./jobs.js";
import { jobsInState } from "./queue-contents.js";
import { executorOf, type QueueDatabase } from "./queue-database.js";
import { jittered, type QueueTimings } from "./queue-options.js";

/** The failure of a job. pg-boss copies it to the dead letter. */
export interface JobFailure {
  readonly name: string;
  readonly message: string;
  readonly advice: string;
  readonly code: number;
  /** The node that was asked. */
  readonly node?: string;
}

/** The failure of a unit whose worker has stopped sending heartbeats. */
const LEASE_EXPIRED: JobFailure = {
  name: "Error",
  message: "its worker stopped sending heartbeats: it was killed, or its machine or network failed",
  advice: "Check the end of the worker's log, for example for an out-of-memory error.",
  code: 0,
};

/** Maximum number of claims that expire in one transaction. */
const MAX_EXPIRED = 200;
/** Workers without a heartbeat for this time are removed from the list. */
const WORKER_RETENTION = "1 day";

/** Claims the next unit in block order, and records which worker has it. */
export async function claimJob(db: QueueDatabase, workerId: string, node: string): Promise<Job | undefined> {
  try {
    return await db.transaction("claiming a unit", async (client) => {
      const [job] = await fetchJobs(db, client, UNIT_QUEUE, 1);
      if (job !== undefined) {
        const sql = `INSERT INTO ${db.schema}.tradewire_claims (job_id, worker_id, node) VALUES ($1, $2, $3)
          ON CONFLICT (job_id) DO UPDATE SET worker_id = $2, node = $3, began_at = now()`;
        await client.query(sql, [job.id, workerId, node]);
      }
      return job;
    });
  } catch (reason) {
    if (reason instanceof SinkError && reason.code === Code.Aborted) {
      return undefined;
    }
    throw reason;
  }
}

/**
 * Fetches the next jobs of a queue, which makes them active.
 *
 * @throws the errors of the database, which pg-boss would hide
 */
export async function fetchJobs(
  db: QueueDatabase,
  client: PoolClient,
  queue: string,
  batchSize: number,
): Promise<Job[]> {
  const executor = executorOf(client);
  const jobs = await db.boss.fetch<JobData>(queue, { batchSize, includeMetadata: true, db: executor });
  if (executor.failure() !== undefined) {
    throw executor.failure();
  }
  return jobs;
}

/** Records that a claimed unit is fetched from a different node than at first. */
export async function moveClaim(db: QueueDatabase, workerId: string, jobId: string, node: string): Promise<void> {
  const sql = `UPDATE ${db.schema}.tradewire_claims SET node = $3 WHERE job_id = $1 AND worker_id = $2`;
  await db.query("recording the node of a unit", sql, [jobId, workerId, node]);
}

/** Deletes the job of a unit that is in the ledger, whichever worker has claimed it by now. */
export function completeJob(db: QueueDatabase, jobId: string): Promise<void> {
  return db.transaction("removing a loaded unit", async (client) => {
    await client.query(`DELETE FROM ${db.schema}.tradewire_claims WHERE job_id = $1`, [jobId]);
    await db.boss.deleteJob(UNIT_QUEUE, jobId, { db: executorOf(client) });
  });
}

/**
 * Records a failed attempt: pg-boss schedules the next one, or makes the unit a dead letter. Does nothing if another
 * worker has claimed the unit by now.
 */
export function failJob(db: QueueDatabase, workerId: string, jobId: string, failure: JobFailure): Promise<void> {
  return db.transaction("recording a failed unit", async (client) => {
    if (await deleteClaim(db, client, workerId, jobId)) {
      await db.boss.fail(UNIT_QUEUE, jobId, failure, { db: executorOf(client) });
    }
  });
}

/**
 * Releases a claim without using up an attempt. Does nothing if another worker has claimed the unit by now.
 *
 * pg-boss has no method for that: a job that it retries has used up an attempt. The job is therefore replaced by one with
 * the remaining attempts.
 */
export function releaseJob(db: QueueDatabase, workerId: string, jobId: string, delayMs: number): Promise<void> {
  return db.transaction("returning a unit to the queue", async (client) => {
    const via = { db: executorOf(client) };
    const isOurs = await deleteClaim(db, client, workerId, jobId);
    const job = isOurs ? await db.boss.getJobById<JobData>(UNIT_QUEUE, jobId, { ...via, includeArchive: false }) : null;
    if (job?.state === "active") {
      await db.boss.deleteJob(UNIT_QUEUE, jobId, via);
      await db.boss.insert([releasedJob(job, delayMs)], via);
    }
  });
}

/** Deletes a claim; returns whether the worker still had it. */
async function deleteClaim(
  { schema }: QueueDatabase,
  client: PoolClient,
  workerId: string,
  jobId: string,
): Promise<boolean> {
  const sql = `DELETE FROM ${schema}.tradewire_claims WHERE job_id = $1 AND worker_id = $2`;
  const { rowCount } = await client.query(sql, [jobId, workerId]);
  return rowCount === 1;
}

/** Records that a worker is alive, by the clock of the database. */
export async function sendHeartbeat(
  db: QueueDatabase,
  workerId: string,
  { leaseMs }: Pick<QueueTimings, "leaseMs">,
): Promise<boolean> {
  const [row] = await db.query<{ steady: boolean }>(
    "sending a heartbeat",
    `INSERT INTO ${db.schema}.tradewire_workers AS w (id, host, pid) VALUES ($1, $2, $3)
     ON CONFLICT (id) DO UPDATE SET beat_at = now(), steady_since =
       CASE WHEN now() - w.beat_at > $4 * interval '1 ms' / 2 THEN now() ELSE w.steady_since END
     RETURNING now() - steady_since > $4 * interval '1 ms' AS steady`,
    [workerId, hostname(), process.pid, leaseMs],
  );
  return row?.steady === true;
}

/** A worker that sends heartbeats. */
export interface HeartbeatOptions {
  readonly workerId: string;
  readonly timings: QueueTimings;
  /** The jobs that the worker knows to have claimed. */
  readonly claimed: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/**
 * Sends heartbeats, takes turns with other workers to expire stale claims, and releases claims that this worker holds
 * unknowingly, because its connection was lost while it claimed a unit.
 */
export async function sendHeartbeats(
  db: QueueDatabase,
  { workerId, timings, claimed, signal }: HeartbeatOptions,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await wait(jittered(timings.heartbeatMs), signal);
      if (await sendHeartbeat(db, workerId, timings)) {
        await expireClaimsInTurn(db, timings);
      }
      await releaseUnknownClaims(db, workerId, claimed, timings);
    } catch {
      // The database is unreachable, which those who load report; or the signal was aborted.
    }
  }
}

async function releaseUnknownClaims(
  db: QueueDatabase,
  workerId: string,
  claimed: ReadonlySet<string>,
  { leaseMs }: QueueTimings,
) {
  const unknown = await db.query<{ job_id: string }>(
    "reading the units of this worker",
    `SELECT job_id FROM ${db.schema}.tradewire_claims
     WHERE worker_id = $1 AND began_at < now() - $2 * interval '1 ms' AND job_id <> ALL ($3::uuid[])`,
    [workerId, leaseMs, [...claimed]],
  );
  for (const { job_id } of unknown) {
    if (!claimed.has(job_id)) {
      await releaseJob(db, workerId, job_id, 0);
    }
  }
}

/** Expires the claims of workers whose lease has run out, unless another worker has just done so. */
export async function expireClaimsInTurn(db: QueueDatabase, { heartbeatMs, leaseMs }: QueueTimings): Promise<void> {
  const turn = await db.query(
    "finding silent workers",
    `UPDATE ${db.schema}.tradewire_queue SET reaped_at = now() WHERE reaped_at < now() - $1 * interval '1 ms' RETURNING 1`,
    [heartbeatMs],
  );
  if (turn.length === 1) {
    await expireClaims(db, leaseMs);
    const sql = `DELETE FROM ${db.schema}.tradewire_workers WHERE beat_at < now() - interval '${WORKER_RETENTION}'`;
    await db.query("deleting old workers", sql);
  }
}

/**
 * Expires the claims of workers whose lease has run out. It uses up an attempt, because the unit may have crashed the worker.
 * Claims without a job are deleted.
 */
export function expireClaims(db: QueueDatabase, leaseMs: number): Promise<number> {
  const { schema } = db;
  return db.transaction("finding silent workers", async (client) => {
    const { rows } = await client.query<{ job_id: string }>(
      `SELECT c.job_id FROM ${schema}.tradewire_claims c
       LEFT JOIN ${schema}.tradewire_workers w ON w.id = c.worker_id
       WHERE w.id IS NULL OR w.beat_at < now() - $1 * interval '1 ms'
       LIMIT ${MAX_EXPIRED} FOR UPDATE OF c SKIP LOCKED`,
      [leaseMs],
    );
    if (rows.length === 0) {
      return 0;
    }
    const ids = rows.map(({ job_id }) => job_id);
    const active = await jobsInState(client, db, "active", ids);
    await client.query(`DELETE FROM ${schema}.tradewire_claims WHERE job_id = ANY ($1::uuid[])`, [ids]);
    for (const id of active) {
      await db.boss.fail(UNIT_QUEUE, id, LEASE_EXPIRED, { db: executorOf(client) });
    }
    return active.length;
  });
}

export async function removeWorker(db: QueueDatabase, workerId: string): Promise<void> {
  await db.query("leaving the queue", `DELETE FROM ${db.schema}.tradewire_workers WHERE id = $1`, [workerId]);
}
