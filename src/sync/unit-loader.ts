import { Code } from "../base/errors/code.js";
import { quoted } from "../base/errors/error-text.js";
import { ConnectionError, TradewireError } from "../base/errors/index.js";
import { isSinkFailure, isTransient, reactionTo } from "../base/errors/reaction.js";
import { withJson } from "../base/json-result.js";
import { monotonicMs } from "../base/runtime/index.js";
import { backoffMs, throwIfAborted, wait } from "../base/signal/wait.js";
import { createAvailability } from "./availability.js";
import { fetchUnit } from "./fetch-unit.js";
import { createNodePool, type SyncNode } from "./node-pool.js";
import type { FetchUnit, LoadResult, Sink } from "./sink.js";
import type { SyncHooks } from "./sync-events.js";
import { createReporter, type ReportEvent } from "./sync-events.js";
import type { SyncClient } from "./sync-options.js";
import type { Unit } from "./unit.js";

/** The result of loading a unit. After a unit that failed, others may still be loaded. */
export type UnitOutcome = LoadResult | { readonly outcome: "failed"; readonly error: TradewireError };

/** How units are loaded. */
export interface LoadOptions {
  /** Opened for writing. */
  readonly sink: Pick<Sink, "load">;
  /** The nodes that share the load, at least one; they have the same history. */
  readonly clients: readonly SyncClient[];
  /** Returns whether a node has a unit, if known; by default, all nodes have all units. */
  readonly has?: ((client: SyncClient, unit: Unit) => boolean) | undefined;
  /** Whether overlapping units of another history are removed. */
  readonly replace: boolean;
  /** Maximum number of attempts at a unit. */
  readonly attempts: number;
  /** How long an unreachable node or sink is retried, in milliseconds. */
  readonly retryForMs: number;
  /** Cancels all loads and waits immediately. */
  readonly signal: AbortSignal;
  readonly hooks?: SyncHooks | undefined;
}

/** The end of one attempt. `wasSent` is whether a request was sent to the node. */
type Attempt =
  | { readonly kind: "finished"; readonly result: LoadResult }
  | { readonly kind: "failed"; readonly error: TradewireError; readonly wasSent: boolean };

/**
 * Returns a function that loads units, each through one of several nodes, and retries where that may help. If a retry with the
 * same node would return the same data, for example a value that fits no column, each other node gets one attempt. The function
 * may be called for several units at a time; a node that failed gets no calls for a while.
 *
 * @param options the sink, the nodes, and the limits of retries
 * @returns a function that loads a unit. It throws if no unit can be loaded: a node or the sink was unreachable for `retryForMs`,
 *   credentials are refused, the disk is full; `CanceledError` if the signal was aborted
 *
 * @example
 * const load = createLoader({ sink, clients, replace: false, attempts: 5, retryForMs: 300_000, signal });
 * const { outcome } = await load(unit);
 */
