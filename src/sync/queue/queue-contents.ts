import { compareBigints } from "../../base/bigints.js";
import { Code } from "../../base/errors/code.js";
import { SinkError } from "../../base/errors/index.js";
import { firstIndex } from "../../base/signal/collections.js";
import type { BlockRange } from "../../data/history/segments.js";
import type { ReportEvent } from "../sync-events.js";
import type { MissingSegment, Unit } from "../unit.js";
import { attemptedBefore, DEAD_LETTER_QUEUE, UNIT_QUEUE, unitOfJob } from "./jobs.js";
import type { QueryRunner, QueueDatabase } from "./queue-database.js";

// pg-boss has no method that lists the jobs of a queue. Only the statements of this file read its table `job`, and none of
// them changes it.

export interface QueueContents {
  /** Units that wait, including those that wait for another attempt. */
  readonly waiting: number;
  /** Units that workers have claimed. */
  readonly active: number;
  /** Units that failed in all attempts. */
  readonly deadLetters: readonly DeadLetter[];
  /** Returns whether a missing segment belongs to a unit in the queue. */
  hasSegment(missing: MissingSegment): boolean;
}

/** A unit that a worker has claimed. */
export interface ActiveJob {
  readonly data: unknown;
  /** Attempts before this one. */
  readonly retries: number;
}

const MAX_DEAD_LETTERS = 1000;

/** How many preceding ranges are compared with a segment: a longer range beyond these is queued twice. */
const MAX_PRECEDING_RANGES = 8;

/**
 * Reads the content of a queue: at most the units that a planner adds, and the dead letters.
 *
 * @throws {@link SinkError} if the database cannot be read, or a job is not a unit
 */
export async function readQueueContents(db: QueueDatabase): Promise<QueueContents> {
  const sql = `SELECT state = 'active' AS active, data FROM ${db.schema}.job WHERE name = $1 AND state <= 'active'`;
  const jobs = await db.query<{ active: boolean; data: unknown }>("reading the queue", sql, [UNIT_QUEUE]);
  const deadLetters = await readDeadLetters(db);
  const active = jobs.filter((job) => job.active).length;
  const units = [...jobs.map(({ data }) => unitOfJob(data).unit), ...deadLetters.map(({ unit }) => unit)];
  const rangesOf = new Map<string, BlockRange[]>();
  for (const unit of units) {
    const ranges = rangesOf.get(unit.table) ?? [];
    ranges.push(unit);
    rangesOf.set(unit.table, ranges);
  }
  for (const ranges of rangesOf.values()) {
    ranges.sort((a, b) => compareBigints(a.fromBlock, b.fromBlock));
  }
  return {
    waiting: jobs.length - active,
    active,
    deadLetters,
    hasSegment: ({ table, segment }) => overlapsAny(rangesOf.get(table) ?? [], segment),
  };
}

/** Reads the dead letters, the oldest first. */
export async function readDeadLetters(db: QueueDatabase): Promise<DeadLetter[]> {
  const rows = await db.query<{ id: string; data: unknown; tries: number; output: unknown; at: string }>(
    "reading the failed units",
    `SELECT id, data, retry_limit + 1 AS tries, output,
       to_char(created_on AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
     FROM ${db.schema}.job WHERE name = $1 AND state < 'active' ORDER BY created_on, id LIMIT ${MAX_DEAD_LETTERS}`,
    [DEAD_LETTER_QUEUE],
  );
  return rows.map(({ id, data, tries, output, at }) => {
    const fields = new Map<string, unknown>(
      Object.entries(typeof output === "object" && output !== null ? output : {}),
    );
    const [message, advice, code, node] = ["message", "advice", "code", "node"].map((name) => fields.get(name));
    return {
      id,
      unit: unitOfJob(data).unit,
      tries: attemptedBefore(data) + tries,
      error: typeof message === "string" ? message : "it was in flight for too long",
      advice: typeof advice === "string" ? advice : "Check the logs of the workers.",
      code: typeof code === "number" ? code : 0,
      node: typeof node === "string" ? node : undefined,
      at,
    };
  });
}

