import { Code } from "@connectrpc/connect";
import { ConnectionError, TradewireError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { isSinkFailure, mayPass, reactionTo } from "../errors/reaction.js";
import { monotonicMs } from "../runtime/index.js";
import { backoffMs, requireGoing, wait } from "../signal/wait.js";
import { fetchUnit } from "./fetch-unit.js";
import { createNodes, type NodeOfSync } from "./nodes.js";
import type { SyncClient, SyncHooks } from "./options.js";
import { createReach } from "./reach.js";
import type { FetchUnit, LoadResult, Sink } from "./sink.js";
import { type Tell, teller } from "./tell.js";
import type { Unit } from "./unit.js";

/** What became of a unit. One that failed was given up; others may still be loaded. */
export type UnitOutcome = LoadResult | { readonly outcome: "failed"; readonly error: TradewireError };

/** How units are loaded. */
export interface LoadOptions {
  /** Opened for writing. */
  readonly sink: Pick<Sink, "load">;
  /** The nodes that share the load, at least one; they have the same history. */
  readonly clients: readonly SyncClient[];
  /** Whether a node has a unit, as far as is known; all nodes have all units by default. */
  readonly has?: ((client: SyncClient, unit: Unit) => boolean) | undefined;
  /** Whether units of another history are removed where they are in the way. */
  readonly replace: boolean;
  /** How often a unit is tried, at most. */
  readonly attempts: number;
  /** How long a node or sink that cannot be reached is waited for, in milliseconds. */
  readonly patienceMs: number;
  /** Ends all loading and waiting at once. */
  readonly signal: AbortSignal;
  readonly hooks?: SyncHooks | undefined;
}

/**
 * Make a function that loads units, each through one of several nodes, and tries again where that may help: what the same
 * node would only answer again, such as a value that fits no column, through another one. It may be called for several units side by side; nodes that failed rest for all of them.
 *
 * @param options the sink, the nodes, and how patient it is
 * @returns loads a unit. It throws where no unit can fare better: a node or the sink could not be reached for
 *   `patienceMs`, credentials are refused, the disk is full; `CanceledError` where the signal was aborted
 *
 * @example
 * const load = createLoader({ sink, clients, replace: false, attempts: 5, patienceMs: 300_000, signal });
 * const { outcome } = await load(unit);
 */
export function createLoader(options: LoadOptions): (unit: Unit) => Promise<UnitOutcome> {
  const { attempts, patienceMs, signal } = options;
  const tell = teller(options.hooks);
  const nodes = createNodes(options.clients, { patienceMs, tell, signal, has: options.has ?? (() => true) });
  const sinkReach = createReach(patienceMs);

  /** Loads a unit once. `began` says whether the node was asked. */
  async function loadOnce(unit: Unit, node: NodeOfSync, began: { at?: number }): Promise<LoadResult> {
    const fetch: FetchUnit = async () => {
      began.at = monotonicMs();
      tell({ case: "began", unit, node: node.name });
      const onBytes = (bytes: number) => tell({ case: "arrived", unit, bytes });
      const csv = await fetchUnit(node.client, unit, { signal, onBytes })();
      nodes.reached(node);
      return csv;
    };
    const result = await options.sink.load(unit, fetch, { replace: options.replace, signal });
    sinkReach.reached();
    return result;
  }

  /** Takes note of a failure, and tells how long to wait; `undefined` where the unit is given up. */
  function afterFailure(error: TradewireError, node: NodeOfSync, attempt: number): number | undefined {
    const reaction = reactionTo(error).unit;
    const lost = reaction === "wait";
    if (isSinkFailure(error)) {
      return lost
        ? sinkReach.failed(error, true)
        : reaction === "retry" && attempt < attempts
          ? backoffMs(attempt)
          : undefined;
    }
    if (reaction === "retry" || lost) {
      nodes.failed(node, error, lost);
    }
    return lost ? 0 : reaction === "retry" && attempt < attempts ? backoffMs(attempt) : undefined;
  }

  return async (unit) => {
    let attempt = 1;
    let avoid: NodeOfSync | undefined;
    const refusedBy = new Set<SyncClient>();
    /** What comes again from the same node may be its own fault: each of the others is asked once. */
    function afterFinal({ client }: NodeOfSync): number | undefined {
      refusedBy.add(client);
      const isLeft = options.clients.some((other) => !refusedBy.has(other) && (options.has?.(other, unit) ?? true));
      return isLeft && attempt < attempts ? backoffMs(attempt) : undefined;
    }
    for (;;) {
      const node = await nodes.take(unit, avoid);
      if (node === undefined) {
        return { outcome: "failed", error: notHeld(unit) };
      }
      const began: { at?: number } = {};
      let error: TradewireError;
      let againMs: number | undefined;
      try {
        const result = await loadOnce(unit, node, began);
        tellResult(tell, unit, result, began);
        return result;
      } catch (reason) {
        requireGoing(signal);
        if (!(reason instanceof TradewireError) || reactionTo(reason).unit === "stop") {
          throw reason;
        }
        error = reason;
        againMs = reactionTo(error).unit === "fail" ? afterFinal(node) : afterFailure(error, node, attempt);
      } finally {
        nodes.release(node);
      }
      const lost = reactionTo(error).unit === "wait";
      if (began.at !== undefined || !lost) {
        tell({ case: "failed", unit, error, attempt, ...(againMs !== undefined && { againMs }) });
      }
      if (againMs === undefined) {
        return { outcome: "failed", error };
      }
      if (lost && isSinkFailure(error)) {
        await waitForSink(error, againMs);
      } else {
        await wait(againMs, signal);
      }
      attempt += lost ? 0 : 1;
      avoid = isSinkFailure(error) && mayPass(error) ? undefined : node;
    }
  };

  async function waitForSink(error: TradewireError, againMs: number): Promise<void> {
    if (sinkReach.givenUp) {
      throw error;
    }
    tell({ case: "waiting", error, againMs });
    await wait(againMs, signal);
  }
}

/** No node that answers has a unit now. It may pass. */
class NotHeldError extends ConnectionError {}

/**
 * Make the error of a unit that no node has now: none that answers lists its segments.
 *
 * @param unit the unit
 * @param part its last segments, where nodes have these alone
 * @returns the error
 */
export function notHeld({ table, fromBlock, toBlock, segmentId }: Unit, part?: Unit): TradewireError {
  if (part !== undefined) {
    return new NotHeldError(
      `no node that answers has blocks ${fromBlock} to ${part.fromBlock - 1n} of ${table} any more, the beginning of the unit up to block ${toBlock}`,
      {
        code: Code.Unavailable,
        connected: false,
        advice: `The unit was left as it is. Restore it from a backup; blocks ${part.fromBlock} to ${toBlock} can be fetched into another place.`,
      },
    );
  }
  return new NotHeldError(
    `no node that answers lists blocks ${fromBlock} to ${toBlock} of ${table} up to segment ${quoted(segmentId)}`,
    { code: Code.Unavailable, connected: false, advice: "Wait until a node that has them is back, or has caught up." },
  );
}

/**
 * Tell whether a unit failed as no node had it.
 *
 * @param error its failure
 * @returns whether it is of `notHeld`
 */
export function isNotHeld(error: TradewireError): boolean {
  return error instanceof NotHeldError;
}

function tellResult(tell: Tell, unit: Unit, result: LoadResult, began: { readonly at?: number }): void {
  if (result.outcome === "loaded") {
    const ms = Math.round(monotonicMs() - (began.at ?? monotonicMs()));
    tell({ case: "loaded", entry: result.entry, ms });
  } else {
    tell({ case: "left", unit, outcome: result.outcome });
  }
}
