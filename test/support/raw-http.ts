import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

/** A request that the server received. */
export interface RawRequest {
  /** The request line. */
  readonly line: string;
  readonly headers: Headers;
  readonly body: string;
  /** Fulfilled when the request's socket has closed. */
  readonly closed: Promise<unknown>;
}

/** The answer on a connection, byte by byte. */
export interface RawAnswer {
  /** The bytes, each piece in a separate write, until the client disconnects. */
  readonly pieces: Iterable<string | Uint8Array>;
  /** How the connection ends; `keep` leaves it open. */
  readonly ending: "end" | "reset" | "keep";
}

/** A server on 127.0.0.1 that gives the answers of a test. */
export interface RawHttpServer {
  readonly url: string;
  /** The received requests, oldest first. */
  readonly requests: RawRequest[];
  /** The answer on each further connection. */
  answer: RawAnswer | ((request: RawRequest) => RawAnswer);
  close(): Promise<void>;
}

/** Start a server. */
export async function startRawHttp(tls?: TlsOptions): Promise<RawHttpServer> {
  const sockets = new Set<Socket>();
  const onConnection = (socket: Socket) => {
    sockets.add(socket);
    const closed = new Promise((resolve) => {
      socket.once("close", () => resolve(sockets.delete(socket)));
    });
    socket.setNoDelay(true);
    socket.on("error", () => undefined); // Clients may disconnect at any time.
    void serve(socket, closed);
  };
  const server = tls === undefined ? createServer(onConnection) : createTlsServer(tls, onConnection);
  server.on("tlsClientError", () => undefined); // A client may reject the certificate.

  async function serve(socket: Socket, closed: Promise<unknown>): Promise<void> {
    const request = await readRequest(socket, closed);
    if (request === undefined) {
      return;
    }
    raw.requests.push(request);
    const { pieces, ending } = typeof raw.answer === "function" ? raw.answer(request) : raw.answer;
    for (const piece of pieces) {
      if (socket.destroyed) {
        return;
      }
      await new Promise((resolve) => socket.write(piece, resolve));
      await turn(); // The client should receive this piece separately.
    }
    if (ending === "end") {
      socket.end();
    } else if (ending === "reset") {
      socket.resetAndDestroy();
    }
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const raw: RawHttpServer = {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    requests: [],
    answer: { pieces: [], ending: "end" },
    async close() {
      for (const socket of sockets) {
        socket.destroy();
      }
      server.close();
      await once(server, "close");
    },
  };
  return raw;
}

/** Read a request with a body of the announced length. The result is `undefined` if the socket closes before that. */
function readRequest(socket: Socket, closed: Promise<unknown>): Promise<RawRequest | undefined> {
  return new Promise((resolve) => {
    let text = "";
    socket.setEncoding("latin1").on("data", (piece: string) => {
      text += piece;
      const end = text.indexOf("\r\n\r\n");
      if (end === -1) {
        return;
      }
      const [line = "", ...fields] = text.slice(0, end).split("\r\n");
      const headers = new Headers(
        fields.map((field): [string, string] => [field.replace(/:.*/s, ""), field.replace(/^[^:]*:/, "")]),
      );
      const body = text.slice(end + 4);
      if (body.length >= Number(headers.get("content-length"))) {
        resolve({ line, headers, body: Buffer.from(body, "latin1").toString(), closed });
      }
    });
    void closed.then(() => resolve(undefined));
  });
}

/** Write the head of a response. */
export function head(status: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}\r\n${lines.join("")}\r\n`;
}

/** Make a whole response, with its length in the head. */
export function whole(
  status: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): RawAnswer {
  const length = String(Buffer.byteLength(body));
  return { pieces: [head(status, { ...headers, "content-length": length }), body], ending: "end" };
}

/** Make a chunk of a body in chunked transfer coding. */
export function chunk(body: string | Uint8Array): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
}
