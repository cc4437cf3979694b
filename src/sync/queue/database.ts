import type { Client, PoolClient, PoolConfig, QueryResultRow } from "pg";
import type PgBoss from "pg-boss";
import { CanceledError, RequestError } from "../../errors/index.js";
import { startTimer } from "../../runtime/index.js";
import { surviveLoss } from "../sinks/postgres/connections.js";
import { sinkError } from "../sinks/postgres/errors.js";
import { loadPackages } from "../sinks/postgres/packages.js";
import type { PostgresSink } from "../sinks/postgres/postgres-sink.js";
import type { Target } from "../sinks/postgres/target.js";
import { SEARCH_PATH } from "../sinks/postgres/trust.js";
import { queueSchema } from "./names.js";

/** What runs statements: a connection, or the pool. */
export type Runner = Pick<Client | PoolClient, "query">;

/** The database of a queue. */
export interface Database extends AsyncDisposable {
  /** For people, without the password. */
  readonly name: string;
  /** The queue's schema. It needs no quotes. */
  readonly schema: string;
  /** Roles that may own what is in it, besides the connection's own and superusers. */
  readonly trustedOwners: readonly string[];
  readonly boss: PgBoss;
  /**
   * Run a statement.
   *
   * @param what is being done, for errors
   * @param sql the statement
   * @param values its parameters
   * @returns the rows
   * @throws {@link SinkError}
   */
  query<Row extends QueryResultRow>(what: string, sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Run a function in a transaction, which is rolled back where it throws. */
  transaction<T>(what: string, use: (client: PoolClient) => Promise<T>): Promise<T>;
  /** Open a connection of its own, for locks of the session. `onLost` is called once it has ended, however it did. */
  connect(what: string, onLost: () => void): Promise<Client>;
  /** Make an error of what `pg` threw. */
  errorOf(reason: unknown, what: string): Error;
}

/** Connections of a queue at once, besides those for locks: what it does is short. */
const MAX_CONNECTIONS = 3;
/** What a statement of the queue may take. A server that does not answer is noticed by it. */
const STATEMENT_TIMEOUT_MS = 60_000;
const LOCK_TIMEOUT_MS = 30_000;
/** How long the end of a connection is waited for. */
const END_MS = 5000;

/**
 * Prepare the database of a queue. Nothing is connected yet.
 *
 * @param target the sink's PostgreSQL and schema
 * @returns the database, whose connections end when it is disposed of
 * @throws {@link RequestError} where a package is missing
 */
export async function openDatabase(target: Target): Promise<Database> {
  const [{ makePool, Client: OwnClient }, { default: Boss }] = await Promise.all([
    loadPackages(),
    import("pg-boss").catch((cause: unknown) => {
      throw new RequestError("the package pg-boss cannot be loaded, which a queue needs", {
        advice: "Install it: npm install pg-boss@10",
        cause,
        section: "requesterror-missing-package",
      });
    }),
  ]);
  const config = configOf(target);
  const pool = makePool({ ...config, max: MAX_CONNECTIONS });
  const ignore = () => undefined;
  surviveLoss(pool);
  const schema = queueSchema(target.schema);
  let closed = false;

  const errorOf = (reason: unknown, what: string) =>
    closed ? new CanceledError({ cause: reason }) : sinkError(reason, `${target.name}, ${what}`, target.secrets);

  /** A connection whose statement has failed may be within a transaction that pg-boss began, so that it is closed. */
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
    supervise: false, // The leader does what that would do.
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
      const client = new OwnClient(config);
      client.on("error", ignore);
      client.once("end", onLost);
      try {
        await client.connect();
        await client.query(`SET search_path TO ${SEARCH_PATH}; SET idle_session_timeout TO 0`); // It has locks, and mostly nothing to say.
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

/** Lets a connection run one statement after the other: `pg` warns of statements that wait for others in it. */
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

/** What pg-boss runs its statements by, within a transaction or on a connection with a lock. */
export function dbOf(client: Runner): PgBoss.Db & { readonly failure: () => unknown } {
  let failure: unknown;
  return {
    failure: () => failure,
    async executeSql(text, values) {
      try {
        return await client.query(text, values);
      } catch (reason) {
        failure = reason; // pg-boss's fetch keeps it to itself.
        throw reason;
      }
    },
  };
}

/**
 * End a connection. Where the other side does not answer, it is left to itself.
 *
 * @param client the connection
 */
export async function endConnection(client: Client): Promise<void> {
  const ended = client.end().catch(() => undefined);
  await new Promise<void>((resolve) => {
    const stopTimer = startTimer(resolve, END_MS, { ref: false });
    void ended.then(() => {
      stopTimer();
      resolve();
    });
  });
}

/**
 * Get where a sink is, beside which a queue stands.
 *
 * @param sink the sink
 * @returns its PostgreSQL and schema
 * @throws {@link RequestError} where it is a sink of another kind
 */
export function placeOf(sink: Pick<PostgresSink, "place">): Target {
  if (typeof sink?.place !== "function") {
    throw new RequestError("a queue needs a sink in PostgreSQL", { advice: "Give what postgresSink() has made." });
  }
  return sink.place();
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
