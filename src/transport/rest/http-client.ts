import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { RestConfig } from "../../config/schema.js";
import { beforeAnyByte, notConnectedInTime, whileConnecting } from "../../errors/network-failure.js";
import { monotonicMs, startAwakeTimer } from "../../runtime/index.js";
import type { TransportSettings } from "../closable.js";
import { TCP_KEEPALIVE_MS } from "../keepalive.js";
import { DOUBT_MS } from "../silent-sessions.js";
import { readTls } from "../tls.js";
import { withSharedReads } from "./shared-reads.js";

/** A request to the gateway. */
export interface HttpRequest {
  readonly verb: string;
  /** Path and query string, percent-encoded. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/** Sends requests to one server, on connections that are reused. */
export interface HttpClient {
  /** Send a request; resolves when the response's header has come, before its body. */
  send(request: HttpRequest): Promise<IncomingMessage>;
  /** Close all connections. */
  close(): void;
}

/**
 * Make a client of an HTTP/1.1 server, on Node's own HTTP. A call that is aborted while it connects ends at once. With
 * TLS, Node's agent opens the connections, as it keeps the sessions that they resume.
 *
 * @param config where the server is, and how its connections are
 * @param options `connectMs` is the longest time until a connection is usable, TLS included, in milliseconds
 * @returns the client
 * @throws {@link FileError} where a file of `config.tls` cannot be read
 */
export function createHttpClient(
  config: RestConfig,
  { connectMs, tls = readTls(config.tls) }: TransportSettings,
): HttpClient {
  const { protocol, hostname, port } = new URL(config.url);
  const isSecure = protocol === "https:";
  const start = isSecure ? httpsRequest : httpRequest;
  const agent = isSecure
    ? new HttpsAgent({ keepAlive: true, ...tls })
    : withSharedReads(new HttpAgent({ keepAlive: true }));
  const server = { agent, protocol, host: hostname.replace(/^\[|\]$/g, ""), port };

  let closed = false;

  function dropIdle(): void {
    for (const socket of Object.values(agent.freeSockets).flat()) {
      socket?.destroy();
    }
  }

  return {
    send: ({ verb, target, headers, body, signal }) =>
      new Promise((resolve, reject) => {
        if (closed) {
          throw Object.assign(new Error("the transport is closed"), { code: "ERR_STREAM_DESTROYED" });
        }
        signal.throwIfAborted();
        const request = start({ ...server, path: target, method: verb, headers: { ...headers } });
        let connecting = true;
        const failed = (reason: Error) => {
          const isAnswered = request.socket !== null && request.socket.bytesRead > 0;
          reject(connecting ? whileConnecting(reason) : isAnswered ? reason : beforeAnyByte(reason));
        };
        const fail = (reason: Error) => {
          failed(reason);
          request.destroy(reason);
        };
        const stopTimer = startAwakeTimer(() => fail(notConnectedInTime()), connectMs);
        const connected = () => {
          connecting = false;
          stopTimer();
        };
        const startedAt = monotonicMs();
        const abortRequest = () => {
          const isDoubtful = request.reusedSocket && monotonicMs() - startedAt >= DOUBT_MS;
          fail(new Error("aborted", { cause: signal.reason }));
          if (isDoubtful) {
            dropIdle(); // A proxy may have forgotten this connection, and with it those that are as old.
          }
        };
        signal.addEventListener("abort", abortRequest, { once: true });
        request.on("error", failed);
        request.on("close", () => {
          stopTimer();
          signal.removeEventListener("abort", abortRequest);
          // An answer with status 101 is none for Node, which closes the connection without a word.
          failed(Object.assign(new Error("closed before an answer"), { code: "ECONNRESET" }));
        });
        request.on("socket", (socket) => {
          socket.setKeepAlive(true, TCP_KEEPALIVE_MS); // While it is idle, the agent has it probed each second.
          if (request.reusedSocket) {
            connected();
          } else {
            socket.once(isSecure ? "secureConnect" : "connect", connected);
          }
        });
        request.on("response", (response) => {
          // Destroying the request now could destroy a connection that serves another one; the response cannot do that.
          signal.removeEventListener("abort", abortRequest);
          const abortResponse = () => response.destroy();
          signal.addEventListener("abort", abortResponse, { once: true });
          response.on("close", () => signal.removeEventListener("abort", abortResponse));
          response.on("error", () => undefined); // The body's reader gets it; without one, it must not end the process.
          resolve(response);
        });
        request.end(body);
      }),
    close() {
      closed = true;
      agent.destroy();
    },
  };
}
