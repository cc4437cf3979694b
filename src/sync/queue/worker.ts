import { Code } from "@connectrpc/connect";
import { SinkError } from "../../errors/index.js";
import { monotonicMs, randomUUID } from "../../runtime/index.js";
import { followingController } from "../../signal/follow.js";
import { wait } from "../../signal/wait.js";
import { clientsOf } from "../check-options.js";
import type { SyncClient } from "../options.js";
import { patiently } from "../patiently.js";
import { type Tell, teller } from "../tell.js";
import { withSink } from "../with-sink.js";
import { isAnyDue } from "./claims.js";
import { type Database, openDatabase, placeOf } from "./database.js";
import type { Delivery } from "./deliver.js";
import { createGate } from "./gate.js";
import { beat, keepBeating, leave } from "./heartbeat.js";
import { readHolders } from "./holders.js";
import { chainOfQueue, install } from "./install.js";
import { loadNext, type Work } from "./load-next.js";
import { enterNodes } from "./node-state.js";
import { type CheckedWorkerOptions, checkWorkerOptions, type WorkerOptions } from "./options.js";
import { jittered, type Pace } from "./pace.js";
import { createPermits } from "./permits.js";
import { keepTelling } from "./plan-note.js";
import { nodeNames, politeListings } from "./polite.js";

/** What a worker has done. */
export interface WorkerSummary {
  /** Units that it has loaded. */
  readonly units: number;
  readonly rows: bigint;
  /** Bytes of CSV. */
  readonly bytes: bigint;
  /** Attempts that have failed. */
  readonly failures: number;
}

/**
 * Load units of a queue until the signal is aborted. Any number of workers, on any number of machines, may do so. One
 * that is killed loses nothing: its units go to others once it has been silent for half a minute, and what is delivered
 * twice is loaded once, as rows and ledger are one transaction.
 *
 * @param clients the node, or several nodes of one network. All workers of a queue must call a node by the same name: by
 *   it they share the limits
 * @param options the sink, which is opened once a planner has told the chain, and closed at the end; and how
 * @returns what was done. Units that were under way when the signal was aborted were given up and put back
 * @throws `RequestError` where an option is wrong; what no unit can fare better with, such as refused credentials
 *
 * @example
 * await runWorker(client, { sink: postgresSink("postgres://me@db.example/history"), signal });
 */
export function runWorker(clients: SyncClient | readonly SyncClient[], options: WorkerOptions): Promise<WorkerSummary> {
  const sink = options?.sink;
  return withSink(sink, async () => {
    const checked = checkWorkerOptions(options);
    const all = clientsOf(clients);
    const ending = followingController(checked.signal);
    await using db = await openDatabase(placeOf(sink));
    const done = { units: 0, rows: 0n, bytes: 0n, failures: 0 };
    try {
      await run(db, all, { sink, done, options: checked, ending });
    } catch (reason) {
      if (checked.signal?.aborted !== true) {
        throw reason;
      }
    } finally {
      ending.abort(); // Leaves nothing at the caller's signal.
    }
    return done;
  });
}

interface Running {
  readonly sink: WorkerOptions["sink"];
  readonly done: Work["done"];
  readonly options: CheckedWorkerOptions;
  readonly ending: AbortController;
}

async function run(
  db: Database,
  clients: readonly SyncClient[],
  { sink, done, options, ending }: Running,
): Promise<void> {
  const { pace, unknownColumns, hooks, parallel } = options;
  const { signal } = ending;
  const tell = teller(hooks);
  const names = nodeNames(clients);
  const workerId = randomUUID();
  const patience = { patienceMs: Number.POSITIVE_INFINITY, tell, signal };
  await patiently(() => install(db), patience);
  await patiently(() => enterNodes(db, names), patience);
  await patiently(() => beat(db, workerId, pace), patience);
  const held = new Set<string>();
  const beating = keepBeating(db, { workerId, pace, held, signal });
  let telling: Promise<void> | undefined;
  await using permits = createPermits(db, options.exportsPerNode);
  try {
    const chainId = await patiently(() => chainToBe(db, pace, tell, signal), patience);
    // The planner makes the tables. However many workers begin, none of them changes any.
    const onUnknown: Parameters<typeof sink.open>[0]["onUnknown"] = (unknown) => tell({ case: "unknown", unknown });
    await patiently(() => sink.open({ chainId, tables: [], unknownColumns, onUnknown, signal }), patience);
    const listing = politeListings(db, clients, options.budget, signal);
    const { listMs, newMs } = pace;
    const holders = await readHolders(listing, { ...patience, chainId, sinkName: sink.name, listMs, newMs });
    const delivery: Delivery = { db, sink, clients, budget: options.exportBudget, pace, hooks, signal };
    const work: Work = { workerId, gate: createGate(db, names, permits), holders, delivery, tell, held, done };
    telling = keepTelling(db, { tell, history: () => holders.history, pace, signal });
    const rest = createRest(db, pace, tell, signal);
    let failure: { readonly reason: unknown } | undefined;
    const loadUnits = async () => {
      try {
        for (let empty = 0; ; ) {
          const went = await patiently(() => loadNext(work), patience);
          empty = went ? 0 : empty + 1;
          await (went ? undefined : rest(empty));
        }
      } catch (reason) {
        failure ??= { reason };
        ending.abort();
      }
    };
    await Promise.all(Array.from({ length: parallel }, loadUnits));
    throw failure?.reason;
  } finally {
    ending.abort();
    await Promise.all([beating, telling]);
    await leave(db, workerId).catch(() => undefined); // Others notice.
  }
}

/** How often a worker that waits for a planner says so, in milliseconds. */
const TELL_MS = 60_000;

/** Waits until a planner has told the chain. */
async function chainToBe(db: Database, pace: Pace, tell: Tell, signal: AbortSignal): Promise<string> {
  for (let tellAt = 0; ; ) {
    const chainId = await chainOfQueue(db);
    if (chainId !== undefined) {
      return chainId;
    }
    if (monotonicMs() >= tellAt) {
      tellAt = monotonicMs() + TELL_MS;
      tell({ case: "waiting", error: noPlanner(db.name), againMs: TELL_MS });
    }
    await wait(jittered(pace.lookMs), signal);
  }
}

function noPlanner(name: string): SinkError {
  return new SinkError(`no planner has filled a queue in ${name} yet`, {
    code: Code.Unavailable,
    advice: "Start one with `tradewire sync --queue`, into the same database and schema.",
  });
}

/**
 * Those who find nothing to do rest together, and one of them looks for all: the longer nothing was there, the more
 * seldom. That they rest is told now and then.
 */
function createRest(
  db: Database,
  { idleMs, listMs }: Pace,
  tell: Tell,
  signal: AbortSignal,
): (empty: number) => Promise<void> {
  const [first, longest] = idleMs;
  let tellAt = 0;
  let resting: Promise<void> | undefined;
  async function untilAnyIsDue(empty: number): Promise<void> {
    for (let ms = first * 2 ** (empty - 1); ; ms *= 2) {
      if (monotonicMs() >= tellAt) {
        tellAt = monotonicMs() + listMs;
        tell({ case: "idle", againMs: listMs });
      }
      await wait(jittered(Math.min(ms, longest)), signal);
      // Where the database cannot be asked, those who then try to take a unit wait for it.
      if (await isAnyDue(db).catch(() => true)) {
        return;
      }
    }
  }
  return (empty) => {
    resting ??= untilAnyIsDue(empty).finally(() => {
      resting = undefined;
    });
    return resting;
  };
}
