import { monotonicMs } from "../../runtime/index.js";
import { wait } from "../../signal/wait.js";
import type { AgreedHistory } from "../agree.js";
import { createHolderWait } from "../holder-wait.js";
import { readHistory } from "../node-history.js";
import type { SyncClient, SyncSummary } from "../options.js";
import { partingError } from "../parting.js";
import { patiently } from "../patiently.js";
import type { Survey, TableSurvey } from "../sink.js";
import { createSurveyor, withHeld } from "../surveyor.js";
import { removeForeign } from "../sync.js";
import { type Tell, tellNodes } from "../tell.js";
import type { NodeHistory, Unit } from "../unit.js";
import { unitsOf } from "../units.js";
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
  const { budget, follow, pollMs, pace, segmentsPerExport, replaceFrom } = options;
  const { signal } = lead;
  const clients = politeListings(db, planning.clients, budget, signal);
  const patience = { patienceMs: options.patienceMs, tell, signal };
  async function read(known?: NodeHistory) {
    const look = await patiently(() => readHistory(clients, signal, known), patience);
    tellNodes(look, tell);
    return look;
  }
  const queueing = { replace: replaceFrom !== undefined, attempts: options.attempts, retrySeconds: pace.retrySeconds };

  let history = await read();
  let readAt = monotonicMs();
  while (history.segments.length === 0 && history.chainId === "") {
    if (!follow) {
      return { chainId: "", tables: [], units: 0, rows: 0n, bytes: 0n, dead: [] };
    }
    tell({ case: "idle", againMs: pollMs });
    await wait(pollMs, signal);
    [history, readAt] = [await read(history), monotonicMs()];
  }
  await patiently(() => planning.open(history.chainId), patience);
  await lead.client.query(`UPDATE ${db.schema}.tradewire_queue SET chain_id = $1`, [history.chainId]);
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
  const compare = createSurveyor(sink);

  async function survey(present: Present): Promise<void> {
    const inQueue = present.waiting + present.active + present.dead.length;
    const limit = SURVEY_LIMIT + inQueue * segmentsPerExport;
    const found = await patiently(() => surveySink(planning, compare, history, limit), patience);
    const missing = found.missing.filter((segment) => !present.covers(segment));
    const { chainId, segments, isHeld } = history;
    const units = unitsOf(chainId, missing, segmentsPerExport, isHeld);
    backlog = units.filter(isHeld);
    listedAll = found.missing.length < limit;
    stands = found.tables;
    began ??= stands;
    tell({ case: "planned", history: { chainId, segments }, tables: stands });
    await notePlan(db, lead.client, stands);
    // A node that is away may have what lies behind the others' last block.
    const removed =
      history.away.length === 0 && (await patiently(() => removeForeign(sink, found, history, options), patience));
    const isStill = backlog.length === 0 && !removed && present.waiting + present.active === 0;
    nothingLeft = missing.length === 0 && isStill;
    unheld = isStill ? units[0] : undefined;
    if (backlog.length > 0) {
      holders.reached();
    }
  }

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
      return { chainId: history.chainId, tables: stands, ...loadedSince(began ?? stands, stands), dead: present.dead };
    }
    if (monotonicMs() - ledAt > pace.silentMs) {
      await patiently(() => reapInTurn(db, pace), patience); // Behind an outage, all workers seem silent for a while.
    }
    if (monotonicMs() - maintainedAt >= MAINTAIN_MS) {
      maintainedAt = monotonicMs();
      await db.boss.maintain();
    }
    if (unheld !== undefined) {
      await holders.wait(unheld, history.away);
      [history, readAt] = [await read(history), monotonicMs()];
      [listedAll, unheld] = [false, undefined];
    } else if (follow && monotonicMs() - readAt >= pollMs) {
      [history, readAt] = [await read(history), monotonicMs()];
      [listedAll, nothingLeft] = [false, false];
    } else if (follow && nothingLeft) {
      tell({ case: "idle", againMs: Math.max(0, Math.round(pollMs - (monotonicMs() - readAt))) });
      await wait(Math.max(pace.lookMs, pollMs - (monotonicMs() - readAt)), signal);
    } else {
      await wait(pace.lookMs, signal);
    }
  }
}

/** Compares. Where the histories part, what waits is planned by a history that does not hold, and goes. */
async function surveySink(
  { db, sink, options }: Planning,
  compare: ReturnType<typeof createSurveyor>,
  history: AgreedHistory,
  limit: number,
): Promise<Survey> {
  const { tables, range, replaceFrom } = options;
  const question = { history, tables, range, limit, ...(replaceFrom !== undefined && { replaceFrom }) };
  const found = await compare(question);
  if (found.parting !== undefined) {
    await db.boss.purgeQueue(UNITS);
    throw partingError(sink.name, found.parting);
  }
  return withHeld(sink, question, found);
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
