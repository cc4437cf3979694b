// Servers over HTTP/2 without TLS, closed with everything that hangs on them.
import { readFileSync } from "node:fs";
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";

export interface TestServer {
  readonly url: string;
  readonly port: number;
  /** The sessions that it has had. */
  readonly sessions: readonly ServerHttp2Session[];
  close(): Promise<void>;
}

/** A node of Connect's. */
export function serveRoutes(routes: (router: ConnectRouter) => void, port = 0): Promise<TestServer> {
  return listen(createServer(connectNodeAdapter({ routes })), port);
}

/** A node of Connect's behind TLS; the certificate `test/support/tls/cert.pem` is for `node.example`. */
export function serveRoutesOverTls(routes: (router: ConnectRouter) => void): Promise<TestServer> {
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => readFileSync(new URL(`tls/${name}`, import.meta.url)));
  return listen(createSecureServer({ key, cert }, connectNodeAdapter({ routes })));
}

/** A server that does with each stream whatever the test wants; `cut` ends its connections without a word. */
export function serveStreams(answer: (stream: ServerHttp2Stream, cut: () => void) => void): Promise<TestServer> {
  const server = createServer();
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

/** A server that is not even HTTP/2. */
export function serveSockets(answer: (socket: Socket) => void): Promise<TestServer> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined);
    answer(socket);
  });
  return listen(server);
}

/** A port of this machine where nobody listens. */
export async function deadPort(): Promise<number> {
  const server = await serveSockets(() => undefined);
  await server.close();
  return server.port;
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

/** A gRPC message as it is on the wire. */
export function envelope(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
