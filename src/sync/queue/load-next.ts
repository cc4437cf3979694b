import { CanceledError, TradewireError } from "../../errors/index.js";
import { reactionTo } from "../../errors/reaction.js";
import type { Tell } from "../tell.js";
import type { Unit } from "../unit.js";
import { type Job, moveClaim, takeJob } from "./claims.js";
import { type Delivery, deliver, probed, type Settlement } from "./deliver.js";
import type { Admitted, Gate } from "./gate.js";
import type { Holders } from "./holders.js";
import { unitOfJob } from "./jobs.js";
import { jittered } from "./pace.js";
import { settle } from "./settle.js";

/** What the units of a worker are loaded with. */
export interface Work {
  readonly workerId: string;
  readonly gate: Gate;
  readonly holders: Holders;
  readonly delivery: Delivery;
  readonly tell: Tell;
  /** The jobs that are under way. */
  readonly held: Set<string>;
  /** What was done so far. */
  readonly done: { units: number; rows: bigint; bytes: bigint; failures: number };
}

/**
 * Take a unit, load it, and settle what becomes of its job.
 *
 * @param work the queue, the nodes and the sink
 * @returns whether there was one that this worker's nodes have
 */
export async function loadNext(work: Work): Promise<boolean> {
  const { workerId, gate, delivery, tell, held, done } = work;
  const { db, signal } = delivery;
  const place = await inPlace(gate, signal);
  let job: Job | undefined;
  let result: Settlement;
  try {
    job = await takeJob(db, workerId, place.admitted.node);
    if (job === undefined) {
      await probed(db, place.admitted);
      return false;
    }
    held.add(job.id);
    result = await loaded(work, job, place);
  } finally {
    await place.leave();
  }
  if (result.case === "failed") {
    done.failures += 1;
  } else if (result.case === "done" && result.entry !== undefined) {
    done.units += 1;
    done.rows += result.entry.rows;
    done.bytes += result.entry.bytes;
  }
  try {
    await settle(db, { workerId, job, node: place.admitted.node, result, tell, signal });
  } finally {
    held.delete(job.id);
  }
  if (result.case === "back" && result.stop !== undefined) {
    throw result.stop;
  }
  return result.case !== "back" || result.unheld !== true;
}

/** The node that a unit is going to be fetched from. */
interface Place {
  readonly admitted: Admitted;
  /** Goes to another node; `undefined` where none is free for a while. */
  move(having: ReadonlySet<number>, ms: number): Promise<Admitted | undefined>;
  leave(): Promise<void>;
}

async function inPlace(gate: Gate, signal: AbortSignal): Promise<Place> {
  let admitted = await gate.enter(signal);
  let isIn = true;
  async function leave(): Promise<void> {
    if (isIn) {
      isIn = false;
      await gate.leave(admitted);
    }
  }
  return {
    get admitted() {
      return admitted;
    },
    async move(having, ms) {
      await leave();
      const other = await gate.enterOneOf(having, ms, signal);
      [admitted, isIn] = [other ?? admitted, other !== undefined];
      return other;
    },
    leave,
  };
}

/** Loads a unit from a node that has it. */
async function loaded({ workerId, holders, delivery }: Work, job: Job, place: Place): Promise<Settlement> {
  const { db, pace, signal } = delivery;
  const unheld: Settlement = { case: "back", ms: jittered(pace.lostMs), unheld: true };
  try {
    const unit = unitIn(job);
    if (unit !== undefined) {
      const having = await holders.of(unit);
      if (!having.has(place.admitted.index)) {
        await probed(db, place.admitted);
        const other = having.size === 0 ? undefined : await place.move(having, pace.busyMs);
        if (other === undefined) {
          return unheld;
        }
        await moveClaim(db, workerId, job.id, other.node);
      }
    }
  } catch (reason) {
    if (signal.aborted || reason instanceof CanceledError) {
      return { case: "back", ms: 0 };
    }
    const passes = reason instanceof TradewireError && reactionTo(reason).repeat;
    return passes ? unheld : { case: "back", ms: 0, stop: reason };
  }
  return deliver(delivery, job, place.admitted);
}

/** What is no unit fails when it is delivered. */
function unitIn({ data }: Job): Unit | undefined {
  try {
    return unitOfJob(data).unit;
  } catch {
    return undefined;
  }
}
