import { schemaNumber } from "../sinks/postgres/catalog.js";
import { requireTrusted } from "../sinks/postgres/trust.js";
import type { Database } from "./database.js";
import { DEAD, UNITS } from "./names.js";

/** Ten years, in minutes: what waits, or was tried too often, stays until somebody has looked. */
const KEEP_MINUTES = 10 * 366 * 24 * 60;

/** The queue's own tables, beside pg-boss's. */
const tables = (schema: string) => `
CREATE TABLE IF NOT EXISTS ${schema}.tradewire_queue (
  only_one bool PRIMARY KEY DEFAULT true CHECK (only_one),
  chain_id text,
  leader text,
  led_at timestamptz,
  plan text,
  reaped_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO ${schema}.tradewire_queue DEFAULT VALUES ON CONFLICT DO NOTHING;
CREATE TABLE IF NOT EXISTS ${schema}.tradewire_workers (
  id uuid PRIMARY KEY,
  host text NOT NULL,
  pid int4 NOT NULL,
  since timestamptz NOT NULL DEFAULT now(),
  beat_at timestamptz NOT NULL DEFAULT now(),
  steady_since timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS ${schema}.tradewire_claims (
  job_id uuid PRIMARY KEY,
  worker_id uuid NOT NULL,
  node text NOT NULL,
  began_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS ${schema}.tradewire_nodes (
  node text PRIMARY KEY,
  tokens float8,
  filled_at timestamptz NOT NULL DEFAULT now(),
  failures int4 NOT NULL DEFAULT 0,
  error text,
  rest_until timestamptz,
  probe_until timestamptz
)`;

/**
 * Tell whether a queue is there.
 *
 * @param db its database
 * @returns whether it was installed to the end
 * @throws {@link SinkError} where something in its schema belongs to a role that is not trusted
 */
export async function isInstalled(db: Database): Promise<boolean> {
  await db.transaction("looking for the queue", async (client) => {
    const number = await schemaNumber(client, db.schema);
    if (number !== undefined) {
      await requireTrusted(client, number, db);
    }
  });
  const sql = "SELECT to_regclass($1) IS NOT NULL AND to_regclass($2) IS NOT NULL AS there";
  const names = [`${db.schema}.tradewire_nodes`, `${db.schema}.version`];
  const [row] = await db.query<{ there: boolean }>("looking for the queue", sql, names);
  return row?.there === true;
}

/**
 * Make the queue, as far as it is missing: pg-boss's schema, and the tables of ours in it. Many may do so at once.
 *
 * @param db its database
 */
export async function install(db: Database): Promise<void> {
  if (await isInstalled(db)) {
    await db.boss.start();
    return;
  }
  const lock = `tradewire queue ${db.schema}`;
  await db.transaction("making the queue", async (client) => {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [lock]);
    await db.boss.start();
    await db.boss.createQueue(DEAD, { name: DEAD });
    await db.boss.createQueue(UNITS, { name: UNITS, deadLetter: DEAD, retentionMinutes: KEEP_MINUTES });
    await client.query(tables(db.schema));
  });
}

/**
 * Read which chain a queue is of.
 *
 * @param db its database, where it is installed
 * @returns the chain; `undefined` before a planner has led
 */
export async function chainOfQueue(db: Database): Promise<string | undefined> {
  const sql = `SELECT chain_id FROM ${db.schema}.tradewire_queue`;
  const [row] = await db.query<{ chain_id: string | null }>("looking for the chain", sql);
  return row?.chain_id ?? undefined;
}
