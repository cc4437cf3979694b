import type { Client, PoolClient, PoolConfig, QueryResultRow } from "pg";
import type PgBoss from "pg-boss";
import { CanceledError, RequestError } from "../../base/errors/index.js";
import { atMost } from "../../base/signal/wait.js";
import { optionalPackage } from "../optional-package.js";
import { assertTrusted, SEARCH_PATH, schemaOid } from "../sinks/postgres/postgres-catalog.js";
import { loadPackages, surviveLoss } from "../sinks/postgres/postgres-connections.js";
import { sinkError } from "../sinks/postgres/postgres-errors.js";
import type { PostgresSink } from "../sinks/postgres/postgres-sink.js";
import type { Target } from "../sinks/postgres/postgres-target.js";
import { DEAD_LETTER_QUEUE, queueSchema, UNIT_QUEUE } from "./jobs.js";

/** Runs statements: a connection, or the pool. */
export type QueryRunner = Pick<Client | PoolClient, "query">;

export interface QueueDatabase extends AsyncDisposable {
  /** The name for people, without the password. */
  readonly name: string;
  /** The queue's schema. It needs no quotes. */
  readonly schema: string;
  /** Roles that may own its objects, besides the connection's own role and superusers. */
  readonly trustedOwners: readonly string[];
  readonly boss: PgBoss;
  /**
   * Runs a statement.
   *
   * @throws {@link SinkError}
   */
  query<Row extends QueryResultRow>(what: string, sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Runs a function in a transaction, which is rolled back if it throws. */
  transaction<T>(what: string, use: (client: PoolClient) => Promise<T>): Promise<T>;
  /** Opens a dedicated connection for session locks. `onLost` is called when it has ended for any reason. */
  connect(what: string, onLost: () => void): Promise<Client>;
  /** Converts an error of `pg`. */
  errorOf(reason: unknown, what: string): Error;
}

/** Maximum number of connections, besides those for locks: all statements are short. */
const MAX_CONNECTIONS = 3;
/** The time limit of a statement. It also detects a server that does not answer. */
const STATEMENT_TIMEOUT_MS = 60_000;
const LOCK_TIMEOUT_MS = 30_000;
/** How long the end of a connection is awaited. */
const END_MS = 5000;

const importBoss = optionalPackage(() => import("pg-boss"), "a queue", "pg-boss", "pg-boss@10");

/**
 * Prepares the database of a queue. Nothing is connected yet.
 *
 * @throws {@link RequestError} if a package is missing
 */
export async function openQueueDatabase(target: Target): Promise<QueueDatabase> {
  const [{ makePool, makeClient }, { default: Boss }] = await Promise.all([loadPackages(), importBoss()]);
  const config = configOf(target);
  const pool = makePool({ ...config, max: MAX_CONNECTIONS });
  const ignore = () => undefined;
  surviveLoss(pool);
  const schema = queueSchema(target.schema);
  let closed = false;

  const errorOf = (reason: unknown, what: string) =>
    closed ? new CanceledError({ cause: reason }) : sinkError(reason, `${target.name}, ${what}`, target.secrets);

  /** Closes a connection after an error, because pg-boss may have begun a transaction on it. */
  async function onConnection<T>(use: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    let lost = true;
    try {
      const result = await use(client);
      lost = false;
      return result;
    } finally {
      client.release(lost);
    }
  }

  async function guarded<T>(what: string, use: (client: PoolClient) => Promise<T>): Promise<T> {
    try {
      return await onConnection(use);
    } catch (reason) {
      throw errorOf(reason, what);
    }
  }

  const executeSql = (text: string, values?: unknown[]) => guarded("the queue", (client) => client.query(text, values));
  const boss = new Boss({
    schema,
    db: { executeSql },
    supervise: false, // The leader maintains the queue instead.
    schedule: false,
    deleteAfterDays: 1,
    archiveCompletedAfterSeconds: 3600,
  });
  boss.on("error", ignore);

  return {
    name: target.name,
    schema,
    trustedOwners: target.trustedOwners,
    boss,
    errorOf,
    async query<Row extends QueryResultRow>(what: string, sql: string, values: readonly unknown[] = []) {
      return guarded(what, async (client) => (await client.query<Row>(sql, [...values])).rows);
    },
    transaction: (what, use) =>
      guarded(what, async (client) => {
        await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
        const result = await use(client);
        await client.query("COMMIT");
        return result;
      }),
    async connect(what, onLost) {
      const client = makeClient(config);
      client.on("error", ignore);
      client.once("end", onLost);
      try {
        await client.connect();
        // The session holds locks, and is idle most of the time.
        await client.query(`SET search_path TO ${SEARCH_PATH}; SET idle_session_timeout TO 0`);
        return inTurn(client);
      } catch (reason) {
        client.removeListener("end", onLost);
        await endConnection(client);
        throw errorOf(reason, what);
      }
    },
    async [Symbol.asyncDispose]() {
      if (!closed) {
        closed = true;
        await pool.end();
      }
    },
  };
}

/** Makes a connection run one statement after the other: `pg` warns of concurrent statements. */
function inTurn(client: Client): Client {
  const query = client.query;
  let last: Promise<unknown> = Promise.resolve();
  return Object.assign(client, {
    query(...statement: readonly unknown[]) {
      const result = last.then(() => Reflect.apply(query, client, statement));
      last = result.catch(() => undefined);
      return result;
    },
  });
}

/** Returns the executor of pg-boss's statements, in a transaction or on a connection with a lock. */
export function executorOf(client: QueryRunner): PgBoss.Db & { readonly failure: () => unknown } {
  let failure: unknown;
  return {
    failure: () => failure,
    async executeSql(text, values) {
      try {
        return await client.query(text, values);
      } catch (reason) {
        failure = reason; // pg-boss's fetch hides it.
        throw reason;
      }
    },
  };
}

/** Ends a connection. If the other side does not respond, it is abandoned. */
export async function endConnection(client: Client): Promise<void> {
  await atMost(
    client.end().catch(() => undefined),
    END_MS,
  );
}

/**
 * Returns where a sink is stored, because its queue is in the same database.
 *
 * @throws {@link RequestError} if it is another kind of sink
 */
export function targetOfSink(sink: Pick<PostgresSink, "target">): Target {
  if (typeof sink?.target !== "function") {
    throw new RequestError("a queue needs a PostgreSQL sink", { advice: "Use a result of postgresSink()." });
  }
  return sink.target();
}

/** A pool's password and certificates are not enumerable. */
function configOf({ pool }: Target): PoolConfig {
  const given = "connect" in pool ? pool.options : pool;
  const { password, ssl } = given;
  return {
    ...given,
    ...(password !== undefined && { password }),
    ...(ssl !== undefined && { ssl }),
    keepAlive: true,
    query_timeout: STATEMENT_TIMEOUT_MS + 5000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    fallback_application_name: "tradewire queue",
  };
}

/** Ten years, in minutes: waiting units and dead letters are retained until they are processed. */
const KEEP_MINUTES = 10 * 366 * 24 * 60;

/** The queue's own tables, in addition to pg-boss's. */
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
 * Returns whether a queue is installed.
 *
 * @throws {@link SinkError} if something in its schema belongs to a role that is not trusted
 */
export async function isQueueInstalled(db: QueueDatabase): Promise<boolean> {
  await db.transaction("finding the queue", async (client) => {
    const number = await schemaOid(client, db.schema);
    if (number !== undefined) {
      await assertTrusted(client, number, db);
    }
  });
  const sql = "SELECT to_regclass($1) IS NOT NULL AND to_regclass($2) IS NOT NULL AS there";
  const names = [`${db.schema}.tradewire_nodes`, `${db.schema}.version`];
  const [row] = await db.query<{ there: boolean }>("finding the queue", sql, names);
  return row?.there === true;
}

/** Creates the missing parts of a queue: pg-boss's schema, and the additional tables. Concurrent calls are safe. */
export async function installQueue(db: QueueDatabase): Promise<void> {
  if (await isQueueInstalled(db)) {
    await db.boss.start();
    return;
  }
  const lock = `tradewire queue ${db.schema}`;
  await db.transaction("creating the queue", async (client) => {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [lock]);
    await db.boss.start();
    await db.boss.createQueue(DEAD_LETTER_QUEUE, { name: DEAD_LETTER_QUEUE });
    await db.boss.createQueue(UNIT_QUEUE, {
      name: UNIT_QUEUE,
      deadLetter: DEAD_LETTER_QUEUE,
      retentionMinutes: KEEP_MINUTES,
    });
    await client.query(tables(db.schema));
  });
}

export async function readQueueChain(db: QueueDatabase): Promise<string | undefined> {
  const sql = `SELECT chain_id FROM ${db.schema}.tradewire_queue`;
  const [row] = await db.query<{ chain_id: string | null }>("reading the chain", sql);
  return row?.chain_id ?? undefined;
}
