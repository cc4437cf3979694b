import type { PostgresSink } from "../sinks/postgres/postgres-sink.js";
import { fetchJobs } from "./claims.js";
import { DEAD_LETTER_QUEUE, jobOf, UNIT_QUEUE, unitOfJob } from "./jobs.js";
import { jobsInState } from "./queue-contents.js";
import { executorOf, isQueueInstalled, openQueueDatabase, type QueueDatabase, targetOfSink } from "./queue-database.js";
import { QUEUE_TIMINGS } from "./queue-options.js";

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
