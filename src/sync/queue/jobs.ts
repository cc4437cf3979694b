import { createHash } from "node:crypto";
import type PgBoss from "pg-boss";
import * as v from "valibot";
import { Code } from "../../base/errors/code.js";
import { SinkError } from "../../base/errors/index.js";
import { jsonObject } from "../../base/input/schemas.js";
import { tableNames } from "../../data/schema/table-names.js";
import type { Unit } from "../unit.js";

/** A 64-bit number as text. */
const number = v.pipe(
  v.string(),
  v.regex(/^\d{1,19}$/u),
  v.transform((text) => BigInt(text)),
);

const jobJson = jsonObject({
  chainId: v.string(),
  table: v.picklist(tableNames),
  fromBlock: number,
  toBlock: number,
  segmentId: v.string(),
  previousSegmentId: v.string(),
  schemaVersion: number,
  /** Whether overlapping units of another history are removed. */
  replace: v.boolean(),
});

/** A unit as the data of a job. */
export interface JobData extends v.InferInput<typeof jobJson> {
  /** Attempts before the job was last released. */
  readonly attempted?: number;
}

/** A job that a worker has claimed. */
export type Job = PgBoss.JobWithMetadata<JobData>;

/** How often, and after which delays, a queued unit is attempted. */
export interface RetryPolicy {
  readonly replace: boolean;
  readonly attempts: number;
  /**
   * Seconds until the second attempt. The delay doubles with each attempt, and is extended by a random part of up to
   * the same length.
   */
  readonly retrySeconds: number;
}

/** A unit that is in flight for this time is also delivered to another worker; the ledger accepts one of the two. */
const EXPIRE_SECONDS = 6 * 3600;
/** The longest delay before an attempt, in seconds, that a released job keeps. */
const MAX_RETRY_SECONDS = 86_400;

/**
 * Creates the job of a unit. Its identifier is derived from the unit, so that a unit is in the queue once, whatever the
 * state of its job. Jobs of one insert are claimed in the order of their identifiers, which therefore begin with the
 * block.
 */
export function jobOf(unit: Unit, { replace, attempts, retrySeconds }: RetryPolicy): PgBoss.JobInsert<JobData> {
  const { fromBlock, toBlock, schemaVersion } = unit;
  return {
    id: jobId(unit),
    name: UNIT_QUEUE,
    data: {
      ...unit,
      fromBlock: String(fromBlock),
      toBlock: String(toBlock),
      schemaVersion: String(schemaVersion),
      replace,
    },
    retryLimit: attempts - 1,
    retryDelay: retrySeconds,
    retryBackoff: true,
    expireInSeconds: EXPIRE_SECONDS,
    deadLetter: DEAD_LETTER_QUEUE,
  };
}

/**
 * Creates the job that replaces a released one. It has the remaining attempts and their delays, and is claimed before
 * others, because its unit is one of the oldest.
 */
export function releasedJob(job: Job, delayMs: number): PgBoss.JobInsert<JobData> {
  const { id, data, retryLimit, retryCount, retryDelay, retryBackoff } = job;
  return {
    id,
    name: UNIT_QUEUE,
    data: retryCount === 0 ? data : { ...data, attempted: attemptedBefore(data) + retryCount },
    priority: 1,
    startAfter: `${Math.round(delayMs)} milliseconds`, // An interval, which pg-boss adds to the time of the database.
    retryLimit: retryLimit - retryCount,
    retryDelay: Math.min(retryDelay * 2 ** retryCount, MAX_RETRY_SECONDS),
    retryBackoff,
    expireInSeconds: EXPIRE_SECONDS,
    deadLetter: DEAD_LETTER_QUEUE,
  };
}

/** Returns the attempts at a unit that its current job does not count. */
export function attemptedBefore(data: unknown): number {
  const isObject = typeof data === "object" && data !== null && "attempted" in data;
  return isObject && typeof data.attempted === "number" ? data.attempted : 0;
}

/** Returns a UUID of version 8: 60 bits of the first block, 8 of the table's index, 54 of a hash. */
function jobId(unit: Unit): string {
  const { chainId, table, fromBlock, toBlock, segmentId } = unit;
  const block = fromBlock.toString(16).padStart(15, "0").slice(-15);
  const place = tableNames.indexOf(table).toString(16).padStart(2, "0");
  const hash = createHash("sha256")
    .update(JSON.stringify([chainId, table, String(fromBlock), String(toBlock), segmentId]))
    .digest("hex");
  const hex = `${block.slice(0, 12)}8${block.slice(12)}8${place}${hash.slice(0, 13)}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, "$1-$2-$3-$4-$5");
}

/**
 * Reads the unit of a job.
 *
 * @throws {@link SinkError} if something else has inserted the job
 */
export function unitOfJob(data: unknown): { readonly unit: Unit; readonly replace: boolean } {
  const parsed = v.safeParse(jobJson, data);
  if (parsed.success) {
    const { replace, ...unit } = parsed.output;
    return { unit, replace };
  }
  throw new SinkError("a job of the queue is not a unit", {
    code: Code.DataLoss,
    advice: "Another program or a newer release added it. Install the newer release, or remove the job.",
  });
}

/** The names of pg-boss's queues of units and of dead letters. */
export const UNIT_QUEUE = "units";
export const DEAD_LETTER_QUEUE = "units-dead";

/** pg-boss does not quote the name of its schema, and accepts none that is longer. */
const MAX_SCHEMA = 50;

/**
 * Returns the schema of a queue: the sink's schema with the suffix `_queue` or, if pg-boss does not accept that, a hash
 * of it.
 *
 * @example
 * queueSchema("mainnet"); // "mainnet_queue"
 */
export function queueSchema(schema: string): string {
  const plain = `${schema}_queue`;
  const hash = createHash("sha256").update(schema).digest("hex").slice(0, 24);
  return /^[a-z_][a-z0-9_]*$/u.test(plain) && plain.length <= MAX_SCHEMA ? plain : `tradewire_${hash}_queue`;
}
