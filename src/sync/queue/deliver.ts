import { CanceledError, NodeError, TradewireError } from "../../errors/index.js";
import { isSinkFailure, reactionTo } from "../../errors/reaction.js";
import { follow, followingController } from "../../signal/follow.js";
import { createLoader } from "../load-unit.js";
import type { SyncClient, SyncHooks } from "../options.js";
import type { Sink } from "../sink.js";
import type { LedgerEntry, Unit } from "../unit.js";
import type { Budget } from "./budget.js";
import type { Job } from "./claims.js";
import type { Database } from "./database.js";
import type { Admitted } from "./gate.js";
import { unitOfJob } from "./jobs.js";
import { endProbe, reached, takeCall, unreachable } from "./node-state.js";
import { jittered, type Pace } from "./pace.js";

/** What is to become of a job, once it was tried. */
export type Settlement =
  | { readonly case: "done"; readonly entry?: LedgerEntry }
  /**
   * It is put back for a while, and no attempt is used up. `stop` is what no unit can fare better with; `unheld` says
   * that no node of this worker has it, or can be asked for it.
   */
  | { readonly case: "back"; readonly ms: number; readonly stop?: unknown; readonly unheld?: true }
  | { readonly case: "failed"; readonly unit?: Unit; readonly error: TradewireError };

/** What a worker delivers units with. */
export interface Delivery {
  readonly db: Database;
  readonly sink: Pick<Sink, "load">;
  readonly clients: readonly SyncClient[];
  /** Absent where exports do not count as calls. */
  readonly budget: Budget | undefined;
  readonly pace: Pace;
  readonly hooks: SyncHooks | undefined;
  readonly signal: AbortSignal;
}

/**
 * Load the unit of a job, once.
 *
 * @param delivery the sink, the nodes, and what ends it
 * @param job the job
 * @param admitted the node, and the permit to ask it
 * @returns what is to become of the job
 */
export async function deliver(delivery: Delivery, job: Job, admitted: Admitted): Promise<Settlement> {
  const { db, sink, pace, signal } = delivery;
  const client = delivery.clients[admitted.index];
  if (client === undefined) {
    return { case: "back", ms: 0 };
  }
  const ending = followingController(signal);
  const end = () => ending.abort();
  const leave = follow(admitted.permit.signal, end);
  if (admitted.permit.signal.aborted) {
    end();
  }
  let unit: Unit | undefined;
  try {
    const read = unitOfJob(job.data);
    unit = read.unit;
    const load = createLoader({
      sink,
      clients: [politeClient(delivery, client, admitted)],
      replace: read.replace,
      attempts: 1,
      patienceMs: 0,
      signal: ending.signal,
      hooks: withoutFailures(delivery.hooks),
    });
    const outcome = await load(unit);
    switch (outcome.outcome) {
      case "loaded":
        return { case: "done", entry: outcome.entry };
      case "there":
        return { case: "done" };
      case "busy":
        return { case: "back", ms: jittered(pace.busyMs) };
      default:
        if (admitted.isProbe && outcome.error instanceof NodeError) {
          await reached(db, admitted.node);
        }
        return { case: "failed", unit, error: outcome.error };
    }
  } catch (reason) {
    if (signal.aborted || (ending.signal.aborted && reason instanceof CanceledError)) {
      return { case: "back", ms: 0 };
    }
    if (!(reason instanceof TradewireError) || (unit !== undefined && reactionTo(reason).unit === "stop")) {
      return { case: "back", ms: 0, stop: reason };
    }
    if (reactionTo(reason).unit !== "wait") {
      return { case: "failed", ...(unit && { unit }), error: reason };
    }
    if (isSinkFailure(reason)) {
      return { case: "back", ms: 0 };
    }
    // A node that was well until this unit came may fail for the unit. One that fails anyway says nothing of it.
    const wasWell = await unreachable(db, admitted.node, reason, pace.restMs);
    return wasWell
      ? { case: "failed", ...(unit && { unit }), error: reason }
      : { case: "back", ms: jittered(pace.lostMs) };
  } finally {
    leave();
    ending.abort();
    await probed(db, admitted);
  }
}

/**
 * Let others probe the node that a call was admitted to, where it was to do so.
 *
 * @param db the queue
 * @param admitted the node
 */
export async function probed(db: Database, { isProbe, node }: Admitted): Promise<void> {
  if (isProbe) {
    await endProbe(db, node).catch(() => undefined); // It ends by itself, only later.
  }
}

/** Counts the export as a call where it is one, and tells all workers that the node answers where that was in doubt. */
function politeClient({ db, budget, signal }: Delivery, client: SyncClient, { node, isProbe }: Admitted): SyncClient {
  return {
    name: node,
    listSegments: (options) => client.listSegments(options),
    exportNetworkHistory(request, options) {
      const exported = client.exportNetworkHistory(request, options);
      async function* files() {
        if (budget !== undefined) {
          await takeCall(db, node, budget, options?.signal ?? signal);
        }
        let first = isProbe;
        for await (const file of exported.files()) {
          if (first) {
            first = false;
            await reached(db, node);
          }
          yield file;
        }
      }
      return { ...exported, files };
    },
  };
}

/** Whether a failed unit is tried again, the queue decides: it tells of failures itself. */
function withoutFailures(hooks: SyncHooks | undefined): SyncHooks {
  return {
    onEvent(event) {
      if (event.case !== "failed") {
        return hooks?.onEvent?.(event);
      }
    },
  };
}
