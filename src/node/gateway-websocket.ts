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
  fromJson,
  type JsonValue,
  type MessageShape,
} from "@bufbuild/protobuf";
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import { Code } from "../base/errors/code.js";
import { parseHttpCall } from "../wire/http-rule/http-call.js";
import { responsePart } from "../wire/http-rule/http-rule.js";
import { matchPath } from "../wire/http-rule/path-template.js";
import { knownTypes } from "../wire/json/any.js";
import { assertStrictMessage, parseStrictJson } from "../wire/json/strict-json.js";
import type { FailureInjector } from "./failure-injection.js";
import { errorJson, gatewayRoutes, messageJson, TERSE_PATH } from "./gateway.js";

/** The maximum size of a line, including its line feed, in bytes. A longer line closes the socket without an error. */
const MAX_LINE_BYTES = 64 * 1024;
/** The maximum size of a client's frame, in bytes. */
const MAX_FRAME_BYTES = 1024 * 1024;
/** The maximum number of frames that wait for the method. While there are as many, the socket is not read. */
const MAX_WAITING_FRAMES = 16;

/** A listener of the `upgrade` event of Node's HTTP server. */
export type UpgradeListener = (request: IncomingMessage, connection: Duplex, head: Buffer) => void;

/**
 * Creates the WebSockets of a gateway. They behave like those of deployed gateways: each frame of a client is one JSON request,
 * and each frame of the gateway is one `{"result": ...}` or `{"error": ...}`. The upgrade always succeeds. The end of a stream,
 * or a line of more than 64 KiB, closes the socket without a close frame. If a method streams only its responses, its request
 * is in the query.
 */
export function createGatewaySockets(transport: Transport, services: readonly DescService[]): UpgradeListener {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    handleProtocols: (protocols) => (protocols.has("Bearer") ? "Bearer" : false),
  });
  const routes = gatewayRoutes(services).filter(({ rule }) => rule.verb === "GET");

  async function* responses(
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
    const { message: outputs } = await transport.stream(method, abort.signal, undefined, bearerHeaders(request), input);
    const terse = rule.template.text.startsWith(TERSE_PATH);
    for await (const output of outputs) {
      yield { result: responsePart(method.output, rule, messageJson(method.output, output, terse)) };
    }
  }

  async function serve(socket: WebSocket, request: IncomingMessage, connection: Duplex): Promise<void> {
    const abort = new AbortController();
    socket.on("error", () => undefined); // The client is gone, or has sent an invalid frame. The socket closes.
    socket.on("close", () => abort.abort());
    try {
      for await (const response of responses(request, socket, abort)) {
        const line = JSON.stringify(response);
        if (Buffer.byteLength(line) + 1 > MAX_LINE_BYTES) {
          break;
        }
        await send(socket, line);
      }
    } catch (reason) {
      // An invalid request aborts the call, whose own error is then less specific than the reason.
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

/** Sends a frame. Resolves when the connection has taken it, so that a slow client is not sent more. */
function send(socket: WebSocket, line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(line, (error) => (error ? reject(error) : resolve()));
  });
}

/** Parses requests from the frames that are received from now on. An invalid request aborts the call. */
function requests<I extends DescMessage>(
  input: I,
  socket: WebSocket,
  abort: AbortController,
): AsyncIterable<MessageShape<I>> {
  const marks = { highWaterMark: MAX_WAITING_FRAMES, lowWaterMark: 1 };
  return parseRequests(input, on(socket, "message", { close: ["close"], ...marks, signal: abort.signal }), abort);
}

async function* parseRequests<I extends DescMessage>(
  input: I,
  frames: AsyncIterable<readonly unknown[]>,
  abort: AbortController,
): AsyncGenerator<MessageShape<I>, void> {
  for await (const [data] of frames) {
    let request: MessageShape<I>;
    try {
      const json = parseStrictJson(String(data), "the frame", () => new Error("it is not JSON"));
      assertStrictMessage(input, json, knownTypes, "the frame");
      request = fromJson(input, json, { registry: knownTypes, ignoreUnknownFields: true });
    } catch (reason) {
      const message = reason instanceof Error ? reason.message : String(reason);
      abort.abort(new ConnectError(`the frame is not a valid request: ${message}`, Code.InvalidArgument));
      return;
    }
    yield request;
  }
}

/** Returns the authorization header for the token that a client sends as a subprotocol: `Bearer, TOKEN`. */
function bearerHeaders({ headers }: IncomingMessage): Headers {
  const [scheme, token] = (headers["sec-websocket-protocol"] ?? "").split(",").map((part) => part.trim());
  return new Headers(scheme === "Bearer" && token ? { authorization: `Bearer ${token}` } : {});
}

/** How the server handles requests for an upgrade. */
export interface UpgradeOptions {
  readonly upgrade: UpgradeListener;
  /** Handles a request for an upgrade to another protocol, such as HTTP/2, as if it did not request one. */
  readonly fallback: RequestListener;
  /** Wraps a listener, so that requests beyond the rate limit are refused. */
  readonly limited: (listener: RequestListener) => RequestListener;
  readonly failures: Pick<FailureInjector, "wrapListener" | "wrapSocket">;
}

export function handleUpgrades(server: Server, { upgrade, fallback, limited, failures }: UpgradeOptions): () => void {
  const connections = new Set<Socket>();
  /** The response to the last request on each connection that has sent one. */
  const lastResponses = new WeakMap<Duplex, ServerResponse>();
  server.on("request", ({ socket }, response) => lastResponses.set(socket, response));
  server.on("upgrade", (request, connection, head) => {
    if (!(connection instanceof Socket)) {
      connection.destroy();
      return;
    }
    connections.add(connection);
    connection.on("close", () => connections.delete(connection));
    connection.on("error", () => undefined); // The client is gone.
    const lastResponse = lastResponses.get(connection);
    if (lastResponse === undefined || lastResponse.closed) {
      serve(request, connection, head);
    } else {
      lastResponse.once("close", () => serve(request, connection, head)); // The client did not wait for it.
    }
  });
  function serve(request: IncomingMessage, connection: Socket, head: Buffer): void {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(connection);
    response.on("finish", () => connection.destroySoon());
    const upgradeSocket = () => {
      response.detachSocket(connection);
      failures.wrapSocket(connection, () => upgrade(request, connection, head));
    };
    const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
    limited(isWebSocket ? upgradeSocket : failures.wrapListener(fallback))(request, response);
  }
  return () => {
    for (const connection of connections) {
      connection.destroy();
    }
  };
}
