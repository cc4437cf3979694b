import { monotonicMs, randomFraction } from "../../runtime/index.js";
import { wait } from "../../signal/wait.js";
import type { Database } from "./database.js";
import { admit } from "./node-state.js";
import { jittered } from "./pace.js";
import type { Permit, Permits } from "./permits.js";

/** A node that may be asked for an export. */
export interface Admitted {
  /** Place in the list of nodes. */
  readonly index: number;
  readonly node: string;
  readonly permit: Permit;
  /** Whether this call is the one that finds out whether the node is back. */
  readonly isProbe: boolean;
}

/** The first and the longest wait for a permit or a node, in milliseconds. */
const [FIRST_MS, LONGEST_MS] = [50, 5000];

/** Lets the loads of a worker at its nodes. */
export interface Gate {
  /** Wait for a node that does not rest and has a permit free. */
  enter(signal: AbortSignal): Promise<Admitted>;
  /**
   * Wait as well, for one of some nodes, and only for a while.
   *
   * @param having the nodes' places
   * @param ms how long
   * @param signal ends the wait
   * @returns the node; `undefined` where none was free
   */
  enterOneOf(having: ReadonlySet<number>, ms: number, signal: AbortSignal): Promise<Admitted | undefined>;
  /** Give the permit back. Who waits in this worker is next. */
  leave(admitted: Admitted): Promise<void>;
}

/**
 * Make the gate of a worker.
 *
 * @param db the queue
 * @param nodes what the nodes are called
 * @param permits of the worker
 * @returns the gate
 */
export function createGate(db: Database, nodes: readonly string[], permits: Permits): Gate {
  const waiting = new Set<() => void>();
  const busy = nodes.map(() => 0);

  async function tryEnter(having?: ReadonlySet<number>): Promise<Admitted | undefined> {
    // The node that this worker asks least is tried first; among equals, chance.
    const order = nodes
      .map((node, index) => ({ node, index, rank: (busy[index] ?? 0) + randomFraction() }))
      .filter(({ index }) => having?.has(index) ?? true)
      .sort((a, b) => a.rank - b.rank);
    for (const { node, index } of order) {
      const permit = await permits.take(node);
      if (permit === undefined) {
        continue;
      }
      const admission = await admit(db, node).catch(async (reason: unknown) => {
        await permit.release();
        throw reason;
      });
      if (admission.case !== "rests") {
        busy[index] = (busy[index] ?? 0) + 1;
        return { index, node, permit, isProbe: admission.case === "probe" };
      }
      await permit.release();
    }
    return undefined;
  }

  /** Waits until what is given back in this worker may be had, or others may have given theirs back. */
  async function waitForTurn(ms: number, signal: AbortSignal): Promise<void> {
    let wake: (() => void) | undefined;
    try {
      await wait(jittered(ms), signal, (end) => {
        wake = end;
        waiting.add(end);
      });
    } finally {
      if (wake !== undefined) {
        waiting.delete(wake);
      }
    }
  }

  async function enterWithin(until: number, signal: AbortSignal, having?: ReadonlySet<number>) {
    for (let ms = FIRST_MS; ; ms = Math.min(ms * 2, LONGEST_MS)) {
      const admitted = await tryEnter(having);
      if (admitted !== undefined || monotonicMs() >= until) {
        return admitted;
      }
      await waitForTurn(ms, signal);
    }
  }

  return {
    async enter(signal) {
      for (;;) {
        const admitted = await enterWithin(Number.POSITIVE_INFINITY, signal);
        if (admitted !== undefined) {
          return admitted;
        }
      }
    },
    enterOneOf: (having, ms, signal) => enterWithin(monotonicMs() + ms, signal, having),
    async leave({ index, permit }) {
      busy[index] = (busy[index] ?? 1) - 1;
      await permit.release();
      const [next] = waiting;
      next?.();
    },
  };
}
