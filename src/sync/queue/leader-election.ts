import { hostname } from "node:os";
import { Code } from "@connectrpc/connect";
import type { Client } from "pg";
import { SinkError } from "../../base/errors/index.js";
import { isTransient, reactionTo } from "../../base/errors/reaction.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { linkedController } from "../../base/signal/abort.js";
import { throwIfAborted, wait } from "../../base/signal/wait.js";
import { type RetryContext, retryWhileUnavailable } from "../availability.js";
import { endConnection, type QueueDatabase } from "./queue-database.js";
import { jittered, type QueueTimings } from "./queue-options.js";

/** One term of a planner as leader. It ends when the connection is lost, or when it is disposed of. */
export interface Leadership extends AsyncDisposable {
  /** The connection that holds the lock: what is written through it is written by the leader, or not at all. */
  readonly client: Client;
  /** Aborted once the connection is lost, and with it the lock. */
  readonly signal: AbortSignal;
  /** Returns whether the lock is still held: PostgreSQL may report an error before the connection ends. */
  isLeader(): Promise<boolean>;
  /** Records in the queue which planner leads. It is repeated with each heartbeat. */
  announce(): Promise<void>;
}

/** How a planner becomes the leader. */
export interface LeaderElectionOptions extends RetryContext {
  readonly timings: QueueTimings;
}

/** How often a planner that waits for its turn reports that, in milliseconds. */
const WAIT_REPORT_MS = 60_000;

/**
 * Waits until no other planner leads, and becomes the leader.
 *
 * The lock belongs to a session, and PostgreSQL releases it when the session ends. If the leader's process dies, the
 * session ends immediately. If the process freezes, or its machine or network fails, PostgreSQL ends the session after
 * it was idle for `leaderTimeoutMs`. The leader gives up if a heartbeat is not answered within half of that time.
 *
 * @throws {@link SinkError} once the database was unreachable for `retryForMs`; {@link CanceledError}
 */
export function acquireLeadership(db: QueueDatabase, options: LeaderElectionOptions): Promise<Leadership> {
  const mayRetry = (error: Error) => error instanceof SinkError && reactionTo(error).unit === "wait";
  return retryWhileUnavailable(() => waitForLeadership(db, options), options, mayRetry);
}

async function waitForLeadership(db: QueueDatabase, options: LeaderElectionOptions): Promise<Leadership> {
  const { timings, signal } = options;
  const controller = linkedController(signal);
  const client = await db.connect("electing a leader", () => controller.abort());
  try {
    await waitForLock(db, client, options, controller.signal);
  } catch (reason) {
    const isLost = controller.signal.aborted;
    controller.abort();
    await endConnection(client);
    throwIfAborted(signal);
    throw db.errorOf(isLost ? new Error("the connection was terminated") : reason, "electing a leader");
  }
  const text = `UPDATE ${db.schema}.tradewire_queue SET leader = $1, led_at = now()`;
  const heartbeat = { text, values: [`${hostname()} ${process.pid}`], query_timeout: timings.leaderTimeoutMs / 2 };
  const announce = async () => {
    await client.query(heartbeat).catch((reason: unknown) => {
      throw db.errorOf(reason, "recording the leader");
    });
  };
  const renewed = renewLeadership(announce, timings, controller);
  return {
    client,
    announce,
    signal: controller.signal,
    async isLeader() {
      try {
        await client.query("SELECT");
        return !controller.signal.aborted;
      } catch {
        return false;
      }
    },
    async [Symbol.asyncDispose]() {
      controller.abort();
      await endConnection(client);
      await renewed;
    },
  };
}

/** Tries the lock of the leader until no other session holds it. */
async function waitForLock(
  db: QueueDatabase,
  client: Client,
  { timings, report }: LeaderElectionOptions,
  signal: AbortSignal,
): Promise<void> {
  const { checkMs, leaderTimeoutMs } = timings;
  await client.query(
    `SET idle_session_timeout TO ${leaderTimeoutMs}; SET idle_in_transaction_session_timeout TO ${leaderTimeoutMs};
     SET tcp_keepalives_idle TO 30; SET tcp_keepalives_interval TO 5; SET tcp_keepalives_count TO 4`,
  );
  const sql = "SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS leads";
  for (let reportAt = 0; ; ) {
    const { rows } = await client.query<{ leads: boolean }>(sql, [`tradewire leader ${db.schema}`]);
    if (rows[0]?.leads === true) {
      return;
    }
    if (monotonicMs() >= reportAt) {
      reportAt = monotonicMs() + WAIT_REPORT_MS;
      report({ kind: "waiting", error: otherLeaderError(), againMs: WAIT_REPORT_MS });
    }
    await wait(Math.min(jittered(checkMs), leaderTimeoutMs / 2), signal);
  }
}

/** Sends heartbeats, which keep the session from being idle, until the leadership ends. */
async function renewLeadership(
  announce: Leadership["announce"],
  timings: QueueTimings,
  controller: AbortController,
): Promise<void> {
  try {
    for (;;) {
      await announce().catch((reason: unknown) => {
        if (isTransient(reason)) {
          throw reason;
        } // Otherwise the lock is held, and the planner itself fails because of what is wrong with the queue's tables.
      });
      await wait(timings.leaderHeartbeatMs, controller.signal);
    }
  } catch {
    controller.abort();
  }
}

function otherLeaderError(): SinkError {
  return new SinkError("another planner is the leader of the queue", {
    code: Code.Unavailable,
    advice: "This planner takes over when the leader stops. `tradewire sync status` shows the leader.",
  });
}
