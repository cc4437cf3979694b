import { hostname } from "node:os";
import { Code } from "@connectrpc/connect";
import type { Client } from "pg";
import { SinkError } from "../../errors/index.js";
import { mayPass, reactionTo } from "../../errors/reaction.js";
import { monotonicMs } from "../../runtime/index.js";
import { followingController } from "../../signal/follow.js";
import { requireGoing, wait } from "../../signal/wait.js";
import { createReach } from "../reach.js";
import type { Tell } from "../tell.js";
import { type Database, endConnection } from "./database.js";
import { jittered, type Pace } from "./pace.js";

/** What a planner has that leads. */
export interface Lead extends AsyncDisposable {
  /** The connection that holds the lock: what is written through it is written by the leader, or not at all. */
  readonly client: Client;
  /** Aborted once the connection, and with it the lock, is lost. */
  readonly signal: AbortSignal;
  /** Find out whether the lead is still held: PostgreSQL's last word may come before the end of the connection. */
  isHeld(): Promise<boolean>;
  /** Say in the queue's tables who leads; it is said again and again from then on. */
  say(): Promise<void>;
}

/** How the lead is taken. */
export interface LeadOptions {
  readonly pace: Pace;
  readonly patienceMs: number;
  readonly tell: Tell;
  readonly signal: AbortSignal;
}

/**
 * Wait until no other planner leads, and lead. The lock is one of a connection's session, so that PostgreSQL releases it
 * however the leader ends: at once where its process dies; within `leadIdleMs` where it is frozen, or its machine or
 * network is gone, as PostgreSQL then ends a session that says nothing. The leader itself takes a beat that is not
 * answered in half that time for the loss of its lead.
 *
 * @param db the queue
 * @param options times, patience with a database that cannot be reached, and what ends the wait
 * @returns the lead
 * @throws {@link SinkError} where the database cannot be reached for too long; {@link CanceledError}
 */
export async function takeLead(db: Database, options: LeadOptions): Promise<Lead> {
  const reach = createReach(options.patienceMs);
  for (;;) {
    try {
      return await waitForLead(db, options);
    } catch (error) {
      requireGoing(options.signal);
      if (!(error instanceof SinkError) || reactionTo(error).unit !== "wait") {
        throw error;
      }
      const againMs = reach.failed(error, true);
      if (reach.givenUp) {
        throw error;
      }
      options.tell({ case: "waiting", error, againMs });
      await wait(againMs, options.signal);
    }
  }
}

/** How often a planner that waits for its turn says so, in milliseconds. */
const TELL_MS = 60_000;

async function waitForLead(db: Database, { pace, tell, signal }: LeadOptions): Promise<Lead> {
  const ending = followingController(signal);
  const client = await db.connect("asking for the lead", () => ending.abort());
  try {
    await client.query(
      `SET idle_session_timeout TO ${pace.leadIdleMs}; SET idle_in_transaction_session_timeout TO ${pace.leadIdleMs};
       SET tcp_keepalives_idle TO 30; SET tcp_keepalives_interval TO 5; SET tcp_keepalives_count TO 4`,
    );
    const sql = "SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS leads";
    for (let tellAt = 0; ; ) {
      const { rows } = await client.query<{ leads: boolean }>(sql, [`tradewire leader ${db.schema}`]);
      if (rows[0]?.leads === true) {
        break;
      }
      if (monotonicMs() >= tellAt) {
        tellAt = monotonicMs() + TELL_MS;
        tell({ case: "waiting", error: anotherLeads(), againMs: TELL_MS });
      }
      await wait(Math.min(jittered(pace.lookMs), pace.leadIdleMs / 2), ending.signal);
    }
  } catch (reason) {
    const lost = ending.signal.aborted;
    ending.abort();
    await endConnection(client);
    requireGoing(signal);
    throw db.errorOf(lost ? new Error("the connection was terminated") : reason, "asking for the lead");
  }
  const text = `UPDATE ${db.schema}.tradewire_queue SET leader = $1, led_at = now()`;
  const beat = { text, values: [`${hostname()} ${process.pid}`], query_timeout: pace.leadIdleMs / 2 };
  const say = async () => {
    await client.query(beat).catch((reason: unknown) => {
      throw db.errorOf(reason, "saying who leads");
    });
  };
  const beating = keepLeading(say, pace, ending);
  return {
    client,
    say,
    signal: ending.signal,
    async isHeld() {
      try {
        await client.query("SELECT");
        return !ending.signal.aborted;
      } catch {
        return false;
      }
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await endConnection(client);
      await beating;
    },
  };
}

function anotherLeads(): SinkError {
  return new SinkError("another planner leads the queue", {
    code: Code.Unavailable,
    advice: "This one goes on where that one ends. `tradewire sync status` names it.",
  });
}

/** Keeps the session from being idle, until the lead is lost or given up. */
async function keepLeading(say: Lead["say"], pace: Pace, ending: AbortController): Promise<void> {
  try {
    for (;;) {
      await say().catch((reason: unknown) => {
        if (mayPass(reason)) {
          throw reason;
        } // Else the lead is held, and what is wrong with the queue's tables is what the planner fails for.
      });
      await wait(pace.leadBeatMs, ending.signal);
    }
  } catch {
    ending.abort();
  }
}
