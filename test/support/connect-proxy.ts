import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TlsOptions } from "node:tls";

/** An HTTP proxy that knows every name as this machine's. */
export interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The hosts and ports for which tunnels were asked. */
  readonly targets: readonly string[];
  /** The requests that asked for them. */
  readonly requests: readonly IncomingMessage[];
  /** Cut all connections. */
  cut(): void;
}

/** Options of {@link startConnectProxy}. */
export interface ConnectProxyOptions {
  /** The user name and the password that it asks for, as `user:password`. */
  readonly credentials?: string;
  /** The certificate of a proxy that speaks TLS. */
  readonly tls?: TlsOptions;
  /** The port of this machine to which every tunnel leads; by default the one that is asked for. */
  readonly to?: number;
}

/** Start a proxy that opens tunnels (CONNECT), and refuses everything else. */
export async function startConnectProxy({ credentials, tls, to }: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const requests: IncomingMessage[] = [];
  const sockets = new Set<Duplex>();
  const server: Server = tls === undefined ? createHttpServer() : createHttpsServer(tls);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket.on("error", () => undefined));
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("request", (_, response) => response.writeHead(405).end());
  server.on("connect", (request: IncomingMessage, front: Duplex, head: Buffer) => {
    requests.push(request);
    const given = request.headers["proxy-authorization"];
    if (credentials !== undefined && given !== `Basic ${Buffer.from(credentials).toString("base64")}`) {
      front.end("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n");
      return;
    }
    const port = to ?? Number(/:(\d+)$/.exec(request.url ?? "")?.[1]);
    const back = connect(port, "127.0.0.1", () => {
      front.write("HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n");
      back.write(head);
      front.pipe(back).pipe(front);
    });
    sockets.add(back);
    back.on("close", () => sockets.delete(back));
    back.on("error", () => front.end("HTTP/1.1 502 Bad Gateway\r\n\r\n"));
    front.on("error", () => back.destroy()).on("close", () => back.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const cut = () => {
    for (const socket of sockets) {
      socket.destroy();
    }
  };
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    port,
    requests,
    get targets() {
      return requests.map(({ url = "" }) => url);
    },
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
