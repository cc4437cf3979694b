import { createServer } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo, Server, Socket } from "node:net";
import { create, fromJsonString, toJson } from "@bufbuild/protobuf";
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { ConnectError, type ConnectRouter, createRouterTransport, type ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  ObserveEventBusRequestSchema,
  ObserveEventBusResponseSchema,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { createWebSocketStream, type WebSocket, WebSocketServer } from "ws";
import { anyToObject, knownTypes } from "./any.js";

/** Answers the requests of a call. */
export type Talk = ServiceImpl<typeof TradingDataService>["observeEventBus"];

/** A node that offers `ObserveEventBus`, over gRPC and as a WebSocket. */
export interface TalkingNode extends AsyncDisposable {
  readonly grpcUrl: string;
  readonly restUrl: string;
  /** Cut all connections. */
  cut(): void;
}

/** Start a node. */
export async function startTalkingNode(talk: Talk, ports: readonly number[] = [0, 0]): Promise<TalkingNode> {
  const routes = (router: ConnectRouter) => {
    router.service(TradingDataService, { observeEventBus: talk });
  };
  const sessions = new Set<ServerHttp2Session>();
  const connections = new Set<Socket>();
  const grpc = createHttp2Server(connectNodeAdapter({ routes, jsonOptions: { registry: knownTypes } }));
  grpc.on("session", (session) => {
    sessions.add(session.on("error", () => undefined));
    session.on("close", () => sessions.delete(session));
  });
  const rest = createServer();
  const sockets = new WebSocketServer({ server: rest });
  const transport = createRouterTransport(routes);
  for (const server of [grpc, rest]) {
    server.on("connection", (connection: Socket) => {
      connections.add(connection.on("error", () => undefined));
      connection.on("close", () => connections.delete(connection));
    });
  }

  async function answer(socket: WebSocket): Promise<void> {
    const frames = createWebSocketStream(socket, { readableObjectMode: true });
    const abort = new AbortController();
    frames.on("error", () => abort.abort());
    socket.on("close", () => abort.abort());
    const send = (json: object) => new Promise<void>((resolve) => frames.write(JSON.stringify(json), () => resolve()));
    async function* requests() {
      for await (const frame of frames) {
        yield fromJsonString(ObserveEventBusRequestSchema, String(frame));
      }
      await new Promise(() => undefined); // A socket cannot say that nothing more is sent.
    }
    try {
      const method = TradingDataService.method.observeEventBus;
      const { message } = await transport.stream(method, abort.signal, undefined, {}, requests());
      for await (const response of message) {
        await send({ result: toJson(ObserveEventBusResponseSchema, response) });
      }
    } catch (reason) {
      await send({ error: errorObject(ConnectError.from(reason)) });
    }
    socket.terminate();
  }

  sockets.on("connection", (socket) => {
    void answer(socket);
  });
  const [grpcUrl, restUrl] = await Promise.all([listen(grpc, ports[0]), listen(rest, ports[1])]);
  const cut = () => {
    for (const connection of connections) {
      connection.destroy();
    }
  };
  return {
    grpcUrl,
    restUrl,
    cut,
    async [Symbol.asyncDispose]() {
      const closed = Promise.all([grpc, rest].map((server) => new Promise((resolve) => server.close(resolve))));
      for (const session of sessions) {
        session.destroy();
      }
      cut();
      await closed;
    },
  };
}

/** Cut a port out of a URL. */
export function portOf(url: string): number {
  return Number(new URL(url).port);
}

function errorObject({ code, rawMessage, details }: ConnectError) {
  const objects = details.map((detail) =>
    "desc" in detail
      ? anyToObject(anyPack(detail.desc, create(detail.desc, detail.value)))
      : anyToObject(create(AnySchema, { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value })),
  );
  return { code, message: rawMessage, details: objects };
}

async function listen(server: Server, port = 0): Promise<string> {
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
