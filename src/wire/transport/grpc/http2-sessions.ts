import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type Http2Session,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Socket } from "node:net";
import { ConnectError } from "@connectrpc/connect";
import { Code } from "../../../base/errors/code.js";
import { ConnectionError } from "../../../base/errors/index.js";
import { MAX_HEADER_BYTES, MAX_HEADER_FIELDS, markConnecting } from "../../../base/errors/network-failure.js";
import { destroyAfterInput } from "../../../base/runtime/http2-session.js";
import { monotonicMs, startTimer } from "../../../base/runtime/index.js";
import { onAbort } from "../../../base/signal/abort.js";
import type { GrpcConfig } from "../../config/client-config.js";
import { type Connector, connectSignal, createConnector } from "../connector.js";
import { createLivenessCheck, pingSession, pingUnanswered } from "../http2-liveness.js";
import { createTlsSource } from "../tls-source.js";
import { pingReplyMs, SUSPECT_AFTER_MS, type TransportSettings } from "../transport-types.js";

/** The idle time after which a connection is pinged before it is used again, in milliseconds. */
const FRESH_MS = 60_000;

/** The maximum time between two pings that a server can impose, in milliseconds. */
const MAX_KEEPALIVE_MS = 2 * 60 * 60_000;

/** The idle time after which a connection is closed, in milliseconds. */
const IDLE_SESSION_MS = 15 * 60_000;

/** The time limit for the reply of a suspect connection to a ping, in milliseconds. */
const SUSPECT_PING_MS = 1000;

/** The maximum number of connections with one server. */
const MAX_SESSIONS = 100;

/** The call that a stream is for. */
export interface StreamOwner {
  /** Returns whether the stream is still wanted once there is a connection. If this throws, nothing is sent. */
  isWanted(): boolean;
  /**
   * Called when the stream has closed, with an error if its connection was lost: Node then ends a stream as if the server had
   * canceled it, or as if it were complete.
   */
  onClose(stream: ClientHttp2Stream, lost?: Error): void;
}

/** HTTP/2 sessions with one server. One at a time gets new streams, until it has as many as the server allows. */
export interface Sessions {
  /** The server's origin. */
  readonly authority: string;
  /**
   * Opens a stream, unless it is no longer wanted once there is a connection: at once if a connection is ready. If this
   * throws, nothing was sent.
   */
  readonly request: (
    headers: OutgoingHttpHeaders,
    owner: StreamOwner,
  ) => ClientHttp2Stream | Promise<ClientHttp2Stream>;
  /** Records that bytes arrived on a stream, so that its connection needs no ping. */
  notifyResponseByteRead(stream: ClientHttp2Stream): void;
  /** Checks the silent connections among those with streams. */
  check(): void;
  /** Closes all sessions and refuses new requests. */
  close(): void;
}

interface Session {
  readonly http2: ClientHttp2Session;
  /** The connection. It is lost before `http2` knows: Node reports that some steps later. */
  readonly socket: Socket;
  streams: number;
  /** The time at which bytes last arrived, by `monotonicMs()`. */
  aliveAt: number;
  /**
   * The time at which a stream last ended in silence. A proxy may have forgotten the connection, or nghttp2 may have given
   * it up.
   */
  suspectAt: number;
  /** Whether it did not reply to a ping in time, or is being destroyed, so that it gets no more streams. */
  isRetired: boolean;
  /** The ping that all requests await meanwhile: Node has at most ten of a session in flight, and refuses more. */
  proof?: Promise<boolean> | undefined;
}

/**
 * Creates HTTP/2 sessions with a server. A session is used once the server's SETTINGS have arrived, because a port that
 * accepts connections and sends nothing is unreachable. After a GOAWAY, a session keeps its streams and gets no others.
 *
 * @throws {@link FileError} if a file of `config.tls` cannot be read
 */
