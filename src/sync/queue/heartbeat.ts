import { hostname } from "node:os";
import { wait } from "../../signal/wait.js";
import { putBack, reap } from "./claims.js";
import type { Database } from "./database.js";
import { jittered, type Pace } from "./pace.js";

/** Workers that have been silent for so long are forgotten. */
const FORGOTTEN_AFTER = "1 day";

/**
 * Say that a worker is alive. The database's clock tells when.
 *
 * @param db the queue
 * @param workerId the worker
 * @param pace its times
 * @returns whether it has been so without a break for long enough to judge others: behind an outage of the database all
 *   of them seem silent
 */
export async function beat(db: Database, workerId: string, { silentMs }: Pick<Pace, "silentMs">): Promise<boolean> {
  const [row] = await db.query<{ steady: boolean }>(
    "saying that the worker is alive",
    `INSERT INTO ${db.schema}.tradewire_workers AS w (id, host, pid) VALUES ($1, $2, $3)
     ON CONFLICT (id) DO UPDATE SET beat_at = now(), steady_since =
       CASE WHEN now() - w.beat_at > $4 * interval '1 ms' / 2 THEN now() ELSE w.steady_since END
     RETURNING now() - steady_since > $4 * interval '1 ms' AS steady`,
    [workerId, hostname(), process.pid, silentMs],
  );
  return row?.steady === true;
}

/** A worker that goes on saying that it is alive. */
export interface Beating {
  readonly workerId: string;
  readonly pace: Pace;
  /** The jobs that it knows to hold. */
  readonly held: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/**
 * Go on saying that a worker is alive, and put the units of silent workers back: one of all workers looks at a time. So
 * are units that this worker holds without knowing, as it lost the connection while it took them.
 *
 * @param db the queue
 * @param beating the worker
 * @returns once the signal is aborted
 */
export async function keepBeating(db: Database, { workerId, pace, held, signal }: Beating): Promise<void> {
  while (!signal.aborted) {
    try {
      await wait(jittered(pace.beatMs), signal);
      if (await beat(db, workerId, pace)) {
        await reapInTurn(db, pace);
      }
      await putUnknownBack(db, workerId, held, pace);
    } catch {
      // The database cannot be reached, which those who load tell of; or the signal was aborted.
    }
  }
}

async function putUnknownBack(db: Database, workerId: string, held: ReadonlySet<string>, { silentMs }: Pace) {
  const lost = await db.query<{ job_id: string }>(
    "looking for units of this worker",
    `SELECT job_id FROM ${db.schema}.tradewire_claims
     WHERE worker_id = $1 AND began_at < now() - $2 * interval '1 ms' AND job_id <> ALL ($3::uuid[])`,
    [workerId, silentMs, [...held]],
  );
  for (const { job_id } of lost) {
    if (!held.has(job_id)) {
      await putBack(db, workerId, job_id, 0);
    }
  }
}

/**
 * Look for silent workers, unless somebody has just done so.
 *
 * @param db the queue
 * @param pace how long a worker is silent then
 */
export async function reapInTurn(db: Database, { beatMs, silentMs }: Pace): Promise<void> {
  const turn = await db.query(
    "looking for silent workers",
    `UPDATE ${db.schema}.tradewire_queue SET reaped_at = now() WHERE reaped_at < now() - $1 * interval '1 ms' RETURNING 1`,
    [beatMs],
  );
  if (turn.length === 1) {
    await reap(db, silentMs);
    const forget = `DELETE FROM ${db.schema}.tradewire_workers WHERE beat_at < now() - interval '${FORGOTTEN_AFTER}'`;
    await db.query("forgetting workers", forget);
  }
}

/**
 * Forget a worker that has ended.
 *
 * @param db the queue
 * @param workerId the worker
 */
export async function leave(db: Database, workerId: string): Promise<void> {
  await db.query("leaving the queue", `DELETE FROM ${db.schema}.tradewire_workers WHERE id = $1`, [workerId]);
}
