import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { startAwakeTimer, startImmediate } from "../../base/runtime/index.js";
import { pingReplyMs } from "./transport-types.js";

/** The time between two liveness checks of connections with calls in flight, in milliseconds. */
export const LIVENESS_CHECK_MS = 2000;

/** The time within which a live session sends a ping, in milliseconds. */
const PING_SENT_MS = 200;

/** The number of pings that servers accept in five minutes while they send nothing (grpc-go, keepalive enforcement). */
const MAX_UNSOLICITED_PINGS = 2;

/** The maximum number of interim responses (1xx) of a call. More are an attack, since nobody waits for their end. */
const MAX_INTERIM_RESPONSES = 100;

interface SessionRecord {
  /** The bytes that the session had received at the last check, and at the last reply to a ping. */
  bytesAtCheck: number;
  bytesAtReply: number;
  /** The pings since data of a call arrived. */
  unsolicitedPings: number;
  isPingPending: boolean;
}

/** Checks whether silent sessions are alive. */
export interface LivenessCheck {
  /**
   * Pings each session that has received bytes, but none since the previous check. A session that does not reply is
   * destroyed with the calls on it: when nghttp2 has abandoned a session, Node reports nothing and reads no more from it.
   */
  check(sessions: Iterable<ClientHttp2Session>): void;
  /** Records that data of a call arrived. */
  onReceive(session: ClientHttp2Session | undefined): void;
}

/** Creates a liveness check, to be run every {@link LIVENESS_CHECK_MS} while calls are in flight. */
export function createLivenessCheck(keepaliveMs: number): LivenessCheck {
  const records = new WeakMap<ClientHttp2Session, SessionRecord>();

  async function ping(session: ClientHttp2Session, record: SessionRecord): Promise<void> {
    record.isPingPending = true;
    record.unsolicitedPings += 1;
    const outcome = await pingSession(session, pingReplyMs(keepaliveMs));
    record.isPingPending = false;
    if (outcome === "answered") {
      record.bytesAtCheck = bytesRead(session);
      record.bytesAtReply = record.bytesAtCheck;
    } else {
      session.destroy(outcome === "stuck" ? protocolBroken() : pingUnanswered());
    }
  }

  return {
    check(sessions) {
      for (const session of new Set(sessions)) {
        const bytes = bytesRead(session);
        const record = records.get(session);
        if (record === undefined) {
          records.set(session, { bytesAtCheck: bytes, bytesAtReply: -1, unsolicitedPings: 0, isPingPending: false });
        } else if (record.bytesAtCheck !== bytes) {
          record.bytesAtCheck = bytes;
        } else if (
          record.bytesAtReply !== bytes &&
          record.unsolicitedPings < MAX_UNSOLICITED_PINGS &&
          !record.isPingPending
        ) {
          void ping(session, record);
        }
      }
    },
    onReceive(session) {
      const record = session && records.get(session);
      if (record !== undefined) {
        record.unsolicitedPings = 0;
      }
    },
  };
}

/** The outcome of a ping: `stuck` means that the session can no longer send, because nghttp2 has abandoned it. */
export type PingOutcome = "answered" | "silent" | "stuck";

export function pingSession(session: ClientHttp2Session, withinMs: number): Promise<PingOutcome> {
  return new Promise((resolve) => {
    const queued = outboundFrames(session);
    const timers = [
      startAwakeTimer(() => done("silent"), withinMs),
      startAwakeTimer(() => outboundFrames(session) > queued && done("stuck"), Math.min(PING_SENT_MS, withinMs)),
    ];
    const done = (outcome: PingOutcome) => {
      for (const stop of timers) {
        stop();
      }
      resolve(outcome);
    };
    const isOpen = !session.closed && !session.destroyed;
    if (!isOpen || !session.ping((error) => done(error === null ? "answered" : "silent"))) {
      done("silent");
    }
  });
}

function outboundFrames(session: ClientHttp2Session): number {
  return session.destroyed ? 0 : (session.state.outboundQueueSize ?? 0);
}

function bytesRead(session: ClientHttp2Session): number {
  return session.destroyed ? 0 : session.socket.bytesRead;
}

/** Returns the error that Node itself reports for a session that nghttp2 abandons, if any. */
function protocolBroken(): Error {
  return Object.assign(new Error("Protocol error"), { code: "ERR_HTTP2_ERROR" });
}

/** Returns the error of a connection over which a ping was not answered. */
export function pingUnanswered(): Error {
  return Object.assign(new Error("a ping was not answered"), { code: "ECONNRESET" });
}

/**
 * Limits the interim responses of a stream, when called once. Beyond the limit, its connection is closed, since the server would continue to
 * send to a stream that was reset.
 */
export function limitInterimResponses(stream: ClientHttp2Stream): void {
  let count = 0;
  stream.on("headers", () => {
    count += 1;
    if (count === MAX_INTERIM_RESPONSES) {
      const reason = new Error(`more than ${MAX_INTERIM_RESPONSES} interim responses`);
      startImmediate(() => stream.session?.destroy(Object.assign(reason, { code: "ERR_HTTP2_ERROR" })));
    }
  });
}
