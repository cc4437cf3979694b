import { Code } from "@connectrpc/connect";
import type PgBoss from "pg-boss";
import { SinkError } from "../../errors/index.js";
import { type Database, dbOf } from "./database.js";
import type { JobData } from "./jobs.js";
import { UNITS } from "./names.js";

/** A job that a worker holds. */
export type Job = PgBoss.JobWithMetadata<JobData>;

/** What is kept of a failure; pg-boss hands it on to the queue of those which were tried too often. */
export interface JobFailure {
  readonly name: string;
  readonly message: string;
  readonly advice: string;
  readonly code: number;
  /** The node that was asked. */
  readonly node?: string;
}

/** What a unit fails with whose worker is not heard of. */
const SILENT: JobFailure = {
  name: "Error",
  message: "its worker fell silent: it was killed, or its machine or network failed",
  advice: "Look into the worker's log for the end of it, such as one for want of memory.",
  code: 0,
};

/** The most jobs of silent workers that are put back at once. */
const REAPED = 200;

/**
 * Tell whether there is a unit to take. It costs less than to take one.
 *
 * @param db the queue
 * @returns whether
 */
export async function isAnyDue(db: Database): Promise<boolean> {
  const sql = `SELECT FROM ${db.schema}.job WHERE name = $1 AND state < 'active' AND start_after < now() LIMIT 1`;
  return (await db.query("looking for units", sql, [UNITS])).length === 1;
}

/**
 * Take the next unit, in the order of blocks, and note who holds it.
 *
 * @param db the queue
 * @param workerId who takes it
 * @param node the node that is going to be asked
 * @returns the job; `undefined` where none is due, or others were in the way for too long
 */
export async function takeJob(db: Database, workerId: string, node: string): Promise<Job | undefined> {
  try {
    return await take(db, workerId, node);
  } catch (reason) {
    if (reason instanceof SinkError && reason.code === Code.Aborted) {
      return undefined;
    }
    throw reason;
  }
}

function take(db: Database, workerId: string, node: string): Promise<Job | undefined> {
  return db.transaction("taking a unit", async (client) => {
    const via = dbOf(client);
    const [job] = await db.boss.fetch<JobData>(UNITS, { batchSize: 1, includeMetadata: true, db: via });
    if (via.failure() !== undefined) {
      throw via.failure();
    }
    if (job !== undefined) {
      const sql = `INSERT INTO ${db.schema}.tradewire_claims (job_id, worker_id, node) VALUES ($1, $2, $3)
        ON CONFLICT (job_id) DO UPDATE SET worker_id = $2, node = $3, began_at = now()`;
      await client.query(sql, [job.id, workerId, node]);
    }
    return job;
  });
}

/**
 * Note that another node is going to be asked for a unit than the one that it was taken for.
 *
 * @param db the queue
 * @param workerId who holds it
 * @param jobId the job
 * @param node the node
 */
export async function moveClaim(db: Database, workerId: string, jobId: string, node: string): Promise<void> {
  const sql = `UPDATE ${db.schema}.tradewire_claims SET node = $3 WHERE job_id = $1 AND worker_id = $2`;
  await db.query("noting which node is asked", sql, [jobId, workerId, node]);
}

/**
 * Remove the job of a unit that is in the ledger, whoever holds it by now.
 *
 * @param db the queue
 * @param jobId the job
 */
export function finishJob(db: Database, jobId: string): Promise<void> {
  return db.transaction("removing a unit that is loaded", async (client) => {
    await client.query(`DELETE FROM ${db.schema}.tradewire_claims WHERE job_id = $1`, [jobId]);
    await db.boss.deleteJob(UNITS, jobId, { db: dbOf(client) });
  });
}

/**
 * Note that an attempt at a unit has failed: pg-boss lets it wait, or hands it on to those which were tried too often.
 * Nothing happens where another worker holds it by now.
 *
 * @param db the queue
 * @param workerId who held it
 * @param jobId the job
 * @param failure why
 */
export function failJob(db: Database, workerId: string, jobId: string, failure: JobFailure): Promise<void> {
  return db.transaction("noting that a unit failed", async (client) => {
    const sql = `DELETE FROM ${db.schema}.tradewire_claims WHERE job_id = $1 AND worker_id = $2`;
    const { rowCount } = await client.query(sql, [jobId, workerId]);
    if (rowCount === 1) {
      await db.boss.fail(UNITS, jobId, failure, { db: dbOf(client) });
    }
  });
}

/**
 * Put a unit back, which does not use up an attempt: pg-boss counts those that have a start. Nothing happens where
 * another worker holds it by now.
 *
 * @param db the queue
 * @param workerId who held it
 * @param jobId the job
 * @param delayMs how long nobody takes it
 */
export async function putBack(db: Database, workerId: string, jobId: string, delayMs: number): Promise<void> {
  const { schema } = db;
  await db.query(
    "putting a unit back",
    `WITH claim AS (DELETE FROM ${schema}.tradewire_claims WHERE job_id = $2 AND worker_id = $3 RETURNING job_id)
     UPDATE ${schema}.job SET state = 'retry', started_on = NULL, start_after = now() + $4 * interval '1 ms'
     WHERE name = $1 AND id IN (SELECT job_id FROM claim) AND state = 'active'`,
    [UNITS, jobId, workerId, Math.round(delayMs)],
  );
}

/**
 * Put the units of workers that are silent back. It uses up an attempt: such a unit may be what ended its worker. What
 * stands behind the claims that nobody needs is removed as well.
 *
 * @param db the queue
 * @param silentMs how long a worker is silent then
 * @returns how many units were put back
 */
export function reap(db: Database, silentMs: number): Promise<number> {
  const { schema } = db;
  return db.transaction("looking for silent workers", async (client) => {
    const { rows } = await client.query<{ job_id: string; active: boolean }>(
      `SELECT c.job_id, coalesce(j.state = 'active', false) AS active FROM ${schema}.tradewire_claims c
       LEFT JOIN ${schema}.tradewire_workers w ON w.id = c.worker_id
       LEFT JOIN ${schema}.job j ON j.name = $1 AND j.id = c.job_id
       WHERE w.id IS NULL OR w.beat_at < now() - $2 * interval '1 ms'
       LIMIT ${REAPED} FOR UPDATE OF c SKIP LOCKED`,
      [UNITS, silentMs],
    );
    const ids = rows.map(({ job_id }) => job_id);
    const active = rows.filter((row) => row.active).map(({ job_id }) => job_id);
    if (ids.length > 0) {
      await client.query(`DELETE FROM ${schema}.tradewire_claims WHERE job_id = ANY ($1::uuid[])`, [ids]);
    }
    for (const id of active) {
      await db.boss.fail(UNITS, id, SILENT, { db: dbOf(client) });
    }
    return active.length;
  });
}
