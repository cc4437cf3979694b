import type { BlockRange } from "../../history/segments.js";
import type { MissingSegment } from "../sink.js";
import type { Database } from "./database.js";
import type { DeadLetter } from "./dead-letter.js";
import { unitOfJob } from "./jobs.js";
import { DEAD, UNITS } from "./names.js";

/** What stands in a queue. */
export interface Present {
  /** Units that wait, those among them that failed before included. */
  readonly waiting: number;
  /** Units that workers hold. */
  readonly active: number;
  /** Units that were tried too often. */
  readonly dead: readonly DeadLetter[];
  /** Tell whether a missing segment is one of a unit in the queue. */
  covers(missing: MissingSegment): boolean;
}

/** The most dead letters that are read. */
export const MAX_DEAD = 1000;

interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly data: unknown;
}

/**
 * Read what stands in a queue: no more than a planner lets into it, and the dead letters.
 *
 * @param db the queue
 * @returns what is there
 * @throws {@link SinkError} where the database cannot be asked, or a job is no unit
 */
export async function readPresent(db: Database): Promise<Present> {
  const sql = `SELECT id, name, state::text, data FROM ${db.schema}.job WHERE name = $1 AND state <= 'active'`;
  const jobs = await db.query<JobRow>("looking at the queue", sql, [UNITS]);
  const dead = await readDead(db);
  const active = jobs.filter(({ state }) => state === "active").length;
  const ranges = new Map<string, BlockRange[]>();
  for (const unit of [...jobs.map(({ data }) => unitOfJob(data).unit), ...dead.map((letter) => letter.unit)]) {
    const of = ranges.get(unit.table) ?? [];
    of.push(unit);
    ranges.set(unit.table, of);
  }
  for (const of of ranges.values()) {
    of.sort((a, b) => (a.fromBlock < b.fromBlock ? -1 : a.fromBlock > b.fromBlock ? 1 : 0));
  }
  return {
    waiting: jobs.length - active,
    active,
    dead,
    covers: ({ table, segment }) => overlaps(ranges.get(table) ?? [], segment),
  };
}

/**
 * Read the units that were tried too often, the oldest first.
 *
 * @param db the queue
 * @returns at most `MAX_DEAD` of them
 */
export async function readDead(db: Database): Promise<DeadLetter[]> {
  const rows = await db.query<{ id: string; data: unknown; tries: number; output: unknown; at: string }>(
    "reading the dead letters",
    `SELECT id, data, retry_limit + 1 AS tries, output,
       to_char(created_on AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
     FROM ${db.schema}.job WHERE name = $1 AND state < 'active' ORDER BY created_on, id LIMIT ${MAX_DEAD}`,
    [DEAD],
  );
  return rows.map(({ id, data, tries, output, at }) => {
    const fields = new Map<string, unknown>(
      Object.entries(typeof output === "object" && output !== null ? output : {}),
    );
    const [message, advice, code, node] = ["message", "advice", "code", "node"].map((name) => fields.get(name));
    return {
      id,
      unit: unitOfJob(data).unit,
      tries,
      error: typeof message === "string" ? message : "it was under way for too long",
      advice: typeof advice === "string" ? advice : "Look into the logs of the workers.",
      code: typeof code === "number" ? code : 0,
      node: typeof node === "string" ? node : undefined,
      at,
    };
  });
}

/** Whether a range overlaps one of those that are sorted. Units of one history may overlap where they were made anew. */
function overlaps(ranges: readonly BlockRange[], { fromBlock, toBlock }: BlockRange): boolean {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ranges[middle]?.fromBlock ?? 0n) <= toBlock) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  // Those that begin no later than the end. Few of them are long, so that the nearest ones tell.
  return ranges.slice(Math.max(0, low - LOOKED_BACK), low).some((range) => range.toBlock >= fromBlock);
}

/** A range that begins earlier than so many others and still reaches a block is not looked for: it is queued twice. */
const LOOKED_BACK = 8;
