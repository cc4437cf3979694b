import { Socket } from "node:net";
import { Client } from "undici/index.js";
import { markNothingReceived } from "../../../base/errors/network-failure.js";
import { monotonicMs } from "../../../base/runtime/index.js";
import { type ActiveSet, createActiveSet } from "../../../base/signal/collections.js";
import type { RestConfig } from "../../config/client-config.js";
import { createByteAccumulator } from "../../json/byte-accumulator.js";
import { unsentError } from "../call-failure.js";
import { createConnector } from "../connector.js";
import type { Cancellation } from "../run-call.js";
import { createTlsSource } from "../tls-source.js";
import { MAX_IDLE_MS, SUSPECT_AFTER_MS, type TransportSettings } from "../transport-types.js";
import { HEADER_LIMITS, headersOf } from "./response-headers.js";
import type { HttpRequest } from "./streaming-client.js";

/** The maximum number of idle connections. */
const MAX_IDLE = 256;

/** A request whose response is read completely. */
interface UnaryRequest extends Omit<HttpRequest, "signal"> {
  readonly cancellation: Cancellation;
  /** The time limit until a new connection is usable, in milliseconds, if it is shorter than the client's. */
  readonly maxWaitMs: number | undefined;
  /** Called directly before the request is sent. The call fails with what it returns. */
  beforeSend(): Error | undefined;
  /**
   * Returns the maximum number of bytes to read of a response's body. The rest is not waited for; if it is negative, no
   * body is read.
   */
  bodyLimit(status: number, header: Headers): number;
}

/** A response with its body. */
export interface CompleteResponse {
  readonly status: number;
  readonly header: Headers;
  /** The body. If it is larger than the limit, its beginning, which is larger than the limit too. */
  readonly body: Buffer;
}

/** Sends calls to one server and reads each response completely, on connections that are reused. */
export interface UnaryClient {
  call(request: UnaryRequest): Promise<CompleteResponse>;
  /** Closes all connections. */
  close(): void;
}

/** A connection without a call, and the time until which it may get another, by `monotonicMs()`. */
interface IdleConnection {
  readonly connection: Connection;
  readonly until: number;
}

type ExchangeState =
  | { readonly kind: "waiting" }
  | { readonly kind: "responding"; readonly status: number; readonly header: Headers; readonly bodyLimit: number }
  /** The result was reported, and the connection may belong to another call. */
  | { readonly kind: "done" };

/** undici reads the code of its parser with the first connection. This is one that leads nowhere, so that no call has to read files. */
function loadParser(): void {
  const client = new Client("http://localhost", { connect: (_, callback) => callback(null, new Socket()) });
  client.request({ path: "/", method: "GET" }).catch(() => undefined);
  client.destroy().catch(() => undefined);
}

/**
 * Creates a client of an HTTP/1.1 server for small calls. It uses undici, whose connections cost a fraction of those of
 * Node's HTTP (bench group `calls`). A connection has one request at a time, and no request is sent twice. A call that
 * is aborted while it connects ends immediately.
 *
 * @throws {@link FileError} if a file of `config.tls` cannot be read
 */
export function createUnaryClient(config: RestConfig, settings: TransportSettings): UnaryClient {
  loadParser();
  const open = connectionOpener(config, settings);
  const idle = createIdleConnections();
  const callsInFlight = createActiveSet<(reason: Error) => void>();
  const owner: ExchangeOwner = { callsInFlight, release: idle.add };

  return {
    call: (request) =>
      new Promise((resolve, reject) => {
        const canceled = request.cancellation.reason();
        if (canceled !== undefined) {
          throw canceled;
        }
        const reused = idle.take();
        const startedAt = monotonicMs();
        const connection = reused ?? open(idle.remove, request.maxWaitMs);
        const call = createExchange(request, connection, owner, resolve, reject);
        request.cancellation.onCancel((reason) => {
          const isSuspect = reused !== undefined && call.isWaiting() && monotonicMs() - startedAt >= SUSPECT_AFTER_MS;
          call.fail(call.mayHaveBeenSent() ? reason : unsentError(reason));
          if (isSuspect) {
            idle.destroyAll(); // A proxy may have forgotten this connection, and with it those that are as old.
          }
        });
        call.send();
      }),
    close() {
      for (const fail of callsInFlight.list()) {
        fail(Object.assign(new Error("the transport was closed"), { code: "ECONNRESET" }));
      }
      idle.destroyAll();
    },
  };
}

