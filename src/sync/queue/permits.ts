import type { Client } from "pg";
import { type Database, endConnection } from "./database.js";

/** Leave to have an export of a node under way. */
export interface Permit {
  /** Aborted where it was lost with its connection: the export has to end, too. */
  readonly signal: AbortSignal;
  /** Give it back. */
  release(): Promise<void>;
}

/** The permits of a worker. */
export interface Permits extends AsyncDisposable {
  /**
   * Take a permit, if one is free.
   *
   * @param node what the node is called by all workers
   * @returns the permit; `undefined` where as many exports of the node are under way as may be
   * @throws {@link SinkError}
   */
  take(node: string): Promise<Permit | undefined>;
}

/**
 * Limit the exports of each node over all workers. Each has its slots, which are locks of the session of a connection
 * that the worker keeps for them. Such a lock lives as long as the worker's sockets do, and so as long as its exports at
 * the node: it is free at once where the worker is killed, and still held where the worker is frozen and the node goes
 * on sending. A table of leases would end them by the clock instead, while exports go on.
 *
 * @param db the queue
 * @param perNode how many exports of a node at once
 * @returns the permits
 */
export function createPermits(db: Database, perNode: number): Permits {
  const held = new Map<string, Set<number>>();
  let connection: { readonly client: Promise<Client>; readonly lost: AbortController } | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function connected() {
    if (connection === undefined) {
      const lost = new AbortController();
      const opened = { client: db.connect("asking for permits", () => drop(lost)), lost };
      opened.client.catch(() => drop(lost));
      connection = opened;
    }
    return connection;
  }

  function drop(lost: AbortController): void {
    if (connection?.lost === lost) {
      connection = undefined;
      held.clear();
    }
    lost.abort();
  }

  async function takeNext(node: string): Promise<Permit | undefined> {
    const { client: opening, lost } = connected();
    const what = "asking for a permit";
    try {
      const client = await opening;
      const slots = held.get(node) ?? new Set();
      // A session may take its own lock again. A condition of the other one alone would be free to come second.
      const { rows } = await client.query<{ slot: number }>(
        `SELECT slot FROM generate_series(1, $1::int) AS slot WHERE CASE WHEN slot = ANY ($2::int[]) THEN false
           ELSE pg_try_advisory_lock(hashtextextended($3::text || slot, 0)) END LIMIT 1`,
        [perNode, [...slots], lockOf(db, node)],
      );
      const [free] = rows;
      if (free === undefined || lost.signal.aborted) {
        return undefined;
      }
      held.set(node, slots.add(free.slot));
      return { signal: lost.signal, release: () => release(client, lost, node, free.slot) };
    } catch (reason) {
      throw db.errorOf(reason, what);
    }
  }

  async function release(client: Client, lost: AbortController, node: string, slot: number): Promise<void> {
    if (lost.signal.aborted) {
      return;
    }
    try {
      await client.query("SELECT pg_advisory_unlock(hashtextextended($1, 0))", [`${lockOf(db, node)}${slot}`]);
      if (!lost.signal.aborted) {
        held.get(node)?.delete(slot);
      }
    } catch {
      await endConnection(client); // Whether it is released is known for certain only so.
      drop(lost);
    }
  }

  return {
    take(node) {
      const taking = last.then(() => takeNext(node));
      last = taking.catch(() => undefined);
      return taking;
    },
    async [Symbol.asyncDispose]() {
      const client = await connection?.client.catch(() => undefined);
      if (client !== undefined) {
        await endConnection(client);
      }
    },
  };
}

function lockOf({ schema }: Database, node: string): string {
  return `tradewire export ${schema} ${node} `;
}
