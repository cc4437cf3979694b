import { mayPass } from "../../errors/reaction.js";
import { monotonicMs } from "../../runtime/index.js";
import { backoffMs, wait } from "../../signal/wait.js";
import type { Tell } from "../tell.js";
import { failJob, finishJob, type Job, putBack } from "./claims.js";
import type { Database } from "./database.js";
import type { Settlement } from "./deliver.js";

/** How long a worker that ends tries to put its units back. Behind it, others notice that it is silent. */
const AT_END_MS = 5000;
/** The longest wait for a database that cannot be reached. */
const LONGEST_MS = 5000;

/** Who settles what. */
export interface Settling {
  readonly workerId: string;
  readonly job: Job;
  readonly node: string;
  readonly result: Settlement;
  readonly tell: Tell;
  readonly signal: AbortSignal;
}

/**
 * Note what became of a job. A database that cannot be reached is waited for.
 *
 * @param db the queue
 * @param settling the job, and what became of it
 */
export async function settle(db: Database, settling: Settling): Promise<void> {
  const { signal } = settling;
  tellFailure(settling);
  let endsAt = Number.POSITIVE_INFINITY;
  for (let failures = 1; ; failures += 1) {
    try {
      return await note(db, settling);
    } catch (reason) {
      endsAt = signal.aborted ? Math.min(endsAt, monotonicMs() + AT_END_MS) : endsAt;
      if (!mayPass(reason) || monotonicMs() > endsAt) {
        throw reason;
      }
      const ms = Math.min(backoffMs(failures), LONGEST_MS);
      // A worker that is to end meanwhile tries once more at once, and then no longer than it may.
      await wait(ms, signal.aborted ? new AbortController().signal : signal).catch(() => undefined);
    }
  }
}

function note(db: Database, { workerId, job: { id }, node, result }: Settling): Promise<void> {
  switch (result.case) {
    case "done":
      return finishJob(db, id);
    case "back":
      return putBack(db, workerId, id, result.ms);
    default: {
      const { name, summary, advice, code } = result.error;
      return failJob(db, workerId, id, { name, message: summary, advice, code, node });
    }
  }
}

function tellFailure({ job: { retryCount, retryLimit, retryDelay }, result, tell }: Settling): void {
  if (result.case === "failed" && result.unit !== undefined) {
    // pg-boss waits so long, and up to as long again by chance.
    const againMs = Math.round(retryDelay * 2 ** Math.min(16, retryCount + 1) * 500);
    const { unit, error } = result;
    tell({ case: "failed", unit, error, attempt: retryCount + 1, ...(retryCount < retryLimit && { againMs }) });
  }
}
