import type { Client, ClientConfig, Pool, PoolClient, PoolConfig, QueryConfig } from "pg";
import { Code } from "../../../base/errors/code.js";
import { CanceledError, RequestError } from "../../../base/errors/index.js";
import { valueTypes } from "../../../base/postgres.js";
import { linkedController, onAbort, raceAbort } from "../../../base/signal/abort.js";
import { createTurns, type Turns } from "../../../base/signal/turns.js";
import { optionalPackage } from "../../optional-package.js";
import { SEARCH_PATH } from "./postgres-catalog.js";
import { FetchError, sinkError } from "./postgres-errors.js";
import type { Target } from "./postgres-target.js";

export interface Connections extends AsyncDisposable {
  readonly copyFrom: Packages["copyFrom"];
  /**
   * Runs a function in a transaction with READ COMMITTED. The search path has only PostgreSQL's own functions, so
   * tables are named with their schema. The transaction is committed when the function returns, and rolled back if it
   * throws.
   *
   * @throws {@link SinkError}, {@link CanceledError}; errors of this library that the function threw, unchanged
   */
  transaction<T>(
    what: string,
    options: { readonly signal?: AbortSignal | undefined; readonly spare?: boolean },
    use: (client: PoolClient) => Promise<T>,
  ): Promise<T>;
}

interface PoolTurns {
  readonly loading: Turns;
  readonly spare: Turns;
}

/**
 * The turns of each pool. Sinks that share a pool share its turns, because otherwise their loads would wait for each
 * other's spare connection. The listener for lost connections stays, because connections may end after the sink, and an
 * error without a listener would end the process.
 */
const pools = new WeakMap<Pool, PoolTurns>();

/**
 * Prepares the connections. Nothing is connected before the first transaction.
 *
 * @throws {@link RequestError} if a package is missing, or the caller's pool is too small
 */