export function createSessions(
  config: GrpcConfig,
  { connectMs, proxy, tls = createTlsSource(config.tls) }: TransportSettings,
): Sessions {
  const { url, windowBytes } = config;
  const authority = new URL(url).origin;
  const connector = createConnector({ url, tls, proxy, connectMs, protocol: "h2" });
  const closing = new AbortController();
  const all = new Map<Http2Session, Session>();
  const pings: Pings = { everyMs: config.keepaliveMs };
  const shared: Shared = { authority, connector, closing: closing.signal, windowBytes, pings, all };
  const liveness = createLivenessCheck(config.keepaliveMs);
  let current: Promise<Session> | undefined;
  /** The session of `current`, once it is open. */
  let ready: Session | undefined;
  let isClosed = false;

  /** Returns a session other than the current one that accepts streams, if the server's limit of streams led to several. */
  function sessionWithCapacity(): Session | undefined {
    return all.size > 1
      ? [...all.values()].find((one) => one.streams > 0 && acceptsStreams(one) && hasCapacity(one))
      : undefined;
  }

  /** Returns the session for a new stream if it needs no proof that it is alive. */
  function freshSession(): Session | undefined {
    const session = sessionWithCapacity() ?? ready;
    return session !== undefined && acceptsStreams(session) && hasCapacity(session) && isFresh(session)
      ? session
      : undefined;
  }

  function isFresh({ streams, aliveAt, suspectAt }: Session): boolean {
    return suspectAt <= aliveAt && (streams > 0 || monotonicMs() - aliveAt < Math.min(FRESH_MS, pings.everyMs));
  }

  /** Returns a session that accepts streams: the current one, once it has proved to be alive, or a new one. */
  async function usableSession(): Promise<Session> {
    const previous = current;
    const session = sessionWithCapacity() ?? (await previous);
    const begin = monotonicMs();
    if (session !== undefined && acceptsStreams(session) && hasCapacity(session)) {
      const isSuspect = session.suspectAt > session.aliveAt;
      const replyMs = Math.min(pingReplyMs(pings.everyMs), isSuspect ? SUSPECT_PING_MS : connectMs / 2);
      if (isFresh(session) || (await provesAlive(session, replyMs))) {
        return session;
      }
      retire(session);
    }
    if (isClosed) {
      throw markConnecting(Object.assign(new Error("the transport is closed"), { code: "ERR_HTTP2_SESSION_CLOSED" }));
    }
    if (all.size >= MAX_SESSIONS && [...all.values()].every((one) => !hasCapacity(one))) {
      throw tooManyStreams(config.url);
    }
    if (current === previous) {
      const leftMs = Math.max(connectMs - (monotonicMs() - begin), 1);
      const opening = openSession(shared, leftMs);
      current = opening;
      ready = undefined;
      opening.then(
        (session) => {
          ready = current === opening ? session : ready;
        },
        () => {
          current = current === opening ? undefined : current;
        },
      );
    }
    return usableSession();
  }

  /** Opens a stream of a session; `undefined` if it was abandoned. */
  function openStream(
    session: Session,
    headers: OutgoingHttpHeaders,
    owner: StreamOwner,
  ): ClientHttp2Stream | undefined {
    if (!owner.isWanted()) {
      throw new ConnectError("the call has ended", Code.Canceled);
    }
    if (!acceptsStreams(session) || !hasCapacity(session)) {
      return undefined; // It was abandoned, or filled by other calls, meanwhile.
    }
    try {
      const stream = session.http2.request(headers);
      trackStream(session, stream, owner);
      return stream;
    } catch (reason) {
      if (acceptsStreams(session)) {
        throw reason;
      }
      return undefined;
    }
  }

  async function openWhenUsable(headers: OutgoingHttpHeaders, owner: StreamOwner): Promise<ClientHttp2Stream> {
    for (;;) {
      const stream = openStream(await usableSession(), headers, owner);
      if (stream !== undefined) {
        return stream;
      }
    }
  }

  return {
    authority,
    request: (headers, owner) => {
      const session = freshSession();
      return (session && openStream(session, headers, owner)) ?? openWhenUsable(headers, owner);
    },
    notifyResponseByteRead(stream) {
      const session = stream.session === undefined ? undefined : all.get(stream.session);
      if (session !== undefined) {
        session.aliveAt = monotonicMs();
        liveness.onReceive(session.http2);
      }
    },
    check() {
      liveness.check([...all.values()].filter(({ streams }) => streams > 0).map(({ http2 }) => http2));
    },
    close() {
      isClosed = true;
      const reason = Object.assign(new Error("the transport was closed"), { code: "ECONNRESET" });
      closing.abort(reason);
      for (const { http2 } of all.values()) {
        http2.destroy(reason, constants.NGHTTP2_NO_ERROR);
      }
    },
  };
}

interface Shared {
  readonly authority: string;
  readonly connector: Connector;
  /** Aborted when the sessions are closed. */
  readonly closing: AbortSignal;
  /** The size of the flow-control windows. */
  readonly windowBytes: number;
  readonly pings: Pings;
  /** All sessions that are open, or whose SETTINGS are awaited. */
  readonly all: Map<Http2Session, Session>;
}

/** How often silent connections with streams are pinged, in milliseconds. */
interface Pings {
  everyMs: number;
}

/** Opens a session. Resolves once the server's SETTINGS have arrived. */
async function openSession(shared: Shared, withinMs: number): Promise<Session> {
  const { signal, stop } = connectSignal(shared.closing, withinMs);
  try {
    return await startSession(shared, await shared.connector.open({ signal, withinMs }), signal);
  } finally {
    stop();
  }
}

