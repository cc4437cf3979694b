import { once } from "node:events";
import type { PGlite } from "@electric-sql/pglite";
import type { LocalChain } from "../core/chain.js";
import type { Conditions } from "./conditions.js";
import type { Row } from "./row.js";

/** What a stream tells of. Statistics count the open streams of each kind. */
export type Subject = "account" | "order" | "position" | "trade" | "marketData" | "marketDepth";

/**
 * Wait for blocks until the caller ends the stream.
 *
 * @param subject what the stream tells of
 * @param signal aborted when the caller ends the stream
 * @param changes gives the messages of what changed since it was called last; called after each block
 * @returns the messages
 */
export type Watch = <M = never>(
  subject: Subject,
  signal: AbortSignal,
  changes?: () => AsyncIterable<M>,
) => AsyncGenerator<M, void>;

/** The streams of a node: what keeps them open, and how many there are. */
export interface Streams {
  readonly watch: Watch;
  /** The number of open streams. */
  open(subject: Subject): number;
}

/**
 * Make what keeps the streams of a node open.
 *
 * @param chain tells of its blocks
 * @returns the function that waits for blocks, and the count of open streams
 */
export function createStreams({ events }: Pick<LocalChain, "events">): Streams {
  const counts = new Map<Subject, number>();
  const count = (subject: Subject) => counts.get(subject) ?? 0;
  return {
    open: count,
    async *watch(subject, signal, changes) {
      counts.set(subject, count(subject) + 1);
      try {
        while (!signal.aborted) {
          // The next block is waited for before changes are read, so that none falls between.
          const block = once(events, "block", { signal }).catch(() => undefined);
          if (changes !== undefined) {
            yield* changes();
          }
          await block;
        }
      } finally {
        counts.set(subject, count(subject) - 1);
      }
    },
  };
}

/** The most records of one message of a snapshot, as on deployed nodes. */
const SNAPSHOT_PAGE = 50;

/**
 * Read the rows that a stream begins with.
 *
 * @param pg the database
 * @param tables the tables
 * @param conditions the conditions that rows must meet
 * @returns pages of rows, the last one marked; one empty page where there are no rows
 */
export async function* readSnapshot(
  pg: PGlite,
  tables: readonly string[],
  { sql, parameters }: Conditions,
): AsyncGenerator<{ readonly rows: readonly Row[]; readonly lastPage: boolean }, void> {
  const where = sql.length === 0 ? "" : `WHERE ${sql.join(" AND ")}`;
  const queries = tables.map((table) => `SELECT * FROM ${table} ${where}`);
  const { rows } = await pg.query<Row>(queries.join(" UNION ALL "), [...parameters]);
  for (let start = 0; start === 0 || start < rows.length; start += SNAPSHOT_PAGE) {
    const end = start + SNAPSHOT_PAGE;
    yield { rows: rows.slice(start, end), lastPage: end >= rows.length };
  }
}
