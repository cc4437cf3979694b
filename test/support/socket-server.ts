// Servers of WebSockets for tests: whole ones, and the bytes of ones that misbehave.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TlsOptions } from "node:tls";
import { type WebSocket, WebSocketServer } from "ws";
import type { RawRequest } from "./raw-http.js";

/** A server on 127.0.0.1 that opens a WebSocket for each request. */
export interface SocketServer extends AsyncDisposable {
  readonly url: string;
  /** The requests for sockets, oldest first. */
  readonly requests: IncomingMessage[];
  /** The sockets that are open. */
  readonly sockets: ReadonlySet<WebSocket>;
  /** Called for each request, before it is answered. */
  onRequest(asked: () => void): void;
}

/** Start a server. */
export async function serveWebSockets(
  answer: (socket: WebSocket, request: IncomingMessage) => void,
  options: { readonly tls?: TlsOptions; readonly subprotocol?: false; readonly headers?: readonly string[] } = {},
): Promise<SocketServer> {
  const http = options.tls === undefined ? createServer() : createTlsServer(options.tls);
  http.on("tlsClientError", () => undefined);
  const server = new WebSocketServer({
    server: http,
    handleProtocols: (asked) => options.subprotocol ?? (asked.has("Bearer") ? "Bearer" : false),
  });
  server.on("headers", (lines) => lines.push(...(options.headers ?? [])));
  const requests: IncomingMessage[] = [];
  server.on("connection", (socket, request) => {
    requests.push(request);
    socket.on("error", () => undefined);
    answer(socket, request);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    requests,
    sockets: server.clients,
    onRequest: (asked) => http.prependListener("upgrade", asked),
    async [Symbol.asyncDispose]() {
      for (const socket of server.clients) {
        socket.terminate();
      }
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** Write the answer that opens a WebSocket. */
export function opening({ headers }: RawRequest, changes: Readonly<Record<string, string>> = {}): string {
  const key = `${headers.get("sec-websocket-key")?.trim()}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const accept = createHash("sha1").update(key).digest("base64");
  const all = { upgrade: "websocket", connection: "Upgrade", "sec-websocket-accept": accept, ...changes };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`;
}

/** Write a frame of a WebSocket. */
export function socketFrame(content: string | Uint8Array, first = 0x81, length = Buffer.byteLength(content)): Buffer {
  const head = Buffer.alloc(length < 126 ? 2 : 10);
  head[0] = first;
  head[1] = Math.min(length, 127);
  if (length >= 126) {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([head, Buffer.from(content)]);
}
