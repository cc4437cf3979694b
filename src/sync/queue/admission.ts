import type { Client } from "pg";
import { monotonicMs, randomFraction } from "../../base/runtime/index.js";
import { waitUntilWoken } from "../../base/signal/wait.js";
import { admit } from "./node-limits.js";
import { endConnection, type QueueDatabase } from "./queue-database.js";
import { jittered } from "./queue-options.js";

interface Permit {
  /** Aborted if the permit was lost with its connection: the export must end, too. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

/** The permits of a worker. */
export interface Permits extends AsyncDisposable {
  /**
   * Acquires a permit, if one is free.
   *
   * @throws {@link SinkError}
   */
  take(node: string): Promise<Permit | undefined>;
}

/**
 * Limits the exports of each node over all workers. The permits are session locks of one connection. Such a lock lives as long as
 * the worker's sockets, and therefore as long as its exports: it is free immediately if the worker is killed, and still held if
 * the worker is frozen while the node continues to send. A table of leases would expire by the clock while exports continue.
 */
export function createPermits(db: QueueDatabase, perNode: number): Permits {
  const held = new Map<string, Set<number>>();
  let connection: { readonly client: Promise<Client>; readonly lost: AbortController } | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function connected() {
    if (connection === undefined) {
      const lost = new AbortController();
      const opened = { client: db.connect("requesting permits", () => drop(lost)), lost };
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
    const what = "requesting a permit";
    try {
      const client = await opening;
      const slots = held.get(node) ?? new Set();
      // A session can take its own lock again, so its own slots are excluded first. PostgreSQL evaluates only CASE in a
      // fixed order.
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
      await endConnection(client); // Only the end of the session releases the lock with certainty.
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

function lockOf({ schema }: QueueDatabase, node: string): string {
  return `tradewire export ${schema} ${node} `;
}

/** The permission to fetch a unit from a node. */
export interface Admission {
  /** The index of the node. */
  readonly index: number;
  readonly node: string;
  readonly permit: Permit;
  /** Whether this call is the probe that finds out whether the node is back. */
  readonly isProbe: boolean;
}

/** The first and the longest wait for a permit or a node, in milliseconds. */
const [FIRST_MS, LONGEST_MS] = [50, 5000];

/** Admits the exports of a worker to its nodes. */
export interface AdmissionGate {
  /** Waits for a node that is available and has a free permit. */
  acquire(signal: AbortSignal): Promise<Admission>;
  /** Does the same for some of the nodes, and for a limited time. */
  acquireOneOf(candidates: ReadonlySet<number>, ms: number, signal: AbortSignal): Promise<Admission | undefined>;
  /** Releases the permit. The next one that waits in this worker is woken. */
  release(admission: Admission): Promise<void>;
}

export function createAdmissionGate(db: QueueDatabase, nodes: readonly string[], permits: Permits): AdmissionGate {
  const waiting = new Set<() => void>();
  const busy = nodes.map(() => 0);

  async function tryEnter(candidates?: ReadonlySet<number>): Promise<Admission | undefined> {
    // The node with the fewest calls of this worker comes first; ties are broken at random.
    const order = nodes
      .map((node, index) => ({ node, index, rank: (busy[index] ?? 0) + randomFraction() }))
      .filter(({ index }) => candidates?.has(index) ?? true)
      .sort((a, b) => a.rank - b.rank);
    for (const { node, index } of order) {
      const permit = await permits.take(node);
      if (permit === undefined) {
        continue;
      }
      const access = await admit(db, node).catch(async (reason: unknown) => {
        await permit.release();
        throw reason;
      });
      if (access !== "rests") {
        busy[index] = (busy[index] ?? 0) + 1;
        return { index, node, permit, isProbe: access === "probe" };
      }
      await permit.release();
    }
    return undefined;
  }

  async function enterWithin(until: number, signal: AbortSignal, candidates?: ReadonlySet<number>) {
    for (let ms = FIRST_MS; ; ms = Math.min(ms * 2, LONGEST_MS)) {
      const admission = await tryEnter(candidates);
      if (admission !== undefined || monotonicMs() >= until) {
        return admission;
      }
      // Other workers may release a permit unnoticed, so the wait is limited.
      await waitUntilWoken(waiting, jittered(ms), signal);
    }
  }

  return {
    async acquire(signal) {
      for (;;) {
        const admission = await enterWithin(Number.POSITIVE_INFINITY, signal);
        if (admission !== undefined) {
          return admission;
        }
      }
    },
    acquireOneOf: (candidates, ms, signal) => enterWithin(monotonicMs() + ms, signal, candidates),
    async release({ index, permit }) {
      busy[index] = (busy[index] ?? 1) - 1;
      await permit.release();
      const [next] = waiting;
      next?.();
    },
  };
}
