import { monotonicMs } from "../../runtime/index.js";
import { wait } from "../../signal/wait.js";
import { startComparison } from "../comparison.js";
import { createHolderWait } from "../holder-wait.js";
import type { SyncClient, SyncSummary } from "../options.js";
import { patiently } from "../patiently.js";
import type { TableSurvey } from "../sink.js";
import type { Tell } from "../tell.js";
import type { Unit } from "../unit.js";
import { type Database, dbOf } from "./database.js";
import type { DeadLetter } from "./dead-letter.js";
import { reapInTurn } from "./heartbeat.js";
import { jobOf } from "./jobs.js";
import type { Lead } from "./leader.js";
import { UNITS } from "./names.js";
import type { CheckedQueueOptions, QueueOptions } from "./options.js";
import { notePlan } from "./plan-note.js";
import { politeListings } from "./polite.js";
import { type Present, readPresent } from "./present.js";
import { requireFewDead, tellDead } from "./tell-dead.js";

/**
 * The queue is filled up to this number of waiting units, and again once fewer than the other one wait. pg-boss sorts all
 * of them each time that one is taken.
 */
const [HIGH_WATER, LOW_WATER] = [2000, 1000];
/** How many missing segments are listed at once, beyond those in the queue. They are kept, and queued page by page. */
const SURVEY_LIMIT = 20_000;
/** Units that are inserted by a statement. */
const PAGE = 1000;
/** How often pg-boss's own tables are seen to. */
const MAINTAIN_MS = 60_000;

/** What a leader plans with. */
export interface Planning {
  readonly db: Database;
  readonly clients: readonly SyncClient[];
  readonly sink: QueueOptions["sink"];
  /** Opens the sink for a chain, where it is not open yet. */
  readonly open: (chainId: string) => Promise<void>;
  readonly tell: Tell;
  readonly options: CheckedQueueOptions;
  readonly lead: Lead;
}

/**
 * Read the nodes' history, compare it with the sink, and keep the queue filled with what is missing.
 *
 * @param planning the queue, the nodes, the sink, and the lead
 * @returns how the tables stand once nothing is left to do, and the dead letters
 */
export async function planAsLeader(
  planning: Planning,
): Promise<Omit<SyncSummary, "failed"> & { readonly dead: readonly DeadLetter[] }> {
  const { db, sink, tell, lead, options } = planning;
  const { follow, pace, segmentsPerExport } = options;
  const { signal } = lead;
  const patience = { patienceMs: options.patienceMs, tell, signal };
  const replace = options.replaceFrom !== undefined;
  const queueing = { replace, attempts: options.attempts, retrySeconds: pace.retrySeconds };

  const comparison = await startComparison({
    ...options,
    clients: politeListings(db, planning.clients, options.budget, signal),
    sink,
    patience,
    onParting: () => db.boss.purgeQueue(UNITS), // What waits was planned by a history that does not hold.
  });
  if (comparison === undefined) {
    return { chainId: "", tables: [], units: 0, rows: 0n, bytes: 0n, dead: [] };
  }
  const { chainId } = comparison.history;
  await patiently(() => planning.open(chainId), patience);
  await lead.client.query(`UPDATE ${db.schema}.tradewire_queue SET chain_id = $1`, [chainId]);
  let backlog: Unit[] = [];
  /** Whether all that was missing is in the queue or the backlog, and whether nothing was missing at all. */
  let [listedAll, nothingLeft] = [false, false];
  /** What is missing that no node has now, where nothing else is left to do. */
  let unheld: Unit | undefined;
  const holders = createHolderWait(patience);
  let began: readonly TableSurvey[] | undefined;
  let stands: readonly TableSurvey[] = [];
  const ledAt = monotonicMs();
  let maintainedAt = ledAt;
  const told = new Set<string>();

  const survey = async (present: Present): Promise<void> => {
    const inQueue = present.waiting + present.active + present.dead.length;
    const limit = SURVEY_LIMIT + inQueue * segmentsPerExport;
    const found = await comparison.compare(limit);
    const missing = found.missing.filter((segment) => !present.covers(segment));
    const units = comparison.unitsOf(missing);
    backlog = units.filter(comparison.history.isHeld);
    listedAll = found.missing.length < limit;
    stands = found.tables;
    began ??= stands;
    await notePlan(db, lead.client, stands);
    const removed = await comparison.removeForeign(found);
    const isStill = backlog.length === 0 && !removed && present.waiting + present.active === 0;
    nothingLeft = missing.length === 0 && isStill;
    unheld = isStill ? units[0] : undefined;
    if (backlog.length > 0) {
      holders.reached();
    }
  };

  for (;;) {
    const present = await readPresent(db);
    requireFewDead(present);
    tellDead(present, told, tell);
    const queued = present.waiting + present.active;
    if (backlog.length === 0 && !nothingLeft && (listedAll ? queued === 0 : present.waiting < LOW_WATER)) {
      await survey(present);
    }
    if (backlog.length > 0 && present.waiting < LOW_WATER) {
      await insert(planning, backlog.splice(0, HIGH_WATER - present.waiting), queueing);
    } else if (nothingLeft && !follow) {
      return { chainId, tables: stands, ...loadedSince(began ?? stands, stands), dead: present.dead };
    }
    if (monotonicMs() - ledAt > pace.silentMs) {
      await patiently(() => reapInTurn(db, pace), patience); // Behind an outage, all workers seem silent for a while.
    }
    if (monotonicMs() - maintainedAt >= MAINTAIN_MS) {
      maintainedAt = monotonicMs();
      await db.boss.maintain();
    }
    if (unheld !== undefined) {
      await holders.wait(unheld, comparison.history.away);
      await comparison.read();
      [listedAll, unheld] = [false, undefined];
    } else if (follow && comparison.isDue()) {
      await comparison.read();
      [listedAll, nothingLeft] = [false, false];
    } else if (follow && nothingLeft) {
      tell({ case: "idle", againMs: Math.round(comparison.leftMs()) });
      await wait(Math.max(pace.lookMs, comparison.leftMs()), signal);
    } else {
      await wait(pace.lookMs, signal);
    }
  }
}

/** Inserts through the connection that holds the lead. A unit that is there already stays as it is. */
async function insert({ db, lead }: Planning, units: readonly Unit[], queueing: Parameters<typeof jobOf>[1]) {
  for (let start = 0; start < units.length; start += PAGE) {
    const jobs = units.slice(start, start + PAGE).map((unit) => jobOf(unit, queueing));
    try {
      await db.boss.insert(jobs, { db: dbOf(lead.client) });
    } catch (reason) {
      throw db.errorOf(reason, "filling the queue");
    }
  }
}

function loadedSince(began: readonly TableSurvey[], now: readonly TableSurvey[]) {
  const sum = (tables: readonly TableSurvey[], of: "units" | "rows" | "bytes") =>
    tables.reduce((total, table) => total + table[of], 0n);
  const units = Number(sum(now, "units") - sum(began, "units"));
  return { units, rows: sum(now, "rows") - sum(began, "rows"), bytes: sum(now, "bytes") - sum(began, "bytes") };
}