/** Returns whether there is a unit to claim. It costs less than an attempt to claim one. */
export async function isJobDue(db: QueueDatabase): Promise<boolean> {
  const sql = `SELECT FROM ${db.schema}.job WHERE name = $1 AND state < 'active' AND start_after < now() LIMIT 1`;
  return (await db.query("finding units", sql, [UNIT_QUEUE])).length === 1;
}

export async function countWaiting(db: QueueDatabase): Promise<{ readonly waiting: number; readonly backoff: number }> {
  const [counts] = await db.query<{ waiting: number; backoff: number }>(
    "reading the status of the queue",
    `SELECT (count(*) FILTER (WHERE start_after <= now()))::int AS waiting,
       (count(*) FILTER (WHERE start_after > now()))::int AS backoff
     FROM ${db.schema}.job WHERE name = $1 AND state < 'active'`,
    [UNIT_QUEUE],
  );
  return counts ?? { waiting: 0, backoff: 0 };
}

export async function readActiveJobs(db: QueueDatabase, ids: readonly string[]): Promise<Map<string, ActiveJob>> {
  const rows = await db.query<{ id: string; data: unknown; retries: number }>(
    "reading the status of the queue",
    `SELECT id, data, retry_count AS retries FROM ${db.schema}.job
     WHERE name = $1 AND id = ANY ($2::uuid[]) AND state = 'active'`,
    [UNIT_QUEUE, ids],
  );
  return new Map(rows.map(({ id, data, retries }) => [id, { data, retries: attemptedBefore(data) + retries }]));
}

export async function jobsInState(
  runner: QueryRunner,
  { schema }: QueueDatabase,
  state: "active" | "failed",
  ids: readonly string[],
): Promise<string[]> {
  const { rows } = await runner.query<{ id: string }>(
    `SELECT id FROM ${schema}.job WHERE name = $1 AND id = ANY ($2::uuid[]) AND state::text = $3`,
    [UNIT_QUEUE, ids, state],
  );
  return rows.map(({ id }) => id);
}

/**
 * Throws if so many units failed that the units cannot be the cause.
 *
 * @throws {@link SinkError} with the failure of the first one
 */
export function assertFewDeadLetters(deadLetters: readonly DeadLetter[]): void {
  const [first] = deadLetters;
  if (first !== undefined && deadLetters.length >= MAX_DEAD_LETTERS) {
    throw new SinkError(`${MAX_DEAD_LETTERS} units failed after all attempts, the first with: ${first.error}`, {
      code: Code.FailedPrecondition,
      advice: `The cause is probably not the units. ${first.advice} Then return them to the queue with --retry-failed.`,
    });
  }
}

/** Reports each dead letter once. */
export function reportDeadLetters(
  deadLetters: readonly DeadLetter[],
  reported: Set<string>,
  report: ReportEvent,
): void {
  for (const { id, unit, error, advice, code, tries } of deadLetters) {
    if (!reported.has(id)) {
      reported.add(id);
      report({ kind: "failed", unit, error: new SinkError(error, { code, advice }), attempt: tries });
    }
  }
}

/** Returns whether a range overlaps one of the sorted ranges. These may overlap each other if they were planned again. */
function overlapsAny(ranges: readonly BlockRange[], { fromBlock, toBlock }: BlockRange): boolean {
  const end = firstIndex(ranges, (range) => range.fromBlock <= toBlock);
  // Of the ranges that begin before the end, only the nearest are compared: few ranges are long.
  return ranges.slice(Math.max(0, end - MAX_PRECEDING_RANGES), end).some((range) => range.toBlock >= fromBlock);
}

/** A unit whose attempts all failed. */
export interface DeadLetter {
  readonly id: string;
  readonly unit: Unit;
  /** Number of attempts. */
  readonly tries: number;
  /** The error of the last attempt, in one line. */
  readonly error: string;
  /** Advice on what to do. */
  readonly advice: string;
  /** A gRPC status code. */
  readonly code: number;
  /** The node that was asked. */
  readonly node: string | undefined;
  /** When the last attempt failed, ISO 8601 in UTC. */
  readonly at: string;
}
