import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import type { RestConfig } from "../../config/schema.js";
import { readTls } from "../tls.js";

/** A request to the gateway. */
export interface HttpRequest {
  readonly verb: string;
  /** Path and query string, percent-encoded. */
  readonly target: string;
  readonly header: Headers;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

/** Sends requests to one server, on connections that are kept for the next ones. */
export interface HttpClient {
  /** Send a request; what comes back is the beginning of the response, whose body is then read from it. */
  send(request: HttpRequest): Promise<IncomingMessage>;
  /** Close all connections. */
  close(): void;
}

/**
 * A client of an HTTP/1.1 server, on Node's own HTTP: it ends at once where a call is aborted while it connects.
 *
 * @param connectMs the longest time until a connection is made, TLS included, in milliseconds
 * @throws {@link FileError} where a file of `config.tls` cannot be read
 */
export function createHttpClient(config: RestConfig, { connectMs }: { readonly connectMs: number }): HttpClient {
  const { protocol, hostname, port } = new URL(config.url);
  const isSecure = protocol === "https:";
  const start = isSecure ? httpsRequest : httpRequest;
  const agent = isSecure
    ? new HttpsAgent({ keepAlive: true, ...readTls(config.tls) })
    : new HttpAgent({ keepAlive: true });
  const server = { agent, protocol, host: hostname.replace(/^\[|\]$/g, ""), port };

  let closed = false;

  return {
    send: ({ verb, target, header, body, signal }) =>
      new Promise((resolve, reject) => {
        if (closed) {
          throw Object.assign(new Error("the transport is closed"), { code: "ERR_STREAM_DESTROYED" });
        }
        signal.throwIfAborted();
        const headers = Object.fromEntries(header);
        const request = start({ ...server, path: target, method: verb, headers });
        const abortRequest = () => request.destroy(new Error("aborted", { cause: signal.reason }));
        signal.addEventListener("abort", abortRequest, { once: true });
        request.on("error", reject);
        request.on("close", () => signal.removeEventListener("abort", abortRequest));
        request.on("socket", (socket) => {
          const late = Object.assign(new Error("no connection in time"), { code: "ETIMEDOUT", syscall: "connect" });
          limitConnecting(socket, isSecure, connectMs, () => request.destroy(late));
        });
        request.on("response", (response) => {
          // A request that is destroyed takes a connection with it that may serve the next one by now; a response does not.
          signal.removeEventListener("abort", abortRequest);
          const abortResponse = () => response.destroy();
          signal.addEventListener("abort", abortResponse, { once: true });
          response.on("close", () => signal.removeEventListener("abort", abortResponse));
          response.on("error", () => undefined); // Who reads the body is told; where nobody does, nothing may fail.
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

/** Call `onTimeout` unless a socket that is connecting has connected, or failed to, in time. */
function limitConnecting(socket: Socket, isSecure: boolean, connectMs: number, onTimeout: () => void): void {
  if (!socket.connecting) {
    return;
  }
  const timer = setTimeout(onTimeout, connectMs);
  const stop = () => clearTimeout(timer);
  socket.once(isSecure ? "secureConnect" : "connect", stop).once("close", stop);
}
