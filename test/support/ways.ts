// The ways on which calls reach a node, each with a call of its own, for tests of connections.
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createServer, type TlsOptions } from "node:tls";
import { type Client, type ClientConfig, createClient } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { asking, observe } from "./bus.js";
import { serveNode } from "./node.js";
import { startTalkingNode } from "./talking-node.js";

/** Where a node answers, by the server of a way. */
export interface WayUrls {
  readonly grpc: string;
  readonly rest: string;
  /** The gateway that opens WebSockets. */
  readonly sockets: string;
}

/** A way to a node. */
export interface Way {
  readonly name: "grpc" | "grpc-js" | "rest" | "rest streams" | "websocket";
  /** The server that it takes. */
  readonly server: keyof WayUrls;
  /** Makes a client that takes this way alone, and tries nothing twice. */
  connect(url: string, more?: WayOptions): Client;
  /** Makes a call, and waits for its answer. */
  call(client: Client, options?: { readonly signal?: AbortSignal }): Promise<void>;
}

/** What a client has besides its URL. */
export interface WayOptions extends Pick<ClientConfig, "proxy" | "timeouts" | "retry"> {
  readonly tls?: NonNullable<ClientConfig["grpc"]>["tls"];
  readonly headers?: Readonly<Record<string, string>>;
  readonly keepaliveMs?: number;
}

const lists: Way["call"] = async (client, options) => {
  await client.service(TradingDataService).listAllNetworkHistorySegments({}, options);
};

function over(transport: "grpc" | "grpc-js"): Way["connect"] {
  return (url, { tls, headers, keepaliveMs, ...more } = {}) =>
    createClient({ retry: { tries: 1 }, ...more, transport, grpc: { url, tls, headers, keepaliveMs } });
}

const overRest: Way["connect"] = (url, { tls, headers, keepaliveMs: _, ...more } = {}) =>
  createClient({ retry: { tries: 1 }, ...more, transport: "rest", rest: { url, tls, headers } });

/** All ways. */
export const ways: readonly Way[] = [
  { name: "grpc", server: "grpc", connect: over("grpc"), call: lists },
  { name: "grpc-js", server: "grpc", connect: over("grpc-js"), call: lists },
  { name: "rest", server: "rest", connect: overRest, call: lists },
  {
    name: "rest streams",
    server: "rest",
    connect: overRest,
    async call(client, options) {
      for await (const _ of client.service(TradingDataService).observeTrades({}, options)) {
        // The stream ends by itself, so its connection is reused.
      }
    },
  },
  {
    name: "websocket",
    server: "sockets",
    connect: overRest,
    async call(client, options) {
      for await (const _ of observe(client, asking(1n), options)) {
        return;
      }
    },
  },
];

/** A node that answers the call of each way. */
export interface WaysNode extends AsyncDisposable {
  readonly urls: WayUrls;
}

/** Start a node that answers the call of each way. */
export async function startWaysNode(): Promise<WaysNode> {
  const node = await serveNode({
    listAllNetworkHistorySegments: () => ({ segments: [] }),
    async *observeTrades() {
      yield { trades: [] };
    },
  });
  const talking = await startTalkingNode(async function* (_, { signal }) {
    yield { events: [{ id: "1" }] };
    await once(signal, "abort");
  });
  return {
    urls: { grpc: node.grpcUrl, rest: node.restUrl, sockets: talking.restUrl },
    async [Symbol.asyncDispose]() {
      await Promise.all([node.close(), talking[Symbol.asyncDispose]()]);
    },
  };
}

/** Start a server that ends TLS in front of another server. */
export async function startTlsFront(target: string, options: TlsOptions) {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer({ ...options, ALPNProtocols: ["h2", "http/1.1"] }, (front) => {
    const back = connect(Number(port), hostname);
    back.on("error", () => front.destroy()).on("close", () => front.destroy());
    front.on("error", () => back.destroy()).on("close", () => back.destroy());
    front.pipe(back).pipe(front);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("tlsClientError", () => undefined);
  const clients: (string | undefined)[] = [];
  server.on("secureConnection", (socket) => clients.push(socket.getPeerX509Certificate()?.fingerprint256));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address() as AddressInfo;
  const cut = () => {
    for (const socket of sockets) {
      socket.destroy();
    }
  };
  return {
    url: `https://127.0.0.1:${address.port}`,
    port: address.port,
    clients,
    cut,
    change: (changed: TlsOptions) => server.setSecureContext(changed),
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
