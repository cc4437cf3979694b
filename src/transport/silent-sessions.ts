import type { ClientHttp2Session } from "node:http2";
import { startAwakeTimer } from "../runtime/index.js";
import { pingAnswerMs } from "./keepalive.js";

/** How often connections with calls under way are checked, in milliseconds. */
export const CHECK_MS = 2000;

/** A call that ends after so many milliseconds without a byte on its connection makes that doubtful. */
export const DOUBT_MS = 250;

/** A live session sends a ping within this time, in milliseconds. */
const SENT_MS = 200;

/** Servers take this many pings in five minutes while they send nothing themselves (grpc-go, keepalive enforcement). */
const MAX_BLIND_PINGS = 2;

/** What is known of a session. */
interface Seen {
  /** The bytes that had come at the last check, and at the last answer to a ping. */
  atCheck: number;
  atAnswer: number;
  /** The pings since something of a call has come. */
  blindPings: number;
  isPinged: boolean;
}

/** Checks sessions that became silent. */
export interface SilenceCheck {
  /**
   * Ping each session over which bytes have come, and then none since the check before. One that does not answer is
   * destroyed, with the calls on it: Node says nothing of a session that nghttp2 has given up, and reads no more from it.
   */
  check(sessions: Iterable<ClientHttp2Session>): void;
  /** Note that something of a call has come. */
  heard(session: ClientHttp2Session | undefined): void;
}

/**
 * Make a check of sessions, to be done every {@link CHECK_MS} while calls are under way.
 *
 * @param keepaliveMs the time between two pings of the transport, in milliseconds
 * @returns the check
 */
export function createSilenceCheck(keepaliveMs: number): SilenceCheck {
  const known = new WeakMap<ClientHttp2Session, Seen>();

  async function ping(session: ClientHttp2Session, seen: Seen): Promise<void> {
    seen.isPinged = true;
    seen.blindPings += 1;
    const outcome = await pingSession(session, pingAnswerMs(keepaliveMs));
    seen.isPinged = false;
    if (outcome === "answered") {
      seen.atCheck = bytesRead(session);
      seen.atAnswer = seen.atCheck;
    } else {
      session.destroy(outcome === "stuck" ? brokenRules() : unanswered());
    }
  }

  return {
    check(sessions) {
      for (const session of new Set(sessions)) {
        const bytes = bytesRead(session);
        const seen = known.get(session);
        if (seen === undefined) {
          known.set(session, { atCheck: bytes, atAnswer: -1, blindPings: 0, isPinged: false });
        } else if (seen.atCheck !== bytes) {
          seen.atCheck = bytes;
        } else if (seen.atAnswer !== bytes && seen.blindPings < MAX_BLIND_PINGS && !seen.isPinged) {
          void ping(session, seen);
        }
      }
    },
    heard(session) {
      const seen = session && known.get(session);
      if (seen !== undefined) {
        seen.blindPings = 0;
      }
    },
  };
}

/** How a session answers a ping: `stuck` is one that sends nothing any more, as nghttp2 has given it up. */
export type PingOutcome = "answered" | "silent" | "stuck";

/**
 * Ping a session.
 *
 * @param session the session
 * @param withinMs the longest time until the answer, in milliseconds, without those in which this process is blocked
 * @returns whether it was answered, and else why not
 */
export function pingSession(session: ClientHttp2Session, withinMs: number): Promise<PingOutcome> {
  return new Promise((resolve) => {
    const queued = outboundFrames(session);
    const timers = [
      startAwakeTimer(() => done("silent"), withinMs),
      startAwakeTimer(() => outboundFrames(session) > queued && done("stuck"), Math.min(SENT_MS, withinMs)),
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

function brokenRules(): Error {
  return Object.assign(new Error("Protocol error"), { code: "ERR_HTTP2_ERROR" }); // As Node has it where it tells.
}

function unanswered(): Error {
  return Object.assign(new Error("a ping was not answered"), { code: "ECONNRESET" });
}
