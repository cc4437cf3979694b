import type { IncomingHttpHeaders } from "node:http";
import { Socket } from "node:net";
import { Client, type Dispatcher } from "undici/index.js";
import { markNothingReceived } from "../../../base/errors/network-failure.js";
import { monotonicMs } from "../../../base/runtime/index.js";
import { type ActiveSet, createActiveSet } from "../../../base/signal/collections.js";
import type { RestConfig } from "../../config/client-config.js";
import { type ByteAccumulator, createByteAccumulator } from "../../json/byte-accumulator.js";
import { unsentError } from "../call-failure.js";
import { createConnector } from "../connector.js";
import type { Cancellation } from "../run-call.js";
import { createTlsSource } from "../tls-source.js";
import { MAX_IDLE_MS, SUSPECT_AFTER_MS, type TransportSettings } from "../transport-types.js";
import { HEADER_LIMITS, headOf, type ResponseHead } from "./response-headers.js";
import type { HttpRequest } from "./streaming-client.js";

/** The maximum number of idle connections. */
const MAX_IDLE = 256;

/** A request whose response is read completely. */
interface UnaryRequest extends Omit<HttpRequest, "signal"> {
  readonly cancellation: Cancellation;
  /** The time limit until a new connection is usable, in milliseconds, if it is shorter than the client's. */
  readonly maxWaitMs: number | undefined;
  /** Called directly before the request is sent. The call fails with what it returns. */
  readonly beforeSend: (() => Error | undefined) | undefined;
  /**
   * Returns the maximum number of bytes to read of a response's body. The rest is not waited for; if it is negative, no
   * body is read.
   */
  bodyLimit(head: ResponseHead): number;
}

/** A response with its body. */
export interface CompleteResponse {
  readonly head: ResponseHead;
  /** The body. If it is larger than the limit, its beginning, which is larger than the limit too. */
  readonly body: Buffer;
}

/** Sends calls to one server and reads each response completely, on connections that are reused. */
export interface UnaryClient {
  call(request: UnaryRequest): Promise<CompleteResponse>;
  /** Closes all connections. */
  close(): void;
}

type ExchangeState =
  | { readonly kind: "waiting" }
  | { readonly kind: "responding"; readonly head: ResponseHead; readonly bodyLimit: number }
  /** The result was reported, and the connection may belong to another call. */
  | { readonly kind: "done" };

const WAITING: ExchangeState = { kind: "waiting" };
const DONE: ExchangeState = { kind: "done" };

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
  const callsInFlight = createActiveSet<Exchange>();
  const owner: ExchangeOwner = { callsInFlight, release: idle.add };

  return {
    call: (request) =>
      new Promise((resolve, reject) => {
        const canceled = request.cancellation.reason();
        if (canceled !== undefined) {
          throw canceled;
        }
        const startedAt = monotonicMs();
        const reused = idle.take(startedAt);
        const connection = reused ?? open(idle.remove, request.maxWaitMs);
        const call = new Exchange(request, connection, owner, resolve, reject);
        request.cancellation.onCancel((reason) => {
          const isSuspect = reused !== undefined && call.isWaiting() && monotonicMs() - startedAt >= SUSPECT_AFTER_MS;
          call.fail(call.mayHaveBeenSent ? reason : unsentError(reason));
          if (isSuspect) {
            idle.destroyAll(); // A proxy may have forgotten this connection, and with it those that are as old.
          }
        });
        call.send();
      }),
    close() {
      for (const call of callsInFlight.list()) {
        call.fail(Object.assign(new Error("the transport was closed"), { code: "ECONNRESET" }));
      }
      idle.destroyAll();
    },
  };
}

/** The connections without a call. */
interface IdleConnections {
  /** Adds a connection, unless there are too many: then it is closed. `header` is that of its last response. */
  add(connection: Connection, header: Headers): void;
  /** Takes the connection that was used last; `undefined` if there is none that the server still has open at the time `now`. */
  take(now: number): Connection | undefined;
  /** Removes a connection that was lost. */
  remove(connection: Connection): void;
  /** Closes all of them. */
  destroyAll(): void;
}

