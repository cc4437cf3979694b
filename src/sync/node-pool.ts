import type { TradewireError } from "../base/errors/index.js";
import { monotonicMs } from "../base/runtime/index.js";
import { throwIfAborted, waitUntilWoken } from "../base/signal/wait.js";
import { type Availability, createAvailability } from "./availability.js";
import { nodeName } from "./node-history.js";
import type { ReportEvent } from "./sync-events.js";
import type { SyncClient } from "./sync-options.js";
import type { Unit } from "./unit.js";

/** A node that units are fetched from. */
export interface SyncNode {
  readonly client: SyncClient;
  /** Its name in events. */
  readonly name: string;
  /** Ends a call of it. */
  release(): void;
  /** Records that it has answered. */
  recordSuccess(): void;
  /** Records that a call failed, so that it gets no calls for a while. */
  recordFailure(error: TradewireError, isUnreachable: boolean): void;
}

/** The nodes of a sync, which share the load. */
export interface NodePool {
  /**
   * Selects the next node: of those that have the unit, the least busy one that is available. If all are unreachable,
   * it waits, and then lets one call at a time find out whether a node is back.
   *
   * @throws the error of the nodes once they have been unreachable for too long; {@link CanceledError} if the signal
   *   was aborted
   */
  take(unit: Unit, avoid: SyncNode | undefined): Promise<SyncNode | undefined>;
}

/** How nodes are selected. */
export interface NodePoolOptions {
  /** How long unreachable nodes are retried, in milliseconds. */
  readonly retryForMs: number;
  readonly report: ReportEvent;
  /** Cancels all waits. */
  readonly signal: AbortSignal;
  /** Returns whether a node has a unit. It is called each time, because the answer may change. */
  readonly has: (client: SyncClient, unit: Unit) => boolean;
}

interface PoolEntry extends SyncNode {
  readonly availability: Availability;
  /** Calls in flight. */
  busy: number;
  /** The number of the last selection: the least recently used of equal nodes comes first. */
  lastTaken: number;
}

export function createNodePool(
  clients: readonly SyncClient[],
  { retryForMs, report, signal, has }: NodePoolOptions,
): NodePool {
  const waiting = new Set<() => void>();
  const entries = clients.map((client, index): PoolEntry => {
    const availability = createAvailability(retryForMs);
    const entry: PoolEntry = {
      client,
      name: nodeName(client, index, clients.length),
      availability,
      busy: 0,
      lastTaken: 0,
      release() {
        entry.busy -= 1;
        wakeAll();
      },
      recordSuccess() {
        availability.recordSuccess();
        wakeAll();
      },
      recordFailure: (error, isUnreachable) => void availability.recordFailure(error, isUnreachable),
    };
    return entry;
  });
  let taken = 0;
  /** When the wait that was reported last ends: all calls that wait together report it once. */
  let reportedUntil = 0;

  function choose(candidates: readonly PoolEntry[], avoid: SyncNode | undefined): PoolEntry | undefined {
    const now = monotonicMs();
    // An unreachable node gets one call at a time until it has answered.
    const usable = candidates.filter(
      ({ availability: { state }, busy }) => state.kind !== "unreachable" || (state.retryAt <= now && busy === 0),
    );
    const rank = (entry: PoolEntry) => [
      retryAtOf(entry) > now ? 1 : 0,
      entry === avoid ? 1 : 0,
      entry.busy,
      entry.lastTaken,
    ];
    return usable.sort((a, b) => compareRanks(rank(a), rank(b)))[0];
  }

  function wakeAll(): void {
    for (const wake of waiting) {
      wake();
    }
  }

  /** Waits until the first attempt at one of the nodes is due, or one has answered. All of them are unreachable. */
  async function waitForAny(candidates: readonly PoolEntry[]): Promise<void> {
    const now = monotonicMs();
    const state = candidates[0]?.availability.state;
    // A call in flight wakes all when it ends. An idle node may have become due since it was not chosen.
    const dueAt = (entry: PoolEntry) => (retryAtOf(entry) > now || entry.busy === 0 ? retryAtOf(entry) : Infinity);
    const until = Math.min(...candidates.map(dueAt));
    if (until <= now) {
      return;
    }
    if (state !== undefined && state.kind !== "available" && until !== Infinity && until !== reportedUntil) {
      reportedUntil = until;
      report({ kind: "waiting", error: state.error, againMs: Math.ceil(until - now) });
    }
    await waitUntilWoken(waiting, Math.ceil(until - now), signal);
  }

  return {
    async take(unit, avoid) {
      for (;;) {
        throwIfAborted(signal);
        const candidates = entries.filter(({ client }) => has(client, unit));
        const [first] = candidates;
        if (first === undefined) {
          return undefined;
        }
        const { state } = first.availability;
        if (state.kind === "unreachable" && candidates.every(hasTimedOut)) {
          throw state.error;
        }
        const node = choose(candidates, avoid);
        if (node !== undefined) {
          taken += 1;
          node.busy += 1;
          node.lastTaken = taken;
          return node;
        }
        await waitForAny(candidates);
      }
    },
  };
}

/** Returns when the next attempt is due; 0 if the node is available. */
function retryAtOf({ availability: { state } }: PoolEntry): number {
  return state.kind === "available" ? 0 : state.retryAt;
}

function hasTimedOut({ availability: { state } }: PoolEntry): boolean {
  return state.kind === "unreachable" && state.timedOut;
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((value, at) => value !== b[at]);
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0);
}
