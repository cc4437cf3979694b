import type { RestConfig } from "../../config/schema.js";
import { beforeAnyByte } from "../../errors/network-failure.js";
import { createGathering } from "../../json/gathering.js";
import { monotonicMs } from "../../runtime/index.js";
import { createBag } from "../../signal/bag.js";
import type { TransportSettings } from "../closable.js";
import { DOUBT_MS } from "../silent-sessions.js";
import type { CallEnd } from "../until-end.js";
import { type Connection, connectionOpener, IDLE_MS } from "./connection.js";
import type { HttpRequest } from "./http-client.js";

/** The most connections that are kept open while nothing is sent over them. */
const MAX_IDLE = 256;

/** A request whose response is read whole. */
export interface CallRequest extends Omit<HttpRequest, "signal"> {
  readonly ending: CallEnd;
  /**
   * The most bytes to read of a response's body, by its status and header. What is behind is not waited for, and with
   * less than 0 no body is.
   */
  bodyLimit(status: number, header: Headers): number;
}

/** A response, with its body. */
export interface WholeResponse {
  readonly status: number;
  readonly header: Headers;
  /** The body; where it is larger than the limit, its beginning, which is larger too. */
  readonly body: Buffer;
}

/** A connection without a call, and until when it may get another, by `monotonicMs()`. */
interface IdleConnection {
  readonly connection: Connection;
  readonly until: number;
}

/** Makes calls to one server whose responses are read whole, on connections that are reused. */
export interface CallClient {
  call(request: CallRequest): Promise<WholeResponse>;
  /** Close all connections. */
  close(): void;
}

/**
 * Make a client of an HTTP/1.1 server for small calls, on undici: its connections cost a part of what those of Node's own
 * HTTP do. A connection has one request at a time, and no request is sent twice. A call that is aborted while it connects
 * ends at once.
 *
 * @param config where the server is, and how its connections are
 * @param settings `connectMs` is the longest time until a connection is usable, TLS included, in milliseconds
 * @returns the client
 * @throws {@link FileError} where a file of `config.tls` cannot be read
 */
export function createCallClient(config: RestConfig, settings: TransportSettings): CallClient {
  const open = connectionOpener(config, settings);
  const idle: IdleConnection[] = [];
  const underWay = createBag<(reason: Error) => void>();
  let closed = false;

  function lost(connection: Connection): void {
    const at = idle.findIndex((one) => one.connection === connection);
    if (at >= 0) {
      idle.splice(at, 1);
    }
  }

  function dropIdle(): void {
    for (const { connection } of idle.splice(0)) {
      connection.destroy();
    }
  }

  function release(connection: Connection, header: Headers): void {
    if (closed || idle.length === MAX_IDLE) {
      connection.destroy();
    } else {
      idle.push({ connection, until: monotonicMs() + idleMs(header) });
    }
  }

  /**
   * Take a connection that is idle. The clock tells whether the server still keeps it: in a busy process the timer that
   * closes it is late, and a request that crosses the server's close is lost.
   */
  function takeIdle(): Connection | undefined {
    const newest = idle.pop();
    if (newest !== undefined && newest.until < monotonicMs()) {
      newest.connection.destroy();
      dropIdle(); // The others are older.
      return undefined;
    }
    return newest?.connection;
  }

  return {
    call: ({ verb, target, headers, body, ending, bodyLimit }) =>
      new Promise((resolve, reject) => {
        if (closed) {
          throw Object.assign(new Error("the transport is closed"), { code: "ERR_STREAM_DESTROYED" });
        }
        const ended = ending.reason();
        if (ended !== undefined) {
          throw ended;
        }
        const known = takeIdle();
        const connection = known ?? open(lost);
        const startedAt = monotonicMs();
        const gathering = createGathering();
        let status = 0;
        let received: Headers | undefined;
        let limit = 0;

        let isDone = false;

        /** End the call once: the connection may then be another call's. */
        const once = (end: () => void) => {
          if (!isDone) {
            isDone = true;
            takeOut();
            end();
          }
        };
        const fail = (reason: Error) =>
          once(() => {
            reject(reason);
            connection.destroy();
          });
        const answer = (header: Headers, leave: (connection: Connection) => void) =>
          once(() => {
            resolve({ status, header, body: gathering.take() });
            leave(connection);
          });
        const endAtLimit = () => {
          if (gathering.size > limit && received !== undefined) {
            answer(received, ({ destroy }) => destroy());
          }
        };
        const takeOut = underWay.add(fail);
        ending.onEnd((reason) => {
          fail(reason);
          if (known !== undefined && received === undefined && monotonicMs() - startedAt >= DOUBT_MS) {
            dropIdle(); // A proxy may have forgotten this connection, and with it those that are as old.
          }
        });

        const options = { path: target, method: verb, headers, body: body ?? null };
        connection.client.dispatch(options, {
          onRequestStart() {},
          onResponseStart(_, code, fields) {
            if (code >= 200) {
              status = code;
              received = headersOf(fields);
              limit = bodyLimit(status, received);
              endAtLimit();
            }
          },
          onResponseData(_, bytes) {
            gathering.push(bytes);
            endAtLimit();
          },
          onResponseEnd() {
            const failure = connection.failure(); // For undici, a reset may end a body.
            if (failure !== undefined) {
              fail(errorOf(connection, failure));
            } else if (received !== undefined) {
              const header = received;
              answer(header, (own) => release(own, header));
            }
          },
          onResponseError: (_, reason) => fail(errorOf(connection, connection.failure() ?? reason)),
        });
      }),
    close() {
      closed = true;
      for (const end of underWay.list()) {
        end(Object.assign(new Error("the transport was closed"), { code: "ECONNRESET" }));
      }
      dropIdle();
    },
  };
}

/** How long a connection may be idle, in milliseconds: a second less than the server says (RFC 9112, appendix C.2.2). */
function idleMs(header: Headers): number {
  const seconds = /\btimeout=(\d{1,6})\b/.exec(header.get("keep-alive") ?? "")?.[1];
  return seconds === undefined ? IDLE_MS : Math.min(Math.max(Number(seconds) - 1, 0) * 1000, IDLE_MS);
}

function headersOf(fields: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const header = new Headers();
  for (const [name, values = []] of Object.entries(fields)) {
    for (const value of Array.isArray(values) ? values : [values]) {
      header.append(name, value);
    }
  }
  return header;
}

/** Codes of undici's for a connection that was lost, or that it gives up. */
const LOST: ReadonlySet<unknown> = new Set([
  "ERR_ASSERTION", // It has none for an answer with status 101 and no header.
  "UND_ERR_DESTROYED",
  "UND_ERR_INFO",
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  "UND_ERR_SOCKET",
]);

function errorOf(connection: Connection, reason: Error): Error {
  const error = nodesError(reason);
  return connection.isAnswered() ? error : beforeAnyByte(error);
}

/** The error that Node's own HTTP has for an error of undici's. */
function nodesError(reason: Error): Error {
  const code = "code" in reason ? reason.code : undefined;
  if (LOST.has(code) || /Invalid EOF state/.test(reason.message)) {
    return Object.assign(new Error(reason.message), { code: "ECONNRESET" });
  }
  const known = code === "UND_ERR_HEADERS_OVERFLOW" ? "HPE_HEADER_OVERFLOW" : undefined;
  const other = reason.name === "HTTPParserError" ? "HPE_INVALID" : undefined;
  return known === undefined && other === undefined ? reason : Object.assign(reason, { code: known ?? other });
}