function createIdleConnections(): IdleConnections {
  const idle: Connection[] = [];

  function destroyAll(): void {
    for (const connection of idle.splice(0)) {
      connection.destroy();
    }
  }

  return {
    add(connection, header) {
      if (idle.length === MAX_IDLE) {
        connection.destroy();
      } else {
        connection.idleUntil = monotonicMs() + idleMs(header);
        idle.push(connection);
      }
    },
    take(now) {
      const newest = idle.pop();
      // The clock decides whether the server still has it open: in a busy process, the timer that closes it is late, and a
      // request that crosses the server's close is lost.
      if (newest !== undefined && newest.idleUntil < now) {
        newest.destroy();
        destroyAll(); // The others are older.
        return undefined;
      }
      return newest;
    },
    remove(connection) {
      const at = idle.indexOf(connection);
      if (at >= 0) {
        idle.splice(at, 1);
      }
    },
    destroyAll,
  };
}

interface ExchangeOwner {
  readonly callsInFlight: ActiveSet<Exchange>;
  /** Takes back a connection that another call may use. */
  release(connection: Connection, header: Headers): void;
}

/**
 * Sends a request on a connection. Reports the result once; afterwards, the connection is released or destroyed. A class, since each
 * call has one, and closures take several times as long.
 */
class Exchange implements Dispatcher.DispatchHandler {
  /** Whether the request was started on the connection. */
  mayHaveBeenSent = false;
  private readonly request: UnaryRequest;
  private readonly connection: Connection;
  private readonly release: ExchangeOwner["release"];
  private readonly remove: () => void;
  private readonly resolve: (response: CompleteResponse) => void;
  private readonly reject: (reason: Error) => void;
  private state = WAITING;
  /** The first part of the body. Most bodies have only one. */
  private first: Buffer | undefined;
  /** The body, if it has several parts. */
  private joined: ByteAccumulator | undefined;

  constructor(
    request: UnaryRequest,
    connection: Connection,
    { callsInFlight, release }: ExchangeOwner,
    resolve: (response: CompleteResponse) => void,
    reject: (reason: Error) => void,
  ) {
    this.request = request;
    this.connection = connection;
    this.release = release;
    this.remove = callsInFlight.add(this);
    this.resolve = resolve;
    this.reject = reject;
  }

  send(): void {
    const { target: path, verb: method, headers, body = null } = this.request;
    this.connection.client.dispatch({ path, method, headers, body }, this);
  }

  isWaiting(): boolean {
    return this.state.kind === "waiting";
  }

  fail(reason: Error): void {
    if (this.state.kind !== "done") {
      this.state = DONE;
      this.remove();
      this.reject(reason);
      this.connection.destroy();
    }
  }

  onRequestStart(): void {
    const outdated = this.request.beforeSend?.(); // To connect may have taken long.
    if (outdated !== undefined) {
      this.fail(outdated);
      throw outdated;
    }
    this.mayHaveBeenSent = true;
  }

  onResponseStart(_: unknown, status: number, fields: IncomingHttpHeaders): void {
    if (status >= 200 && this.state.kind === "waiting") {
      const head = headOf(status, fields);
      this.state = { kind: "responding", head, bodyLimit: this.request.bodyLimit(head) };
      this.endAtLimit(0);
    }
  }

  onResponseData(_: unknown, bytes: Buffer): void {
    if (this.first === undefined) {
      this.first = bytes;
      this.endAtLimit(bytes.length);
      return;
    }
    if (this.joined === undefined) {
      this.joined = createByteAccumulator();
      this.joined.push(this.first);
    }
    this.joined.push(bytes);
    this.endAtLimit(this.joined.size);
  }

  onResponseEnd(): void {
    const failure = this.connection.failure(); // undici may report a reset as the end of a body.
    if (failure === undefined) {
      this.succeed(this.release);
    } else {
      this.fail(requestError(this.connection, failure));
    }
  }

  onResponseError(_: unknown, reason: Error): void {
    this.fail(requestError(this.connection, this.connection.failure() ?? reason));
  }

  private endAtLimit(size: number): void {
    if (this.state.kind === "responding" && size > this.state.bodyLimit) {
      this.succeed(({ destroy }) => destroy());
    }
  }

  private succeed(dispose: ExchangeOwner["release"]): void {
    if (this.state.kind === "responding") {
      const { head } = this.state;
      this.state = DONE;
      this.remove();
      this.resolve({ head, body: this.joined?.take() ?? this.first ?? NO_BYTES });
      dispose(this.connection, head.header);
    }
  }
}

const NO_BYTES = Buffer.alloc(0);

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
  /** While it has no call, the time until which it may get another, by `monotonicMs()`. */
  idleUntil: number;
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
      idleUntil: 0,
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
