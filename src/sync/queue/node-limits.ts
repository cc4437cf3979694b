import { Code } from "../../base/errors/code.js";
import { BannedError, SinkError, type TradewireError } from "../../base/errors/index.js";
import { unixMs } from "../../base/runtime/index.js";
import { wait } from "../../base/signal/wait.js";
import type { SyncClient } from "../sync-options.js";
import type { QueueDatabase } from "./queue-database.js";
import { type CallBudget, jittered, type QueueTimings } from "./queue-options.js";

/** Whether a node may be called: now, as the probe that checks whether it has recovered, or only after some time. */
export type NodeAccess = "free" | "probe" | "rests";

/** How often a call waits while others have used up the budget in advance. */
const MAX_WAITS = 60;
/** A probe without a result for this time has ended with its worker. */
const PROBE_MS = 60_000;
/** Maximum length of the error that is stored with a node. */
const MAX_ERROR = 500;

export async function registerNodes(db: QueueDatabase, names: readonly string[]): Promise<void> {
  const sql = `INSERT INTO ${db.schema}.tradewire_nodes (node) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING`;
  await db.query("registering the nodes", sql, [names]);
}

/**
 * Takes a call from the token bucket that all workers share. If it is empty, the call is reserved in
 * advance, and waits for its time.
 *
 * @throws {@link SinkError} if others have used up the budget for too long; {@link CanceledError}
 */
export async function takeCallToken(
  db: QueueDatabase,
  node: string,
  budget: CallBudget,
  signal: AbortSignal,
): Promise<void> {
  const { rate, burst } = budget;
  const level = "least($3, coalesce(tokens, $3) + $2 * greatest(0, extract(epoch FROM clock_timestamp() - filled_at)))";
  const sql = `UPDATE ${db.schema}.tradewire_nodes SET tokens = ${level} - 1, filled_at = clock_timestamp()
    WHERE node = $1 AND ${level} > -$3 RETURNING greatest(0, -tokens) / $2 * 1000 AS ms`;
  for (let attempt = 0; attempt < MAX_WAITS; attempt += 1) {
    const [row] = await db.query<{ ms: number }>("requesting a call", sql, [node, rate, burst]);
    if (row !== undefined) {
      if (row.ms > 0) {
        await wait(row.ms, signal);
      }
      return;
    }
    await wait(jittered((burst / rate) * 1000), signal);
  }
  throw new SinkError(`the call budget of ${node} stayed exhausted for ${MAX_WAITS} times its period`, {
    code: Code.Aborted,
    advice: "Run fewer workers, or raise the calls per second if the node allows it.",
  });
}

/**
 * Returns whether a node may be called. After failures it gets no calls for a while; then one call by any worker probes it.
 */
export async function admit(db: QueueDatabase, node: string): Promise<NodeAccess> {
  const table = `${db.schema}.tradewire_nodes`;
  const [state] = await db.query<{ failures: number; rests: boolean }>(
    "reading the state of a node",
    `SELECT failures, coalesce(rest_until > now(), false) AS rests FROM ${table} WHERE node = $1`,
    [node],
  );
  if (state === undefined || state.failures === 0) {
    return "free";
  }
  if (state.rests) {
    return "rests";
  }
  const probe = await db.query(
    "probing a node",
    `UPDATE ${table} SET probe_until = now() + interval '${PROBE_MS} ms' WHERE node = $1 AND failures > 0
       AND (rest_until IS NULL OR rest_until <= now()) AND (probe_until IS NULL OR probe_until < now()) RETURNING 1`,
    [node],
  );
  return probe.length === 1 ? "probe" : "rests";
}

/** Records for all workers that a node answers again. */
export async function markReachable(db: QueueDatabase, node: string): Promise<void> {
  const sql = `UPDATE ${db.schema}.tradewire_nodes SET failures = 0, error = NULL, rest_until = NULL, probe_until = NULL
    WHERE node = $1 AND failures > 0`;
  await db.query("recording that a node responds", sql, [node]);
}

/** Ends a probe, whatever its result, so that other workers may probe the node. */
export async function endProbe(db: QueueDatabase, node: string): Promise<void> {
  const sql = `UPDATE ${db.schema}.tradewire_nodes SET probe_until = NULL WHERE node = $1`;
  await db.query("ending a probe", sql, [node]);
}

/**
 * Records for all workers that a node is unreachable, or asks for a pause. The delay before its next call doubles with
 * each failure; calls that fail during the delay count as one.
 */
export async function markUnreachable(
  db: QueueDatabase,
  node: string,
  error: TradewireError,
  [first, longest]: QueueTimings["nodeBackoffMs"],
): Promise<boolean> {
  const asked = error instanceof BannedError ? Math.max(0, error.until.getTime() - unixMs()) : 0;
  const rows = await db.query<{ failures: number }>(
    "recording a failure of a node",
    `UPDATE ${db.schema}.tradewire_nodes SET failures = failures + 1, error = $2, probe_until = NULL, rest_until = now() +
       greatest(least($3 * 2.0 ^ least(failures, 20), $4) * (0.5 + random() / 2), $5) * interval '1 ms'
     WHERE node = $1 AND (rest_until IS NULL OR rest_until <= now()) RETURNING failures`,
    [node, error.summary.slice(0, MAX_ERROR), first, longest, asked],
  );
  return rows[0]?.failures === 1;
}

/** Returns the names of nodes, by which all workers share what they know about them. */
export function nodeNames(clients: readonly SyncClient[]): string[] {
  return clients.map(({ name }, index) => name ?? (clients.length === 1 ? "the node" : `node ${index + 1}`));
}

/** Returns clients whose listing calls count towards the limits that all planners and workers share. */
export function withListingBudget(
  db: QueueDatabase,
  clients: readonly SyncClient[],
  budget: CallBudget,
  signal: AbortSignal,
): SyncClient[] {
  const names = nodeNames(clients);
  return clients.map((client, index) => ({
    name: names[index],
    exportNetworkHistory: (request, options) => client.exportNetworkHistory(request, options),
    ...(client.dataNodeLag && { dataNodeLag: client.dataNodeLag.bind(client) }),
    async listSegments(options) {
      await takeCallToken(db, names[index] ?? "", budget, options?.signal ?? signal);
      return client.listSegments(options);
    },
  }));
}
