import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type Http2Session,
  type OutgoingHttpHeaders,
} from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { GrpcConfig } from "../../config/schema.js";
import { ConnectionError } from "../../errors/index.js";
import { notConnectedInTime, whileConnecting } from "../../errors/network-failure.js";
import { connect, monotonicMs, startAwakeTimer, startTimer } from "../../runtime/index.js";
import type { TransportSettings } from "../closable.js";
import { connectionOptions } from "../connection-options.js";
import { pingAnswerMs, TCP_KEEPALIVE_MS } from "../keepalive.js";
import { createSilenceCheck, DOUBT_MS, pingSession } from "../silent-sessions.js";
import { readTls } from "../tls.js";
import { noticeEnd } from "./stream-end.js";

/** A connection without streams is pinged before it is used again after this time, in milliseconds. */
const FRESH_MS = 60_000;

/** The longest time between two pings that a server can ask for, in milliseconds. */
const MAX_KEEPALIVE_MS = 2 * 60 * 60_000;

/** A connection without streams is closed after this time, in milliseconds. */
const IDLE_SESSION_MS = 15 * 60_000;

/** The longest time until a doubtful connection has to answer a ping before it gets another stream, in milliseconds. */
const DOUBT_PING_MS = 1000;

/** The most connections with one server. */
const MAX_SESSIONS = 100;

/** HTTP/2 sessions with one server: one at a time takes new streams, until it has as many as the server allows. */
export interface Sessions {
  /** The server's origin. */
  readonly authority: string;
  /**
   * Open a stream, unless the call is no longer wanted once there is a connection. Whatever this throws, nothing of the
   * request has left.
   */
  request(headers: OutgoingHttpHeaders, isWanted: () => boolean): Promise<ClientHttp2Stream>;
  /** Say that bytes came on a stream, so that its connection needs no ping. */
  notifyResponseByteRead(stream: ClientHttp2Stream): void;
  /** Check the connections that have streams and became silent. */
  check(): void;
  /** Close all sessions and refuse further requests. */
  close(): void;
}

interface Session {
  readonly http2: ClientHttp2Session;
  streams: number;
  /** When bytes came last, by `monotonicMs()`. */
  aliveAt: number;
  /** When a stream ended while nothing came: a proxy may have forgotten the connection, or nghttp2 have given it up. */
  doubtedAt: number;
  /** Whether it did not answer a ping in time, so that it gets no more streams. */
  isRetired: boolean;
}

/**
 * Make HTTP/2 sessions with a server. A session is used once the server's SETTINGS have come: a port that takes
 * connections and says nothing is not reached. A session that was told to go away keeps its streams and gets no others.
 *
 * @param config where the server is, and how its connections are
 * @param options the longest time until a connection is usable, in milliseconds
 * @returns the sessions; none is opened before the first request
 * @throws {@link FileError} where a file of `config.tls` cannot be read
 */
export function createSessions(
  config: GrpcConfig,
  { connectMs, tls = readTls(config.tls) }: TransportSettings,
): Sessions {
  const authority = new URL(config.url).origin;
  const server = connectionOptions(config.url, tls, "h2");
  const createConnection = () => connect(server);
  const all = new Map<Http2Session, Session>();
  const pings = { everyMs: config.keepaliveMs };
  const silence = createSilenceCheck(config.keepaliveMs);
  let current: Promise<Session> | undefined;
  let closed = false;

  function open(withinMs: number): Promise<Session> {
    return new Promise((resolve, reject) => {
      // What a server pushes, nobody asked for: Node gives it to nobody, and its errors would end the process.
      const settings = { initialWindowSize: config.windowBytes, enablePush: false };
      const http2 = connectHttp2(authority, { settings, createConnection });
      const session: Session = {
        http2,
        streams: 0,
        aliveAt: monotonicMs(),
        doubtedAt: Number.NEGATIVE_INFINITY,
        isRetired: false,
      };
      all.set(http2, session);
      let opened = false;
      const fail = (reason: Error) => {
        reject(opened ? reason : whileConnecting(reason));
        http2.destroy(reason);
      };
      const stopTimer = startAwakeTimer(() => fail(notConnectedInTime()), withinMs);
      http2.on("error", fail);
      // Without streams, a session does not learn of all that happens to its socket.
      http2.once("connect", (_, socket) =>
        socket
          .setKeepAlive(true, TCP_KEEPALIVE_MS)
          .once("error", (reason) => {
            fail(reason);
            socket.destroy(); // The session would wait without end for what TLS can no longer write (Node 20).
          })
          .once("close", () => http2.destroy(closedByServer())),
      );
      http2.on("close", () => {
        stopTimer();
        all.delete(http2);
        fail(closedByServer());
      });
      http2.once("remoteSettings", () => {
        stopTimer();
        opened = !http2.destroyed;
        if (!opened) {
          return;
        }
        http2.setLocalWindowSize(config.windowBytes);
        keepAlive(session, pings);
        resolve(session);
      });
    });
  }

  /** A session besides the current one that takes streams: needed only where the server's limit has filled some. */
  function roomy(): Session | undefined {
    return all.size > 1
      ? [...all.values()].find((one) => one.streams > 0 && takesStreams(one) && hasRoom(one))
      : undefined;
  }

  /** A session that takes streams: the current one, once it has shown that it lives, or a new one. */
  async function usable(): Promise<Session> {
    const known = current;
    const session = roomy() ?? (await known);
    const begin = monotonicMs();
    if (session !== undefined && takesStreams(session) && hasRoom(session)) {
      const isDoubtful = session.doubtedAt > session.aliveAt;
      const isFresh = session.streams > 0 || begin - session.aliveAt < Math.min(FRESH_MS, pings.everyMs);
      const answerMs = Math.min(pingAnswerMs(pings.everyMs), isDoubtful ? DOUBT_PING_MS : connectMs / 2);
      if ((isFresh && !isDoubtful) || (await answersPing(session, answerMs))) {
        return session;
      }
      retire(session);
    }
    if (closed) {
      throw whileConnecting(Object.assign(new Error("the transport is closed"), { code: "ERR_HTTP2_SESSION_CLOSED" }));
    }
    if (all.size >= MAX_SESSIONS && [...all.values()].every((one) => !hasRoom(one))) {
      throw tooManyStreams(config.url);
    }
    if (current === known) {
      const opening = open(Math.max(connectMs - (monotonicMs() - begin), 1));
      current = opening;
      opening.catch(() => {
        current = current === opening ? undefined : current;
      });
    }
    return usable();
  }

  return {
    authority,
    async request(headers, isWanted) {
      for (;;) {
        const session = await usable();
        if (!isWanted()) {
          throw new ConnectError("the call has ended", Code.Canceled);
        }
        if (!hasRoom(session)) {
          continue; // Other calls were first.
        }
        try {
          const stream = session.http2.request(headers);
          count(session, stream);
          noticeEnd(stream, () => (session.http2.destroyed ? closedByServer() : undefined));
          return stream;
        } catch (reason) {
          if (takesStreams(session)) {
            throw reason;
          }
        }
      }
    },
    notifyResponseByteRead(stream) {
      const session = stream.session === undefined ? undefined : all.get(stream.session);
      if (session !== undefined) {
        session.aliveAt = monotonicMs();
        silence.heard(session.http2);
      }
    },
    check() {
      silence.check([...all.values()].filter(({ streams }) => streams > 0).map(({ http2 }) => http2));
    },
    close() {
      closed = true;
      for (const { http2 } of all.values()) {
        http2.destroy(
          Object.assign(new Error("the transport was closed"), { code: "ECONNRESET" }),
          constants.NGHTTP2_NO_ERROR,
        );
      }
    },
  };
}

