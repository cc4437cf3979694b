import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { DescMessage, DescMethod, DescService, MessageShape } from "@bufbuild/protobuf";
import { fromJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { createWebSocketStream, type WebSocket, WebSocketServer } from "ws";
import { httpBindings, responsePart } from "../http-rule/http-rule.js";
import { matchPath } from "../http-rule/path-template.js";
import { readCall } from "../http-rule/read-call.js";
import { knownTypes } from "../json/any.js";
import { errorJson, TERSE_PATH } from "./gateway.js";
import { messageJson } from "./gateway-json.js";

/** A longer line ends the socket without a word. */
const MAX_LINE_BYTES = 64 * 1024;
/** The largest frame that is taken. */
const MAX_FRAME_BYTES = 1024 * 1024;

type StreamingMethod = DescMethod & { readonly methodKind: "server_streaming" | "bidi_streaming" };

/** Takes requests to become a WebSocket, as Node's HTTP server gives them. */
export interface GatewaySockets {
  upgrade(request: IncomingMessage, connection: Duplex, head: Buffer): void;
  /** End all sockets. */
  close(): void;
}

/**
 * Make the WebSockets of a gateway. They behave as those of deployed gateways: each frame of a client is one request as
 * JSON, each frame of the gateway one `{"result": ...}` or `{"error": ...}`. The upgrade always succeeds, and the end of a
 * stream closes the socket without a close frame. The request of a method that streams its answers alone comes from the
 * query.
 *
 * @param transport answers the calls
 * @param services the services whose methods the gateway offers
 * @returns takes upgrades
 */
export function createGatewaySockets(transport: Transport, services: readonly DescService[]): GatewaySockets {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    handleProtocols: (protocols) => (protocols.has("Bearer") ? "Bearer" : false),
  });
  const routes = services
    .flatMap(({ methods }) => methods.flatMap((method) => httpBindings(method).map((rule) => ({ method, rule }))))
    .toReversed();
  const open = new Set<WebSocket>();

  async function* answers(request: IncomingMessage, frames: AsyncIterable<Buffer>, signal: AbortSignal) {
    const target = request.url ?? "/";
    const [path = ""] = target.split("?", 1);
    const found = routes.find(({ rule }) => rule.verb === "GET" && matchPath(rule.template, path) !== undefined);
    if (found === undefined) {
      throw new ConnectError("Not Found", Code.NotFound);
    }
    const { method, rule } = found;
    if (!isStreaming(method)) {
      throw new ConnectError("Method Not Allowed", Code.Unimplemented);
    }
    const asked = readCall(method.input, rule, { verb: "GET", target }, { knownEnums: true });
    const input =
      method.methodKind === "bidi_streaming" ? requests(method, frames) : createAsyncIterable(asked ? [asked] : []);
    const header = bearer(request);
    const { message: outputs } = await transport.stream(method, signal, undefined, header, input);
    const terse = rule.template.text.startsWith(TERSE_PATH);
    for await (const output of outputs) {
      yield { result: responsePart(method.output, rule, messageJson(method.output, output, terse)) };
    }
  }

  async function serve(socket: WebSocket, request: IncomingMessage): Promise<void> {
    const abort = new AbortController();
    const stream = createWebSocketStream(socket, { readableObjectMode: true });
    stream.on("error", () => abort.abort());
    socket.on("close", () => abort.abort());
    const send = (json: object) => {
      const line = JSON.stringify(json);
      if (Buffer.byteLength(line) > MAX_LINE_BYTES) {
        throw new RangeError("the line is too long");
      }
      return new Promise<void>((resolve, reject) => {
        stream.write(line, (error) => (error ? reject(error) : resolve()));
      });
    };
    try {
      for await (const answer of answers(request, stream, abort.signal)) {
        await send(answer);
      }
    } catch (reason) {
      if (!abort.signal.aborted && !(reason instanceof RangeError)) {
        await send({ error: errorJson(reason) }).catch(() => undefined);
      }
    } finally {
      socket.terminate(); // Without a close frame.
    }
  }

  return {
    upgrade(request, connection, head) {
      server.handleUpgrade(request, connection, head, (socket) => {
        open.add(socket);
        socket.on("close", () => open.delete(socket));
        void serve(socket, request);
      });
    },
    close() {
      for (const socket of open) {
        socket.terminate();
      }
    },
  };
}

function isStreaming(method: DescMethod): method is StreamingMethod {
  return method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming";
}

async function* requests(
  { input }: DescMethod,
  frames: AsyncIterable<Buffer>,
): AsyncGenerator<MessageShape<DescMessage>, void, undefined> {
  for await (const frame of frames) {
    yield fromJsonString(input, frame.toString("utf8"), { registry: knownTypes, ignoreUnknownFields: true });
  }
}

/** A token comes as a subprotocol: `Bearer, TOKEN`. */
function bearer({ headers }: IncomingMessage): Headers {
  const [scheme, token] = (headers["sec-websocket-protocol"] ?? "").split(",").map((part) => part.trim());
  return new Headers(scheme === "Bearer" && token ? { authorization: `Bearer ${token}` } : {});
}
