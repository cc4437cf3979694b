import { createHash } from "node:crypto";
import { Code } from "@connectrpc/connect";
import type PgBoss from "pg-boss";
import { SinkError } from "../../errors/index.js";
import { isTableName, tableNames } from "../../schema/tables.js";
import type { Unit } from "../unit.js";
import { DEAD, UNITS } from "./names.js";

/** A unit as it stands in a job: numbers of 64 bits as text. */
export interface JobData extends Omit<Unit, "fromBlock" | "toBlock" | "schemaVersion"> {
  readonly fromBlock: string;
  readonly toBlock: string;
  readonly schemaVersion: string;
  /** Whether units of another history are removed where they are in the way. */
  readonly replace: boolean;
}

/** How units are queued. */
export interface Queueing {
  readonly replace: boolean;
  /** How often a unit is tried, at most. */
  readonly attempts: number;
  /** Seconds until the second attempt; they double with each one, and up to as many come on top by chance. */
  readonly retrySeconds: number;
}

/** A unit that is under way for so long is given to another worker as well; the ledger takes one of the two. */
const EXPIRE_SECONDS = 6 * 3600;

/**
 * Make the job of a unit. Its identifier is made of the unit, so that a unit stands in the queue once, whatever its job's
 * state. Jobs that are inserted at once are taken in the order of their identifiers, so that these begin with the block.
 *
 * @param unit the unit
 * @param queueing how it is tried
 * @returns the job, for pg-boss's `insert`
 */
export function jobOf(unit: Unit, { replace, attempts, retrySeconds }: Queueing): PgBoss.JobInsert<JobData> {
  const { fromBlock, toBlock, schemaVersion } = unit;
  return {
    id: jobId(unit),
    name: UNITS,
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
    deadLetter: DEAD,
  };
}

/** A UUID of version 8: 60 bits of the first block, 8 of the table's place, 54 of a hash. */
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
 * Read the unit of a job.
 *
 * @param data what the job holds
 * @returns the unit, and whether others are replaced
 * @throws {@link SinkError} where something else has put it there
 */
export function unitOfJob(data: unknown): { readonly unit: Unit; readonly replace: boolean } {
  if (isJobData(data)) {
    const { replace, fromBlock, toBlock, schemaVersion, ...rest } = data;
    const { chainId, table, segmentId, previousSegmentId } = rest;
    const [from, to, version] = [BigInt(fromBlock), BigInt(toBlock), BigInt(schemaVersion)];
    const ends = { fromBlock: from, toBlock: to };
    return { unit: { chainId, table, ...ends, segmentId, previousSegmentId, schemaVersion: version }, replace };
  }
  throw new SinkError("a job of the queue is no unit", {
    code: Code.DataLoss,
    advice: "Something else has put it there, or a newer release. Install that, or remove the job.",
  });
}

function isJobData(data: unknown): data is JobData {
  if (typeof data !== "object" || data === null) {
    return false;
  }
  const fields = new Map<string, unknown>(Object.entries(data));
  const texts = ["chainId", "segmentId", "previousSegmentId"].every((name) => typeof fields.get(name) === "string");
  const numbers = ["fromBlock", "toBlock", "schemaVersion"].every((name) => isNumber(fields.get(name)));
  const table = fields.get("table");
  return (
    texts && numbers && typeof table === "string" && isTableName(table) && typeof fields.get("replace") === "boolean"
  );
}

function isNumber(value: unknown): boolean {
  return typeof value === "string" && /^\d{1,19}$/u.test(value);
}