function closedByServer(): Error {
  return Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });
}

function takesStreams({ http2, isRetired }: Session): boolean {
  return !isRetired && !http2.closed && !http2.destroyed;
}

/** Whether a session has fewer streams than the server allows. Node would let more wait, without a word. */
function hasRoom({ http2, streams }: Session): boolean {
  const { maxConcurrentStreams = Number.POSITIVE_INFINITY } = http2.destroyed ? {} : http2.remoteSettings;
  return streams < Math.max(maxConcurrentStreams, 1);
}

function tooManyStreams(url: string): ConnectionError {
  return new ConnectionError(`the server takes no more streams on ${MAX_SESSIONS} connections`, {
    code: Code.ResourceExhausted,
    notes: [url],
    advice: "Nothing was sent. End some of the streams that are open, or give a part of them a client of its own.",
    connected: false,
  });
}

/** Give a session no more streams. Those that it has go on: it may only be slow. */
function retire(session: Session): void {
  session.isRetired = true;
  if (session.streams === 0) {
    session.http2.destroy();
  }
}

/** Count the streams of a session: the process may end while it has none. */
function count(session: Session, stream: ClientHttp2Stream): void {
  const openedAt = monotonicMs();
  session.streams += 1;
  session.http2.ref();
  stream.once("close", () => {
    const now = monotonicMs();
    session.streams -= 1;
    if (now - Math.max(openedAt, session.aliveAt) >= DOUBT_MS) {
      session.doubtedAt = now;
    } else if (session.streams === 0) {
      session.aliveAt = now;
    }
    if (session.streams === 0) {
      session.http2.unref();
      if (session.isRetired) {
        session.http2.destroy();
      }
    }
  });
}

/**
 * Ping a connection from which nothing comes while it has streams, and close one that has had none for long. A server
 * that finds the pings too many closes the connection; later ones are then pinged half as often (gRPC's proposal A8).
 */
function keepAlive(session: Session, pings: { everyMs: number }): void {
  const { http2 } = session;
  http2.unref();
  let stopTimer = startTimer(check, pings.everyMs, { ref: false });
  async function check(): Promise<void> {
    const silentMs = monotonicMs() - session.aliveAt;
    if (session.streams === 0) {
      if (silentMs > IDLE_SESSION_MS) {
        http2.close();
      }
    } else if (silentMs >= pings.everyMs && !(await answersPing(session, pingAnswerMs(pings.everyMs)))) {
      http2.destroy(Object.assign(new Error("a ping was not answered"), { code: "ECONNRESET" }));
    }
    if (!http2.destroyed) {
      const leftMs = session.aliveAt + pings.everyMs - monotonicMs();
      stopTimer = startTimer(check, leftMs > 0 ? Math.ceil(leftMs) : pings.everyMs, { ref: false });
    }
  }
  http2.on("goaway", (code) => {
    if (code === constants.NGHTTP2_ENHANCE_YOUR_CALM) {
      pings.everyMs = Math.min(pings.everyMs * 2, MAX_KEEPALIVE_MS);
    }
  });
  http2.on("close", () => stopTimer());
}

async function answersPing(session: Session, withinMs: number): Promise<boolean> {
  const isAnswered = (await pingSession(session.http2, withinMs)) === "answered";
  if (isAnswered) {
    session.aliveAt = monotonicMs();
  }
  return isAnswered;
}
