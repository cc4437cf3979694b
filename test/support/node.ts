import { createServer, type Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server as NetServer, type Socket } from "node:net";
import type { DescService } from "@bufbuild/protobuf";
import { type ConnectRouter, createRouterTransport, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { createGateway } from "../../src/node/gateway.js";
import { knownTypes } from "./any.js";
import { freePort } from "./free-port.mjs";

/** A node whose methods the test implements, over gRPC and over an HTTP gateway. */
export interface TestNode extends AsyncDisposable {
  readonly grpcUrl: string;
  readonly restUrl: string;
  /** The number of connections made to each port. */
  readonly connections: { grpc: number; rest: number };
  close(): Promise<void>;
}

/** Start a node. Methods that are left out answer `Unimplemented`. */
export function serveNode(
  service: Partial<ServiceImpl<typeof TradingDataService>>,
  core: Partial<ServiceImpl<typeof CoreService>> = {},
): Promise<TestNode> {
  return serveNodeOf((router) => {
    router.service(TradingDataService, service);
    router.service(CoreService, core);
  });
}

/** Start a node, as {@link serveNode} does, of routes. */
export async function serveNodeOf(
  routes: (router: ConnectRouter) => void,
  services: readonly DescService[] = [TradingDataService, CoreService],
): Promise<TestNode> {
  const jsonOptions = { registry: knownTypes };
  const grpc = createHttp2Server(connectNodeAdapter({ routes, jsonOptions }));
  const rest = createServer(createGateway(createRouterTransport(routes), services));
  const connections = { grpc: 0, rest: 0 };
  const sessions = new Set<ServerHttp2Session>();
  grpc.on("session", (session) => {
    connections.grpc += 1;
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  rest.on("connection", () => {
    connections.rest += 1;
  });
  const close = async () => {
    for (const session of sessions) {
      session.destroy();
    }
    rest.closeAllConnections();
    await Promise.all([stop(grpc), stop(rest)]);
  };
  return {
    grpcUrl: await listen(grpc),
    restUrl: await listen(rest),
    connections,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * A method of a node that never answers: it ends with its call, as the limit of a call's time would else stay with the
 * server until it is reached.
 */
export function unanswered(_: unknown, { signal }: Pick<HandlerContext, "signal">): Promise<never> {
  return new Promise((_fulfil, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

/** Start a TCP server. */
export async function serveTcp(
  onConnection: (socket: Socket) => void,
  host = "127.0.0.1",
): Promise<{ readonly url: string; count(): number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createTcpServer((socket) => {
    count += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    onConnection(socket);
  });
  const url = await listen(server, host);
  return {
    url,
    count: () => count,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) {
        socket.destroy();
      }
      await stop(server);
    },
  };
}

/** Find a URL on which nothing listens. */
export async function closedUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}

async function listen(server: Server | Http2Server | NetServer, host = "127.0.0.1"): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

function stop(server: Server | Http2Server | NetServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
