import type { TradewireError } from "../errors/index.js";
import { monotonicMs } from "../runtime/index.js";
import { requireGoing, wait } from "../signal/wait.js";
import { nodeName } from "./node-history.js";
import type { SyncClient } from "./options.js";
import { createReach, type Reach } from "./reach.js";
import type { Tell } from "./tell.js";
import type { Unit } from "./unit.js";

/** A node that units are fetched from. */
export interface NodeOfSync {
  readonly client: SyncClient;
  /** What events call it. */
  readonly name: string;
}

/** The nodes of a sync, which share the load. */
export interface Nodes {
  /**
   * Take the node to ask next: of those that have the unit, the least busy one that does not rest. Where none of them
   * can be reached, this waits, and then lets one call at a time see whether a node is back.
   *
   * @param unit the unit
   * @param avoid is taken only where there is no other
   * @returns the node, to be given back with `release`; `undefined` where no node has the unit
   * @throws the failure of the nodes where they could not be reached for too long; {@link CanceledError} where the
   *   signal was aborted
   */
  take(unit: Unit, avoid: NodeOfSync | undefined): Promise<NodeOfSync | undefined>;
  /** Give a node back. */
  release(node: NodeOfSync): void;
  /** The node has answered. */
  reached(node: NodeOfSync): void;
  /**
   * A call of the node has failed, so that it rests for a while.
   *
   * @param node the node
   * @param error the failure
   * @param lost whether it could not be reached at all
   */
  failed(node: NodeOfSync, error: TradewireError, lost: boolean): void;
}

/** How nodes are taken. */
export interface NodesOptions {
  /** How long nodes that cannot be reached are waited for, in milliseconds. */
  readonly patienceMs: number;
  readonly tell: Tell;
  /** Ends all waits. */
  readonly signal: AbortSignal;
  /** Whether a node has a unit. It is asked each time, as that may change. */
  readonly has: (client: SyncClient, unit: Unit) => boolean;
}

interface State extends NodeOfSync {
  readonly reach: Reach;
  busy: number;
  /** When it was last taken, as a count. */
  taken: number;
}

/**
 * Make the nodes of a sync.
 *
 * @param clients at least one
 * @param options how long nodes that cannot be reached are waited for, and which node has which unit
 * @returns the nodes
 */
export function createNodes(clients: readonly SyncClient[], { patienceMs, tell, signal, has }: NodesOptions): Nodes {
  const nodes = clients.map((client, index): State => {
    const name = nodeName(client, index, clients.length);
    return { client, name, reach: createReach(patienceMs), busy: 0, taken: 0 };
  });
  const waiting = new Set<() => void>();
  let takes = 0;
  let toldOf = 0;

  function stateOf(node: NodeOfSync): State | undefined {
    return nodes.find((state) => state === node);
  }

  function choose(having: readonly State[], avoid: NodeOfSync | undefined): State | undefined {
    const now = monotonicMs();
    // A node that was lost is asked by one call at a time until it has answered.
    const back = having.filter(
      ({ reach, busy }) => reach.lostAt === undefined || (reach.restsUntil <= now && busy === 0),
    );
    const rank = (node: State) => [node.reach.restsUntil > now ? 1 : 0, node === avoid ? 1 : 0, node.busy, node.taken];
    return back.sort((a, b) => compare(rank(a), rank(b)))[0];
  }

  function wakeAll(): void {
    for (const wake of waiting) {
      wake();
    }
  }

  /** Waits until one of the nodes may be back, or was reached. All are lost. */
  async function waitForAny(having: readonly State[]): Promise<void> {
    const now = monotonicMs();
    const { error } = having[0]?.reach ?? {};
    const until = Math.min(...having.map(({ reach: { restsUntil } }) => (restsUntil > now ? restsUntil : Infinity)));
    if (error !== undefined && until !== Infinity && until !== toldOf) {
      toldOf = until;
      tell({ case: "waiting", error, againMs: Math.ceil(until - now) });
    }
    let wake: (() => void) | undefined;
    try {
      await wait(Math.ceil(until - now), signal, (end) => {
        wake = end;
        waiting.add(end);
      });
    } finally {
      if (wake !== undefined) {
        waiting.delete(wake);
      }
    }
  }

  return {
    async take(unit, avoid) {
      for (;;) {
        requireGoing(signal);
        const having = nodes.filter(({ client }) => has(client, unit));
        const [first] = having;
        if (first === undefined) {
          return undefined;
        }
        if (first.reach.error !== undefined && having.every(({ reach }) => reach.givenUp)) {
          throw first.reach.error;
        }
        const node = choose(having, avoid);
        if (node !== undefined) {
          takes += 1;
          node.busy += 1;
          node.taken = takes;
          return node;
        }
        await waitForAny(having);
      }
    },
    release(node) {
      const state = stateOf(node);
      if (state !== undefined) {
        state.busy -= 1;
        wakeAll();
      }
    },
    reached(node) {
      stateOf(node)?.reach.reached();
      wakeAll();
    },
    failed(node, error, lost) {
      stateOf(node)?.reach.failed(error, lost);
    },
  };
}

function compare(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((value, at) => value !== b[at]);
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0);
}