function startSession(shared: Shared, socket: Socket, signal: AbortSignal): Promise<Session> {
  const { authority, windowBytes, pings, all } = shared;
  return new Promise((resolve, reject) => {
    // Nobody listens to pushed streams, and their errors would crash the process.
    const settings = { initialWindowSize: windowBytes, enablePush: false, maxHeaderListSize: MAX_HEADER_BYTES };
    const http2 = connectHttp2(authority, {
      settings,
      maxHeaderListPairs: MAX_HEADER_FIELDS + 1, // The status counts too.
      createConnection: () => socket,
    });
    const session: Session = {
      http2,
      socket,
      streams: 0,
      aliveAt: monotonicMs(),
      suspectAt: Number.NEGATIVE_INFINITY,
      isRetired: false,
    };
    all.set(http2, session);
    destroyAfterInput(http2, () => {
      session.isRetired = true;
    });
    let isReady = false;
    const fail = (reason: Error) => {
      reject(isReady ? reason : markConnecting(reason));
      http2.destroy(reason);
    };
    const stopWaiting = onAbort(signal, () => fail(signal.reason));
    http2.on("error", fail);
    // A session without streams does not notice everything that happens to its socket.
    socket
      .once("error", (reason) => {
        fail(reason);
        socket.destroy(); // The session would wait forever for data that TLS can no longer write (Node 20).
      })
      .once("close", () => http2.destroy(closedByServer()));
    http2.on("close", () => {
      stopWaiting();
      all.delete(http2);
      fail(closedByServer());
    });
    http2.once("remoteSettings", () => {
      stopWaiting();
      isReady = !http2.destroyed;
      if (!isReady) {
        return;
      }
      http2.setLocalWindowSize(windowBytes);
      keepAlive(session, pings);
      resolve(session);
    });
  });
}

function closedByServer(): Error {
  return Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });
}

function acceptsStreams({ http2, socket, isRetired }: Session): boolean {
  return !isRetired && !http2.closed && !http2.destroyed && !socket.destroyed;
}

/** Returns whether a session has fewer streams than the server allows. Node would silently let more wait. */
function hasCapacity({ http2, streams }: Session): boolean {
  const { maxConcurrentStreams = Number.POSITIVE_INFINITY } = http2.destroyed ? {} : http2.remoteSettings;
  return streams < Math.max(maxConcurrentStreams, 1);
}

function tooManyStreams(url: string): ConnectionError {
  return new ConnectionError(`the server accepts no more streams on ${MAX_SESSIONS} connections`, {
    code: Code.ResourceExhausted,
    notes: [url],
    advice: "Nothing was sent. End some of the open streams, or use another client for some of them.",
    connected: false,
  });
}

/** Stops opening streams on a session. Its streams continue, since it may only be slow. */
function retire(session: Session): void {
  session.isRetired = true;
  if (session.streams === 0) {
    session.http2.destroy();
  }
}

/** Counts the streams of a session. A session without streams does not keep the process alive. */
function trackStream(session: Session, stream: ClientHttp2Stream, owner: StreamOwner): void {
  const openedAt = monotonicMs();
  session.streams += 1;
  if (session.streams === 1) {
    session.http2.ref();
  }
  stream.on("close", () => {
    const now = monotonicMs();
    session.streams -= 1;
    if (now - Math.max(openedAt, session.aliveAt) >= SUSPECT_AFTER_MS) {
      session.suspectAt = now;
    } else if (session.streams === 0) {
      session.aliveAt = now;
    }
    if (session.streams === 0) {
      session.http2.unref();
      if (session.isRetired) {
        session.http2.destroy();
      }
    }
    owner.onClose(stream, LOST_CODES.has(stream.rstCode) && session.http2.destroyed ? closedByServer() : undefined);
  });
}

/**
 * Pings a connection that is silent while it has streams, and closes one that has been idle for long. A server that
 * receives too many pings closes the connection; later connections are then pinged half as often (gRPC's proposal A8).
 */
function keepAlive(session: Session, pings: Pings): void {
  const { http2 } = session;
  http2.unref();
  let stopTimer = startTimer(check, pings.everyMs, { ref: false });
  async function check(): Promise<void> {
    const silentMs = monotonicMs() - session.aliveAt;
    if (session.streams === 0) {
      if (silentMs > IDLE_SESSION_MS) {
        http2.close();
      }
    } else if (silentMs >= pings.everyMs && !(await repliesToPing(session, pingReplyMs(pings.everyMs)))) {
      http2.destroy(pingUnanswered());
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

function provesAlive(session: Session, withinMs: number): Promise<boolean> {
  session.proof ??= repliesToPing(session, withinMs).finally(() => {
    session.proof = undefined;
  });
  return session.proof;
}

async function repliesToPing(session: Session, withinMs: number): Promise<boolean> {
  const isAnswered = (await pingSession(session.http2, withinMs)) === "answered";
  if (isAnswered) {
    session.aliveAt = monotonicMs();
  }
  return isAnswered;
}

/** Node's error codes for streams whose connection is lost. */
const LOST_CODES: ReadonlySet<number | undefined> = new Set([constants.NGHTTP2_NO_ERROR, constants.NGHTTP2_CANCEL]);