/** The connections without a call. */
interface IdleConnections {
  /** Adds a connection, unless there are too many: then it is closed. `header` is that of its last response. */
  add(connection: Connection, header: Headers): void;
  /** Takes the connection that was used last; `undefined` if there is none. */
  take(): Connection | undefined;
  /** Removes a connection that was lost. */
  remove(connection: Connection): void;
  /** Closes all of them. */
  destroyAll(): void;
}

function createIdleConnections(): IdleConnections {
  const idle: IdleConnection[] = [];

  function destroyAll(): void {
    for (const { connection } of idle.splice(0)) {
      connection.destroy();
    }
  }

  return {
    add(connection, header) {
      if (idle.length === MAX_IDLE) {
        connection.destroy();
      } else {
        idle.push({ connection, until: monotonicMs() + idleMs(header) });
      }
    },
    take() {
      const newest = idle.pop();
      // The clock decides whether the server still has it open: in a busy process, the timer that closes it is late, and a
      // request that crosses the server's close is lost.
      if (newest !== undefined && newest.until < monotonicMs()) {
        newest.connection.destroy();
        destroyAll(); // The others are older.
        return undefined;
      }
      return newest?.connection;
    },
    remove(connection) {
      const at = idle.findIndex((one) => one.connection === connection);
      if (at >= 0) {
        idle.splice(at, 1);
      }
    },
    destroyAll,
  };
}

interface ExchangeOwner {
  /** The functions that fail the calls in flight. */
  readonly callsInFlight: ActiveSet<(reason: Error) => void>;
  /** Takes back a connection that another call may use. */
  release(connection: Connection, header: Headers): void;
}

/** Sends a request on a connection. Reports the result once; afterwards, the connection is released or destroyed. */
function createExchange(
  request: UnaryRequest,
  connection: Connection,
  { callsInFlight, release }: ExchangeOwner,
  resolve: (response: CompleteResponse) => void,
  reject: (reason: Error) => void,
) {
  const gathering = createByteAccumulator();
  let state: ExchangeState = { kind: "waiting" };
  let isStarted = false;

  function fail(reason: Error): void {
    if (state.kind !== "done") {
      state = { kind: "done" };
      remove();
      reject(reason);
      connection.destroy();
    }
  }

  function succeed(dispose: (connection: Connection, header: Headers) => void): void {
    if (state.kind === "responding") {
      const { status, header } = state;
      state = { kind: "done" };
      remove();
      resolve({ status, header, body: gathering.take() });
      dispose(connection, header);
    }
  }

  function endAtLimit(): void {
    if (state.kind === "responding" && gathering.size > state.bodyLimit) {
      succeed(({ destroy }) => destroy());
    }
  }

  const remove = callsInFlight.add(fail);
  const { target: path, verb: method, headers, body = null } = request;
  const send = () =>
    connection.client.dispatch(
      { path, method, headers, body },
      {
        onRequestStart() {
          const outdated = request.beforeSend(); // To connect may have taken long.
          if (outdated !== undefined) {
            fail(outdated);
            throw outdated;
          }
          isStarted = true;
        },
        onResponseStart(_, status, fields) {
          if (status >= 200 && state.kind === "waiting") {
            const header = headersOf(fields);
            state = { kind: "responding", status, header, bodyLimit: request.bodyLimit(status, header) };
            endAtLimit();
          }
        },
        onResponseData(_, bytes) {
          gathering.push(bytes);
          endAtLimit();
        },
        onResponseEnd() {
          const failure = connection.failure(); // undici may report a reset as the end of a body.
          if (failure === undefined) {
            succeed(release);
          } else {
            fail(requestError(connection, failure));
          }
        },
        onResponseError: (_, reason) => fail(requestError(connection, connection.failure() ?? reason)),
      },
    );
  return { send, fail, isWaiting: () => state.kind === "waiting", mayHaveBeenSent: () => isStarted };
}

