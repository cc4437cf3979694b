import { createServer as createHttpServer, type IncomingMessage, type Server } from "node:http";
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type ServerHttp2Session,
} from "node:http2";
import type { AddressInfo, Server as NetServer } from "node:net";
import type { ConnectNodeAdapterOptions } from "@connectrpc/connect-node";
import { Code } from "../base/errors/code.js";
import { ConnectionError } from "../base/errors/index.js";
import { destroyAfterInput } from "../base/runtime/http2-session.js";

/** Size of the HTTP/2 flow-control windows, in bytes. Node's default of 64 KiB makes large requests slow. */
const WINDOW_BYTES = 8 * 1024 * 1024;

/** The gRPC server and the HTTP server of a local node. */
export interface Servers {
  readonly grpc: Http2Server;
  readonly rest: Server;
  /**
   * Starts to listen. Requests wait until {@link Servers.release}: a client that finds the port open again, such as one of
   * a restarted node, would otherwise wait for a response that nobody sends.
   *
   * @throws `ConnectionError` if the host or a port cannot be listened on
   */
  listen(host: string, ports: { readonly grpc: number; readonly rest: number }): Promise<ServerUrls>;
  /** Emits the requests that have waited. From now on they are no longer delayed. */
  release(): void;
  /** Stops listening, and destroys all connections, those of waiting requests included. */
  close(): Promise<void>;
}

interface ServerUrls {
  readonly grpcUrl: string;
  readonly restUrl: string;
}

/** Creates the servers of a local node. They do not listen yet. */
export function createServers(): Servers {
  const grpc = createHttp2Server({ settings: { initialWindowSize: WINDOW_BYTES } });
  const rest = createHttpServer();
  const sessions = trackSessions(grpc);
  const waiting = [delayEvents(grpc, "request"), delayEvents(rest, "request"), delayEvents(rest, "upgrade")];
  return {
    grpc,
    rest,

    async listen(host, ports) {
      const grpcUrl = await listen(grpc, host, ports.grpc);
      return { grpcUrl, restUrl: await listen(rest, host, ports.rest) };
    },

    release() {
      for (const events of waiting) {
        events.release();
      }
    },

    async close() {
      for (const events of waiting) {
        events.destroy();
      }
      for (const session of sessions) {
        session.destroy();
      }
      rest.closeAllConnections();
      await Promise.all([stopListening(grpc), stopListening(rest)]);
    },
  };
}

function trackSessions(server: Http2Server): Set<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    session.setLocalWindowSize(WINDOW_BYTES);
    destroyAfterInput(session);
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  return sessions;
}

async function listen(server: Server | Http2Server, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      const isHostError = "code" in cause && (cause.code === "ENOTFOUND" || cause.code === "EADDRNOTAVAIL");
      reject(
        new ConnectionError(`cannot listen on ${host}:${port}: ${cause.message}`, {
          code: Code.Unavailable,
          advice: isHostError
            ? "Use an address of this machine, such as 127.0.0.1."
            : "Use another port, or 0 for a free one.",
          cause,
          errorCode: "TW_LISTEN",
        }),
      );
    });
    server.listen(port, host, resolve);
  });
  const { address, family, port: boundPort } = server.address() as AddressInfo;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${boundPort}`;
}

function stopListening(server: NetServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

/** Collects the requests of a server until they are emitted again, or their connections destroyed. */
function delayEvents(server: NetServer, event: "request" | "upgrade"): { release(): void; destroy(): void } {
  const delayed: [IncomingMessage | Http2ServerRequest, ...unknown[]][] = [];
  const delay = (...request: (typeof delayed)[number]) => delayed.push(request);
  server.on(event, delay);
  return {
    release() {
      server.off(event, delay);
      for (const request of delayed.splice(0)) {
        server.emit(event, ...request);
      }
    },
    destroy() {
      for (const [{ socket }] of delayed.splice(0)) {
        socket.destroy();
      }
    },
  };
}

/**
 * Serves calls whatever their `:authority` is, as gRPC servers do: the adapter would parse it as the host of a URL, and throw.
 */
export function acceptAnyAuthority<Q extends object, S>(
  listener: (request: Q, response: S) => void,
): (request: Q, response: S) => void {
  return (request, response) => listener(Object.defineProperty(request, "authority", { value: "localhost" }), response);
}

/**
 * Answers a call of a method that the server does not implement. Like gRPC servers, it sends UNIMPLEMENTED in the trailers
 * of a response with HTTP status 200; callers that do not speak gRPC get a 404.
 */
export const answerUnknownMethod: NonNullable<ConnectNodeAdapterOptions["fallback"]> = (request, response) => {
  const contentType = request.headers["content-type"] ?? "";
  if (!/^application\/grpc($|[+;])/.test(contentType)) {
    response.statusCode = 404;
    response.end();
    return;
  }
  request.resume(); // Discards the rest of the request.
  const [, service = "", method = ""] = (request.url ?? "").split("/");
  response.setHeader("content-type", contentType);
  response.write(""); // Without a body, the headers would end the stream, and there would be no trailers.
  response.addTrailers({
    "grpc-status": String(Code.Unimplemented),
    "grpc-message": encodeURIComponent(`unknown method ${method} for service ${service}`).replaceAll("%20", " "),
  });
  response.end();
};