export function createLoader(options: LoadOptions): (unit: Unit) => Promise<UnitOutcome> {
  const { attempts, clients, retryForMs, signal, has = () => true } = options;
  const report = createReporter(options.hooks);
  const nodes = createNodePool(clients, { retryForMs, report, signal, has });
  const sinkAvailability = createAvailability(retryForMs);

  async function tryLoad(unit: Unit, node: SyncNode): Promise<Attempt> {
    let sentAt: number | undefined;
    const fetch: FetchUnit = async () => {
      sentAt = monotonicMs();
      report({ kind: "began", unit, node: node.name });
      const onBytes = (bytes: number) => report({ kind: "arrived", unit, bytes });
      const csv = await fetchUnit(node.client, unit, { signal, onBytes })();
      node.recordSuccess();
      return csv;
    };
    try {
      const result = await options.sink.load(unit, fetch, { replace: options.replace, signal });
      sinkAvailability.recordSuccess();
      reportResult(report, unit, result, sentAt);
      return { kind: "finished", result };
    } catch (error) {
      throwIfAborted(signal);
      if (!(error instanceof TradewireError) || reactionTo(error).unit === "stop") {
        throw error;
      }
      const reaction = reactionTo(error).unit;
      if (!isSinkFailure(error) && (reaction === "retry" || reaction === "wait")) {
        node.recordFailure(error, reaction === "wait");
      }
      return { kind: "failed", error, wasSent: sentAt !== undefined };
    } finally {
      node.release();
    }
  }

  /** Returns milliseconds until the next attempt; `undefined` if there is none. */
  function delayBeforeRetry(error: TradewireError, attempt: number, isRefusedByAll: boolean): number | undefined {
    const reaction = reactionTo(error).unit;
    if (reaction === "wait") {
      // The node pool itself waits for unreachable nodes.
      return isSinkFailure(error) ? sinkAvailability.recordFailure(error, true) : 0;
    }
    const mayHelp = reaction === "retry" || (reaction === "fail" && !isRefusedByAll);
    return mayHelp && attempt < attempts ? backoffMs(attempt) : undefined;
  }

  async function waitForSink(error: TradewireError, againMs: number): Promise<void> {
    if (sinkAvailability.state.kind === "unreachable" && sinkAvailability.state.timedOut) {
      throw error;
    }
    report({ kind: "waiting", error, againMs });
    await wait(againMs, signal);
  }

  return async (unit) => {
    const refusedBy = new Set<SyncClient>();
    let avoid: SyncNode | undefined;
    for (let attempt = 1; ; ) {
      const node = await nodes.take(unit, avoid);
      if (node === undefined) {
        return { outcome: "failed", error: unitUnavailable(unit) };
      }
      const tried = await tryLoad(unit, node);
      if (tried.kind === "finished") {
        return withJson(tried.result);
      }
      const { error, wasSent } = tried;
      const isUnreachable = reactionTo(error).unit === "wait";
      if (reactionTo(error).unit === "fail") {
        refusedBy.add(node.client); // It may be this node's own error, so each other node is asked once.
      }
      const isRefusedByAll = !clients.some((client) => !refusedBy.has(client) && has(client, unit));
      const againMs = delayBeforeRetry(error, attempt, isRefusedByAll);
      if (wasSent || !isUnreachable) {
        report({ kind: "failed", unit, error, attempt, ...(againMs !== undefined && { againMs }) });
      }
      if (againMs === undefined) {
        return { outcome: "failed", error };
      }
      await (isUnreachable && isSinkFailure(error) ? waitForSink(error, againMs) : wait(againMs, signal));
      attempt += isUnreachable ? 0 : 1;
      avoid = isSinkFailure(error) && isTransient(error) ? undefined : node;
    }
  };
}

/** No node that answers has a unit now. A later attempt may succeed. */
class UnitUnavailableError extends ConnectionError {}

/** Creates the error of a unit that no node has: no node that answers lists its segments. */
export function unitUnavailable({ table, fromBlock, toBlock, segmentId }: Unit, part?: Unit): TradewireError {
  if (part !== undefined) {
    return new UnitUnavailableError(
      `no reachable node has blocks ${fromBlock} to ${part.fromBlock - 1n} of ${table} anymore, the start of the unit up to block ${toBlock}`,
      {
        code: Code.Unavailable,
        connected: false,
        advice: `The unit was not changed. Restore it from a backup. Blocks ${part.fromBlock} to ${toBlock} can be synced into another target.`,
      },
    );
  }
  return new UnitUnavailableError(
    `no reachable node lists blocks ${fromBlock} to ${toBlock} of ${table} up to segment ${quoted(segmentId)}`,
    {
      code: Code.Unavailable,
      connected: false,
      advice: "Wait until a node that has them is reachable or has caught up.",
    },
  );
}

/** Returns whether a unit failed because no node has it. */
export function isUnitUnavailable(error: TradewireError): boolean {
  return error instanceof UnitUnavailableError;
}

function reportResult(report: ReportEvent, unit: Unit, result: LoadResult, sentAt = monotonicMs()): void {
  if (result.outcome === "loaded") {
    report({ kind: "loaded", entry: result.entry, ms: Math.round(monotonicMs() - sentAt) });
  } else {
    report({ kind: "skipped", unit, outcome: result.outcome });
  }
}
