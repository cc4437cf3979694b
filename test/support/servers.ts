// Servers for tests. Closing a server also closes its sessions and sockets.
import { readFileSync } from "node:fs";
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import type { TlsOptions } from "node:tls";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";

/** A server on 127.0.0.1. */
export interface TestServer {
  readonly url: string;
  readonly port: number;
  /** All HTTP/2 sessions that were opened. */
  readonly sessions: readonly ServerHttp2Session[];
  close(): Promise<void>;
}

/** Start a server with Connect's own implementation. */
export function serveRoutes(routes: (router: ConnectRouter) => void, port = 0): Promise<TestServer> {
  return listen(createServer(connectNodeAdapter({ routes })), port);
}

/**
 * Start a server with Connect's own implementation behind TLS. Its certificate, `test/support/tls/cert.pem`, is for
 * `node.example`.
 */
export async function serveRoutesOverTls(
  routes: (router: ConnectRouter) => void,
): Promise<TestServer & { readonly names: readonly string[] }> {
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => readFileSync(new URL(`tls/${name}`, import.meta.url)));
  const names: string[] = [];
  const SNICallback: TlsOptions["SNICallback"] = (name, done) => {
    names.push(name);
    done(null);
  };
  const server = createSecureServer({ key, cert, SNICallback }, connectNodeAdapter({ routes }));
  return { ...(await listen(server)), names };
}

/** Start an HTTP/2 server that leaves each stream to the test. */
export function serveStreams(
  answer: (stream: ServerHttp2Stream, cut: () => void) => void,
  settings: Settings = {},
  opened: (session: ServerHttp2Session) => void = () => undefined,
): Promise<TestServer> {
  const server = createServer({ settings });
  server.on("session", opened);
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => sockets.push(socket));
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    answer(stream, () => {
      for (const socket of sockets.splice(0)) {
        socket.destroy();
      }
    });
  });
  return listen(server);
}

/** Start a TCP server that leaves each socket to the test. */
export function serveSockets(answer: (socket: Socket) => void): Promise<TestServer> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined);
    answer(socket);
  });
  return listen(server);
}

async function listen(server: Http2Server | Http2SecureServer | Server, wanted = 0): Promise<TestServer> {
  const sessions: ServerHttp2Session[] = [];
  const sockets = new Set<Socket>();
  server.on("session", (session: ServerHttp2Session) => sessions.push(session));
  server.on("connection", (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(wanted, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    sessions,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) {
          session.destroy();
        }
        for (const socket of sockets) {
          socket.destroy();
        }
      }),
  };
}

/** Make a gRPC frame. */
export function envelope(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
