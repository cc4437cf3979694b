import { on } from "node:events";
import { type IncomingMessage, type RequestListener, type Server, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import {
  type DescMessage,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescService,
  fromJsonString,
  type JsonValue,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import { parseHttpCall } from "../http-rule/http-call.js";
import { responsePart } from "../http-rule/http-rule.js";
import { matchPath } from "../http-rule/path-template.js";
import { knownTypes } from "../json/any.js";
import type { Failures } from "./failure-injection.js";
import { errorJson, gatewayRoutes, messageJson, TERSE_PATH } from "./gateway.js";

/** The most bytes of a line, its end included. A longer one ends the socket without a word. */
const MAX_LINE_BYTES = 64 * 1024;
/** The largest frame that is taken, in bytes. */
const MAX_FRAME_BYTES = 1024 * 1024;
/** The most frames that wait for the method. A client that sends more is not read meanwhile. */
const MAX_WAITING_FRAMES = 16;

/** Takes a request to become a WebSocket, as Node's HTTP server gives it. */
export type Upgrade = (request: IncomingMessage, connection: Duplex, head: Buffer) => void;

/**
 * Make the WebSockets of a gateway. They behave as those of deployed gateways: each frame of a client is one request as
 * JSON, each frame of the gateway one `{"result": ...}` or `{"error": ...}`. The upgrade always succeeds, and the end of a
 * stream closes the socket without a close frame, as does a line of more than 64 KiB. The request of a method that streams
 * its answers alone comes from the query.
 *
 * @param transport answers the calls
 * @param services the services whose methods the gateway offers
 * @returns takes the upgrades of such sockets
 */
export function createGatewaySockets(transport: Transport, services: readonly DescService[]): Upgrade {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    handleProtocols: (protocols) => (protocols.has("Bearer") ? "Bearer" : false),
  });
  const routes = gatewayRoutes(services).filter(({ rule }) => rule.verb === "GET");

  async function* answers(
    request: IncomingMessage,
    socket: WebSocket,
    abort: AbortController,
  ): AsyncGenerator<JsonValue, void> {
    const target = request.url ?? "/";
    const [path = ""] = target.split("?", 1);
    const found = routes.find(({ rule }) => matchPath(rule.template, path) !== undefined);
    if (found === undefined) {
      throw new ConnectError("Not Found", Code.NotFound);
    }
    const { method, rule } = found;
    if (!isStreaming(method)) {
      throw new ConnectError("Method Not Allowed", Code.Unimplemented);
    }
    const call = { verb: "GET", target };
    const input =
      method.methodKind === "bidi_streaming"
        ? requests(method.input, socket, abort)
        : createAsyncIterable([parseHttpCall(method.input, rule, call, { knownEnums: true }) ?? {}]);
    const { message: outputs } = await transport.stream(method, abort.signal, undefined, bearer(request), input);
    const terse = rule.template.text.startsWith(TERSE_PATH);
    for await (const output of outputs) {
      yield { result: responsePart(method.output, rule, messageJson(method.output, output, terse)) };
    }
  }

  async function serve(socket: WebSocket, request: IncomingMessage, connection: Duplex): Promise<void> {
    const abort = new AbortController();
    socket.on("error", () => undefined); // The client is gone, or sent what is no frame. The socket closes.
    socket.on("close", () => abort.abort());
    try {
      for await (const answer of answers(request, socket, abort)) {
        const line = JSON.stringify(answer);
        if (Buffer.byteLength(line) + 1 > MAX_LINE_BYTES) {
          break;
        }
        await send(socket, line);
      }
    } catch (reason) {
      // A frame that is no request ends the call, which then says only that.
      const error = abort.signal.reason instanceof ConnectError ? abort.signal.reason : reason;
      await send(socket, JSON.stringify({ error: errorJson(error) })).catch(() => undefined);
    } finally {
      abort.abort();
      connection.end(() => socket.terminate()); // Without a close frame.
    }
  }

  return (request, connection, head) => {
    server.handleUpgrade(request, connection, head, (socket) => void serve(socket, request, connection));
  };
}

function isStreaming(method: DescMethod): method is DescMethodServerStreaming | DescMethodBiDiStreaming {
  return method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming";
}

/** Send a frame. Resolves when the connection has taken it, so that a client that does not read is waited for. */
function send(socket: WebSocket, line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(line, (error) => (error ? reject(error) : resolve()));
  });
}

/** Read requests out of frames, from now on. A frame that is none ends the call. */
function requests<I extends DescMessage>(
  input: I,
  socket: WebSocket,
  abort: AbortController,
): AsyncIterable<MessageShape<I>> {
  const marks = { highWaterMark: MAX_WAITING_FRAMES, lowWaterMark: 1 };
  return read(input, on(socket, "message", { close: ["close"], ...marks, signal: abort.signal }), abort);
}

async function* read<I extends DescMessage>(
  input: I,
  frames: AsyncIterable<readonly unknown[]>,
  abort: AbortController,
): AsyncGenerator<MessageShape<I>, void> {
  for await (const [data] of frames) {
    let request: MessageShape<I>;
    try {
      request = fromJsonString(input, String(data), { registry: knownTypes, ignoreUnknownFields: true });
    } catch (reason) {
      const message = reason instanceof Error ? reason.message : String(reason);
      abort.abort(new ConnectError(`the frame is no request: ${message}`, Code.InvalidArgument));
      return;
    }
    yield request;
  }
}

/** A token comes as a subprotocol: `Bearer, TOKEN`. */
function bearer({ headers }: IncomingMessage): Headers {
  const [scheme, token] = (headers["sec-websocket-protocol"] ?? "").split(",").map((part) => part.trim());
  return new Headers(scheme === "Bearer" && token ? { authorization: `Bearer ${token}` } : {});
}

/** What becomes of requests to become something else. */
export interface UpgradeOptions {
  readonly upgrade: Upgrade;
  /** Answers a request that asks for what is no WebSocket, such as HTTP/2: it is taken as if it did not ask. */
  readonly answer: RequestListener;
  /** Makes a listener of one that answers no requests beyond a limit. */
  readonly limited: (listener: RequestListener) => RequestListener;
  readonly failures: Pick<Failures, "breakable" | "breakableSocket">;
}

/**
 * Let the connections of an HTTP server become WebSockets.
 *
 * @param server the server
 * @param options makes the sockets, answers other requests, limits the number of requests, and makes calls fail
 * @returns ends all these connections at once, of which the server does not know any more
 */
export function takeUpgrades(server: Server, { upgrade, answer, limited, failures }: UpgradeOptions): () => void {
  const connections = new Set<Socket>();
  server.on("upgrade", (request, connection, head) => {
    if (!(connection instanceof Socket)) {
      connection.destroy();
      return;
    }
    connections.add(connection);
    connection.on("close", () => connections.delete(connection));
    connection.on("error", () => undefined); // The client is gone.
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(connection);
    response.on("finish", () => connection.destroySoon());
    const takeSocket = () => {
      response.detachSocket(connection);
      failures.breakableSocket(connection, () => upgrade(request, connection, head));
    };
    const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
    limited(isWebSocket ? takeSocket : failures.breakable(answer))(request, response);
  });
  return () => {
    for (const connection of connections) {
      connection.destroy();
    }
  };
}
