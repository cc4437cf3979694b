import { Code } from "@connectrpc/connect";
import { BannedError, SinkError, type TradewireError } from "../../errors/index.js";
import { unixMs } from "../../runtime/index.js";
import { wait } from "../../signal/wait.js";
import type { Budget } from "./budget.js";
import type { Database } from "./database.js";
import { jittered, type Pace } from "./pace.js";

/** Whether a node may be asked: at once, as the one call that finds out whether it is back, or not before a time. */
export type Admission = { readonly case: "free" | "probe" } | { readonly case: "rests"; readonly ms: number };

/** How often a call waits for a budget that others have used up far ahead. */
const MAX_WAITS = 60;
/** A probe that was not heard of for so long has ended with its worker. */
const PROBE_MS = 60_000;
/** The longest error that is shown with a node. */
const MAX_ERROR = 500;

/**
 * Enter nodes into the queue.
 *
 * @param db the queue
 * @param names what the nodes are called
 */
export async function enterNodes(db: Database, names: readonly string[]): Promise<void> {
  const sql = `INSERT INTO ${db.schema}.tradewire_nodes (node) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING`;
  await db.query("entering the nodes", sql, [names]);
}

/**
 * Take a call from the budget that all workers share, a bucket of tokens. Where it is empty, the call is entered in
 * advance, and waits for its time.
 *
 * @param db the queue
 * @param node which node is called
 * @param budget how many calls
 * @param signal ends the wait
 * @throws {@link SinkError} where others have used the budget up for too long; {@link CanceledError}
 */
export async function takeCall(db: Database, node: string, budget: Budget, signal: AbortSignal): Promise<void> {
  const { rate, burst } = budget;
  const level = "least($3, coalesce(tokens, $3) + $2 * greatest(0, extract(epoch FROM clock_timestamp() - filled_at)))";
  const sql = `UPDATE ${db.schema}.tradewire_nodes SET tokens = ${level} - 1, filled_at = clock_timestamp()
    WHERE node = $1 AND ${level} > -$3 RETURNING greatest(0, -tokens) / $2 * 1000 AS ms`;
  for (let attempt = 0; attempt < MAX_WAITS; attempt += 1) {
    const [row] = await db.query<{ ms: number }>("asking for a call", sql, [node, rate, burst]);
    if (row !== undefined) {
      if (row.ms > 0) {
        await wait(row.ms, signal);
      }
      return;
    }
    await wait(jittered((burst / rate) * 1000), signal);
  }
  throw new SinkError(`the budget of calls of ${node} was used up for ${MAX_WAITS} times as long as it lasts`, {
    code: Code.Aborted,
    advice: "Run fewer workers, or raise the calls a second where the node allows it.",
  });
}

/**
 * Ask whether a node may be called. After failures it rests; then one call of all workers' finds out whether it is back.
 *
 * @param db the queue
 * @param node the node
 * @returns whether
 */
export async function admit(db: Database, node: string): Promise<Admission> {
  const table = `${db.schema}.tradewire_nodes`;
  const [state] = await db.query<{ failures: number; ms: number }>(
    "looking at a node",
    `SELECT failures, coalesce(greatest(0, extract(epoch FROM rest_until - now())), 0)::float8 * 1000 AS ms FROM ${table} WHERE node = $1`,
    [node],
  );
  if (state === undefined || state.failures === 0) {
    return { case: "free" };
  }
  if (state.ms > 0) {
    return { case: "rests", ms: state.ms };
  }
  const probe = await db.query(
    "probing a node",
    `UPDATE ${table} SET probe_until = now() + interval '${PROBE_MS} ms' WHERE node = $1 AND failures > 0
       AND (rest_until IS NULL OR rest_until <= now()) AND (probe_until IS NULL OR probe_until < now()) RETURNING 1`,
    [node],
  );
  return probe.length === 1 ? { case: "probe" } : { case: "rests", ms: 1000 };
}

/**
 * Tell all workers that a node answers again.
 *
 * @param db the queue
 * @param node the node
 */
export async function reached(db: Database, node: string): Promise<void> {
  const sql = `UPDATE ${db.schema}.tradewire_nodes SET failures = 0, error = NULL, rest_until = NULL, probe_until = NULL
    WHERE node = $1 AND failures > 0`;
  await db.query("saying that a node answers", sql, [node]);
}

/**
 * Let others probe a node: the call that was to do so is over, whatever it has found.
 *
 * @param db the queue
 * @param node the node
 */
export async function endProbe(db: Database, node: string): Promise<void> {
  const sql = `UPDATE ${db.schema}.tradewire_nodes SET probe_until = NULL WHERE node = $1`;
  await db.query("ending a probe", sql, [node]);
}

/**
 * Tell all workers that a node cannot be reached, or asks to be left alone. It rests, twice as long after each failure;
 * calls that fail while it rests count as one.
 *
 * @param db the queue
 * @param node the node
 * @param error what its call has failed with
 * @param restMs the first and the longest rest
 * @returns whether the node was well before this failure, so that the unit may be what it fails for
 */
export async function unreachable(
  db: Database,
  node: string,
  error: TradewireError,
  [first, longest]: Pace["restMs"],
): Promise<boolean> {
  const asked = error instanceof BannedError ? Math.max(0, error.until.getTime() - unixMs()) : 0;
  const rows = await db.query<{ failures: number }>(
    "saying that a node fails",
    `UPDATE ${db.schema}.tradewire_nodes SET failures = failures + 1, error = $2, probe_until = NULL, rest_until = now() +
       greatest(least($3 * 2.0 ^ least(failures, 20), $4) * (0.5 + random() / 2), $5) * interval '1 ms'
     WHERE node = $1 AND (rest_until IS NULL OR rest_until <= now()) RETURNING failures`,
    [node, error.summary.slice(0, MAX_ERROR), first, longest, asked],
  );
  return rows[0]?.failures === 1;
}