export async function openConnections(
  target: Target,
  signal: AbortSignal,
  onLost: () => void = () => undefined,
): Promise<Connections> {
  const { makePool, copyFrom } = await loadPackages();
  const own = "connect" in target.pool ? undefined : makePool(target.pool);
  const pool = own ?? (target.pool as Pool);
  if (pool.options.max < 2) {
    throw new RequestError("the PostgreSQL pool has only one connection", {
      advice: "Use a pool with a `max` of at least 2: one connection is reserved for short changes.",
    });
  }
  const { loading, spare } = turnsOf(pool);
  pool.on("error", onLost);
  const closing = linkedController(signal);
  const begin = beginSql();

  return {
    copyFrom,
    async transaction(what, options, use) {
      const ending = linkedController(closing.signal, options.signal);
      const turns = options.spare === true ? spare : loading;
      try {
        return await turns.run("", ending.signal, () => inTransaction(pool, begin, ending.signal, use));
      } catch (reason) {
        if (ending.signal.aborted) {
          throw new CanceledError({ cause: reason });
        }
        if (reason instanceof FetchError) {
          throw reason.reason;
        }
        const error = sinkError(reason, `${target.name}, ${what}`, target.secrets);
        if (error.code === Code.Unavailable) {
          onLost();
        }
        throw error;
      } finally {
        ending.abort(); // Removes the listeners.
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      pool.removeListener("error", onLost);
      if (own !== undefined && !own.ending) {
        await own.end();
      }
    },
  };
}

async function inTransaction<T>(
  pool: Pool,
  begin: string,
  signal: AbortSignal,
  use: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await connected(pool, signal);
  let held = true;
  const release = (destroy: boolean) => {
    if (held) {
      held = false;
      client.release(destroy);
    }
  };
  const onError = () => release(true); // The pending query fails by itself; without a listener the process would end.
  client.on("error", onError);
  const leave = onAbort(signal, () => release(true));
  try {
    signal.throwIfAborted();
    const own = withOwnTypes(client);
    await own.query(begin);
    const result = await use(own);
    signal.throwIfAborted();
    await client.query("COMMIT");
    return result;
  } catch (reason) {
    if (held) {
      await client.query("ROLLBACK").catch(() => release(true));
    }
    throw reason;
  } finally {
    leave();
    client.removeListener("error", onError);
    release(false);
  }
}

/** Returns a connection whose values are parsed as this library expects it, whatever the pool's are. */
function withOwnTypes(client: PoolClient): PoolClient {
  const query = (statement: string | QueryConfig | object, values?: unknown[]): unknown =>
    typeof statement === "string"
      ? client.query({ text: statement, ...(values && { values }), types: valueTypes })
      : Reflect.apply(client.query, client, [statement, values]); // A COPY, which has no values.
  return new Proxy(client, {
    get(target, key) {
      const value: unknown = key === "query" ? query : Reflect.get(target, key);
      return typeof value === "function" && key !== "query" ? value.bind(target) : value;
    },
  });
}

/** Returns a connection of the pool. One that arrives after the abort is released. */
async function connected(pool: Pool, signal: AbortSignal): Promise<PoolClient> {
  signal.throwIfAborted();
  const connecting = pool.connect();
  try {
    return await raceAbort(connecting, signal);
  } catch (reason) {
    connecting.then(
      (client) => client.release(),
      () => undefined,
    );
    throw reason;
  }
}

export function surviveLoss(pool: Pool): void {
  pool.on("error", () => undefined); // Lost while idle, for example because the server restarted: the pool has dropped it.
  // Lost before the caller could listen. Its first statement fails, too.
  pool.on("connect", (client) => client.on("error", () => undefined));
}

function turnsOf(pool: Pool): PoolTurns {
  const known = pools.get(pool);
  const turns = known ?? { loading: createTurns(pool.options.max - 1), spare: createTurns(1) };
  if (known === undefined) {
    pools.set(pool, turns);
    surviveLoss(pool);
  }
  return turns;
}

/** How long a lock is awaited. Locks that are held longer belong to other work; the transaction is then retried. */
const LOCK_TIMEOUT_MS = 30_000;

/**
 * How long a transaction may be idle between two statements. A frozen process holds no lock for longer, and so for less
 * than the lock timeout of others. Transactions that fetch a unit lift the limit by {@link idleTimeoutSql}.
 */
const IDLE_TIMEOUT_MS = 10_000;
/** How often the server checks during a long statement whether the client is still connected. */
const LOOK_MS = 10_000;

/**
 * Returns the statements that begin a transaction. They override settings of the operator only in this transaction, so
 * that the connections of a caller's pool can be used, too.
 */
function beginSql(): string {
  return [
    "BEGIN ISOLATION LEVEL READ COMMITTED",
    `SET LOCAL search_path TO ${SEARCH_PATH}`,
    "SET LOCAL client_encoding TO 'UTF8'",
    "SET LOCAL datestyle TO 'ISO, YMD'",
    "SET LOCAL timezone TO 'UTC'",
    "SET LOCAL bytea_output TO 'hex'",
    "SET LOCAL statement_timeout TO 0",
    idleTimeoutSql(false),
    // PostgreSQL 17 or later has it.
    "SELECT set_config('transaction_timeout', '0', true) WHERE current_setting('transaction_timeout', true) IS NOT NULL",
    // Other systems may refuse it.
    `SELECT set_config('client_connection_check_interval', '${LOOK_MS}', true) WHERE version() ~ 'linux|darwin|bsd'`,
    `SET LOCAL lock_timeout TO ${LOCK_TIMEOUT_MS}`,
    // The server notices within two minutes that a machine is gone, and releases its locks.
    "SET LOCAL tcp_keepalives_idle TO 60",
    "SET LOCAL tcp_keepalives_interval TO 10",
    "SET LOCAL tcp_keepalives_count TO 6",
  ].join("; ");
}

/** Returns the statement that lifts or restores the limit of idle time for the rest of a transaction. */
export function idleTimeoutSql(isUnlimited: boolean): string {
  return `SET LOCAL idle_in_transaction_session_timeout TO ${isUnlimited ? 0 : IDLE_TIMEOUT_MS}`;
}

const PACKAGES = "pg pg-copy-streams";
const importPg = optionalPackage(() => import("pg"), "syncing to PostgreSQL", "pg", PACKAGES);
const importCopy = optionalPackage(
  () => import("pg-copy-streams"),
  "syncing to PostgreSQL",
  "pg-copy-streams",
  PACKAGES,
);

/**
 * Loads the packages for PostgreSQL. They are optional peers.
 *
 * @throws {@link RequestError} if one is not installed
 */
export async function loadPackages() {
  const [pg, { from }] = await Promise.all([importPg(), importCopy()]);
  /** Verifies certificates unless the target says otherwise: Node's environment must not turn that off. */
  class VerifyingClient extends pg.Client {
    constructor(config?: string | ClientConfig) {
      super(config);
      const connection: unknown = Reflect.get(this, "connection");
      if (typeof connection === "object" && connection !== null) {
        Reflect.set(connection, "ssl", verified(Reflect.get(connection, "ssl")));
      }
    }
  }
  /**
   * Sets the safe search path before the first statement. After a failure on this side, for example without a password,
   * it closes the connection, which would keep the process alive.
   */
  class EndingClient extends VerifyingClient {
    constructor(config?: string | ClientConfig) {
      super(config);
      // A connection can be lost before the pool listens to it, and an error without a listener would end the process.
      // Its statement fails, too.
      this.on("error", () => undefined);
    }

    override connect(): Promise<Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<Client> | undefined {
      if (callback === undefined) {
        return super.connect();
      }
      super.connect((error: Error) => {
        if (error) {
          this.end().catch(() => undefined);
          callback(error);
          return;
        }
        this.query(`SET search_path TO ${SEARCH_PATH}`).then(
          () => callback(error),
          (reason: Error) => {
            this.end().catch(() => undefined);
            callback(reason);
          },
        );
      });
      return undefined;
    }
  }
  const makePool = (config: PoolConfig): Pool => new pg.Pool({ ...config, types: valueTypes, Client: EndingClient });
  const makeClient = (config: ClientConfig): Client => new VerifyingClient({ ...config, types: valueTypes });
  return { makePool, makeClient, copyFrom: from };
}

/** Adds the verification of certificates to options of TLS that do not mention it. The key is not enumerable. */
function verified(ssl: unknown): unknown {
  if (ssl === true) {
    return { rejectUnauthorized: true };
  }
  if (typeof ssl !== "object" || ssl === null || Reflect.get(ssl, "rejectUnauthorized") !== undefined) {
    return ssl;
  }
  return Object.defineProperties({ rejectUnauthorized: true }, Object.getOwnPropertyDescriptors(ssl));
}

/** The result of {@link loadPackages}. */
export type Packages = Awaited<ReturnType<typeof loadPackages>>;