/** Returns how long a connection may be idle, in milliseconds: a second less than the server says (RFC 9112, C.2.2). */
function idleMs(header: Headers): number {
  const seconds = /\btimeout=(\d{1,6})\b/.exec(header.get("keep-alive") ?? "")?.[1];
  return seconds === undefined ? MAX_IDLE_MS : Math.min(Math.max(Number(seconds) - 1, 0) * 1000, MAX_IDLE_MS);
}

/** undici's codes for a connection that was lost, or that undici abandons. */
const LOST_CODES: ReadonlySet<unknown> = new Set([
  "ERR_ASSERTION", // undici has no code for a response with status 101 and no header.
  "UND_ERR_DESTROYED",
  "UND_ERR_INFO",
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  "UND_ERR_SOCKET",
]);

function requestError(connection: Connection, reason: Error): Error {
  const error = toNodeError(reason);
  return connection.hasReceived() ? error : markNothingReceived(error);
}

function toNodeError(reason: Error): Error {
  const code = "code" in reason ? reason.code : undefined;
  if (LOST_CODES.has(code) || /Invalid EOF state/.test(reason.message)) {
    return Object.assign(new Error(reason.message), { code: "ECONNRESET" });
  }
  const overflow = code === "UND_ERR_HEADERS_OVERFLOW" ? "HPE_HEADER_OVERFLOW" : undefined;
  const invalid = reason.name === "HTTPParserError" ? "HPE_INVALID" : undefined;
  return overflow === undefined && invalid === undefined
    ? reason
    : Object.assign(reason, { code: overflow ?? invalid });
}

/** A connection for one request at a time. It connects with the first request, and reconnects if it was lost since. */
interface Connection {
  /** The client of undici that holds this connection alone. */
  readonly client: Client;
  /** Returns the first error of the socket. Errors that undici reports afterwards are consequences of it. */
  failure(): Error | undefined;
  /** Returns whether a byte was received. */
  hasReceived(): boolean;
  /** Closes the connection immediately, even while it is connecting. */
  destroy(): void;
}

/**
 * Returns a function that opens a connection. The function takes a callback for when it is lost or closed, and a time limit
 * until it is usable that may be shorter than `connectMs`, in milliseconds.
 */
function connectionOpener(
  { url, tls: files }: RestConfig,
  { connectMs, proxy, tls = createTlsSource(files) }: TransportSettings,
): (onLost: (connection: Connection) => void, maxWaitMs: number | undefined) => Connection {
  const { origin } = new URL(url);
  const connector = createConnector({ url, tls, proxy, connectMs, protocol: "http/1.1" });

  return (onLost, maxWaitMs = connectMs) => {
    let socket: Socket | undefined;
    let failure: Error | undefined;
    const opening = new AbortController();
    const client = new Client(origin, {
      connect: (_, callback) => {
        failure = undefined;
        connector.open({ signal: opening.signal, withinMs: Math.min(maxWaitMs, connectMs) }).then(
          (opened) => {
            socket = opened.on("error", (reason) => {
              failure ??= reason;
            });
            callback(null, opened);
          },
          (reason: Error) => callback(reason, null),
        );
      },
      headersTimeout: 0, // A call has time limits of its own.
      bodyTimeout: 0,
      maxHeaderSize: HEADER_LIMITS.maxHeaderSize,
      keepAliveTimeout: MAX_IDLE_MS,
      keepAliveMaxTimeout: MAX_IDLE_MS,
    });
    const connection: Connection = {
      client,
      failure: () => failure,
      hasReceived: () => socket !== undefined && socket.bytesRead > 0,
      destroy() {
        opening.abort(new Error("the connection is no longer needed"));
        client.destroy().catch(() => undefined);
        socket?.destroy();
      },
    };
    client.on("disconnect", () => onLost(connection));
    return connection;
  };
}
