import { Code } from "@connectrpc/connect";
import type { Pool, PoolClient } from "pg";
import { CanceledError, RequestError } from "../../../errors/index.js";
import { follow, followingController } from "../../../signal/follow.js";
import { FetchFailed, sinkError } from "./errors.js";
import { loadPackages, type Packages } from "./packages.js";
import { makeSlots, type Slots } from "./slots.js";
import type { Target } from "./target.js";
import { beginSql } from "./transaction-settings.js";

/** The connections of a sink. */
export interface Connections extends AsyncDisposable {
  readonly copyFrom: Packages["copyFrom"];
  /**
   * Run a function in a transaction, READ COMMITTED, with PostgreSQL's own functions alone in the search path: tables
   * are named with their schema. It is committed when the function has returned, and rolled back when it has thrown.
   *
   * @param what is being done, for errors, such as `loading trades`
   * @param options a signal that ends all waits by closing the connection; `spare` takes the connection that is kept
   *   for short changes, so that these do not wait for those that load
   * @param use is given the connection
   * @returns what the function returns
   * @throws {@link SinkError}, {@link CanceledError}; errors of this library that the function threw, unchanged
   */
  transaction<T>(
    what: string,
    options: { readonly signal?: AbortSignal | undefined; readonly spare?: boolean },
    use: (client: PoolClient) => Promise<T>,
  ): Promise<T>;
}

/** How many transactions of a pool may run at once. */
interface PoolSlots {
  readonly loading: Slots;
  readonly spare: Slots;
}

/**
 * What is known of pools. Sinks that share a pool share its slots, or those that load would wait for the spare
 * connection of each other. A lost connection of theirs ends no process: they have one listener for good, as connections
 * end after a sink, too.
 */
const pools = new WeakMap<Pool, PoolSlots>();

/**
 * Prepare to connect. Nothing is connected before a transaction is asked for.
 *
 * @param target where to
 * @param signal ends all that is under way
 * @param onLost called when a connection was lost, whoever had it
 * @returns the connections, which end when they are disposed of; a pool that was given stays
 * @throws {@link RequestError} where a package is missing, or the pool that was given is too small
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
    throw new RequestError("the pool for PostgreSQL has a single connection", {
      advice: "Give a pool with `max` of 2 or more: one connection is kept for short changes.",
    });
  }
  const { loading, spare } = slotsOf(pool);
  pool.on("error", onLost);
  const closing = followingController(signal);
  const begin = beginSql();

  return {
    copyFrom,
    async transaction(what, options, use) {
      const ending = followingController(options.signal);
      const leave = follow(closing.signal, () => ending.abort());
      const slots = options.spare === true ? spare : loading;
      try {
        if (closing.signal.aborted) {
          throw new CanceledError();
        }
        await slots.take(ending.signal);
        try {
          return await inTransaction(pool, begin, ending.signal, use);
        } finally {
          slots.give();
        }
      } catch (reason) {
        if (ending.signal.aborted) {
          throw new CanceledError({ cause: reason });
        }
        if (reason instanceof FetchFailed) {
          throw reason.reason;
        }
        const error = sinkError(reason, `${target.name}, ${what}`, target.secrets);
        if (error.code === Code.Unavailable) {
          onLost();
        }
        throw error;
      } finally {
        leave();
        ending.abort(); // Nothing stays at the caller's signal.
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
  const onError = () => release(true); // What waits is told by its query; without a listener the process would end.
  client.on("error", onError);
  const leave = follow(signal, () => release(true));
  try {
    signal.throwIfAborted();
    await client.query(begin);
    const result = await use(client);
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

/** A connection of the pool. One that comes too late is given back. */
function connected(pool: Pool, signal: AbortSignal): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const leave = follow(signal, () => reject(signal.reason));
    pool.connect().then(
      (client) => {
        leave();
        if (signal.aborted) {
          client.release();
        }
        resolve(client);
      },
      (reason: unknown) => {
        leave();
        reject(reason);
      },
    );
  });
}

/**
 * Let no lost connection of a pool end the process.
 *
 * @param pool the pool, before it connects
 */
export function surviveLoss(pool: Pool): void {
  pool.on("error", () => undefined); // Lost while idle, as when the server is restarted: the pool has dropped it.
  // Lost before whoever has asked for it can listen. Its first statement fails, too.
  pool.on("connect", (client) => client.on("error", () => undefined));
}

function slotsOf(pool: Pool): PoolSlots {
  const known = pools.get(pool);
  const slots = known ?? { loading: makeSlots(pool.options.max - 1), spare: makeSlots(1) };
  if (known === undefined) {
    pools.set(pool, slots);
    surviveLoss(pool);
  }
  return slots;
}
