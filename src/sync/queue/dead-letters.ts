import type { PostgresSink } from "../sinks/postgres/postgres-sink.js";
import { type Database, dbOf, openDatabase, placeOf } from "./database.js";
import { isInstalled } from "./install.js";
import { jobOf, unitOfJob } from "./jobs.js";
import { DEAD, UNITS } from "./names.js";
import { PACE } from "./pace.js";

/** Dead letters that are put back by a transaction. */
const PAGE = 500;

/**
 * Put the units that were tried too often back into the queue, with all of their attempts. Workers then take them.
 *
 * @param sink the sink beside which the queue is; it need not be open, and is not closed
 * @param options how often a unit is tried, 5 times by default
 * @returns how many units were put back
 * @throws {@link SinkError} where the database cannot be asked
 *
 * @example
 * const units = await retryFailed(postgresSink("postgres://me@db.example/history"));
 */
export async function retryFailed(
  sink: PostgresSink,
  { attempts = 5 }: { readonly attempts?: number | undefined } = {},
): Promise<number> {
  await using db = await openDatabase(placeOf(sink));
  let units = 0;
  if (await isInstalled(db)) {
    for (let page = PAGE; page === PAGE; ) {
      page = await retryPage(db, attempts);
      units += page;
    }
  }
  return units;
}

function retryPage(db: Database, attempts: number): Promise<number> {
  const { schema } = db;
  return db.transaction("putting dead letters back", async (client) => {
    const { rows } = await client.query<{ id: string; data: unknown }>(
      `SELECT id, data FROM ${schema}.job WHERE name = $1 AND state < 'active' ORDER BY created_on, id LIMIT ${PAGE} FOR UPDATE SKIP LOCKED`,
      [DEAD],
    );
    if (rows.length === 0) {
      return 0;
    }
    const jobs = rows.map(({ data }) => {
      const { unit, replace } = unitOfJob(data);
      return jobOf(unit, { replace, attempts, retrySeconds: PACE.retrySeconds });
    });
    // The job that has failed stands in the queue until pg-boss archives it.
    const ids = jobs.map(({ id }) => id);
    await client.query(`DELETE FROM ${schema}.job WHERE name = $1 AND id = ANY ($2::uuid[]) AND state = 'failed'`, [
      UNITS,
      ids,
    ]);
    const via = { db: dbOf(client) };
    await db.boss.insert(jobs, via);
    await db.boss.deleteJob(
      DEAD,
      rows.map(({ id }) => id),
      via,
    );
    return rows.length;
  });
}
