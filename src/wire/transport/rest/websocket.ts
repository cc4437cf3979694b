import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import type { StreamRequest } from "@connectrpc/connect";
import { WebSocket } from "ws";
import {
  INVALID_FRAME,
  INVALID_HANDSHAKE,
  messageTooLarge,
  noWebSocket,
  responseError,
} from "../../../base/errors/call-errors.js";
import { Code } from "../../../base/errors/code.js";
import { ConnectionError, RequestError, serverOf } from "../../../base/errors/index.js";
import { markNothingReceived } from "../../../base/errors/network-failure.js";
import { isError } from "../../../base/errors/node-errors.js";
import { monotonicMs, startAwakeTimer, startTimer } from "../../../base/runtime/index.js";
import type { RestConfig } from "../../config/client-config.js";
import { requestJson } from "../../http-rule/http-call.js";
import type { HttpBinding } from "../../http-rule/http-rule.js";
import { expandPath } from "../../http-rule/path-template.js";
import { sizeOf } from "../../json/answer-size.js";
import { knownTypes } from "../../json/any.js";
import { parseEnvelope } from "../../json/envelope.js";
import { parseJsonObject } from "../../json/json-stream.js";
import { messageFromJson } from "../../json/message-json.js";
import { receiveListener } from "../call-context.js";
import { toConnectError } from "../call-failure.js";
import { createConnector } from "../connector.js";
import { methodName } from "../method.js";
import { createTlsSource } from "../tls-source.js";
import { type TransportSettings, USER_AGENT, WEBSOCKET_PING_MS } from "../transport-types.js";
import { HEADER_LIMITS, headersOf } from "./response-headers.js";
import { errorFromObject, errorFromResponse } from "./rest-error.js";
import { type JsonOptions, openResponse, wrapField } from "./rest-response.js";

/** Opens WebSockets to one server. */
export interface WebSocketClient {
  open(target: string, header: Headers, signal: AbortSignal): Promise<MessageSocket | IncomingMessage>;
  /** Closes all sockets. */
  close(): void;
}

interface MessageSocket {
  /** The response that opened it. */
  readonly opening: IncomingMessage;
  /**
   * The messages that arrive. While they are not read, the sender is held back. They fail if the other side closes the
   * socket, even normally, because no call ends this way.
   */
  readonly frames: AsyncIterable<Uint8Array>;
  /** Sends a text message. Resolves to `true` when another one may be sent, and to `false` when the socket is closed. */
  send(text: string): Promise<boolean>;
  /** Closes the socket: no frame arrives any more, and the other side is notified. */
  close(): void;
}

/** Options of {@link createWebSocketClient}. */
export interface WebSocketSettings extends TransportSettings {
  /** The maximum size of a frame, in bytes. */
  readonly maxJsonBytes: number;
  /** The time between two pings, in milliseconds. */
  readonly pingMs?: number;
}

/**
 * Creates a client that opens WebSockets at the gateway, with the TLS options and the time limit of its connections.
 *
 * @throws {@link FileError} if a file of `config.tls` cannot be read
 */
export function createWebSocketClient(
  config: RestConfig,
  { connectMs, proxy, maxJsonBytes, pingMs = WEBSOCKET_PING_MS, tls = createTlsSource(config.tls) }: WebSocketSettings,
): WebSocketClient {
  const { url } = config;
  const { origin } = new URL(url.replace(/^http/i, "ws"));
  const connector = createConnector({ url, tls, proxy, connectMs, protocol: "http/1.1" });
  const openSockets = new Set<(reason: Error) => void>();

  /** Opens a connection, which is abandoned if the signal is aborted or the client is closed. */
  async function connect(signal: AbortSignal): Promise<Socket> {
    const opening = new AbortController();
    const fail = (reason: Error) => opening.abort(reason);
    const abort = () => fail(new Error("aborted", { cause: signal.reason }));
    openSockets.add(fail);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await connector.open({ signal: opening.signal });
    } finally {
      openSockets.delete(fail);
      signal.removeEventListener("abort", abort);
    }
  }

  return {
    async open(target, header, signal) {
      signal.throwIfAborted();
      const begin = monotonicMs();
      const connection = await connect(signal);
      return new Promise((resolve, reject) => {
        const socket = new WebSocket(`${origin}${target}`, {
          createConnection: () => connection,
          headers: { "user-agent": USER_AGENT, ...Object.fromEntries(header) },
          perMessageDeflate: false,
          maxPayload: maxJsonBytes,
          maxHeaderSize: HEADER_LIMITS.maxHeaderSize,
          finishRequest(request) {
            request.maxHeadersCount = HEADER_LIMITS.maxHeadersCount;
            request.end();
          },
        });
        let close = () => socket.terminate();
        const fail = (reason: Error) => {
          reject(reason);
          close();
        };
        const done = () => {
          stopTimer();
          signal.removeEventListener("abort", abort);
          openSockets.delete(fail);
        };
        const abort = () => fail(new Error("aborted", { cause: signal.reason }));
        const leftMs = Math.max(connectMs - (monotonicMs() - begin), 1);
        const stopTimer = startAwakeTimer(() => fail(notOpenInTime(url)), leftMs);
        openSockets.add(fail);
        signal.addEventListener("abort", abort, { once: true });
        socket.on("close", done);
        socket.on("error", (reason) => {
          const error = handshakeError(reason);
          reject(connection.bytesRead > 0 ? error : markNothingReceived(error));
        });
        socket.on("unexpected-response", (_, response) => {
          response.on("error", () => undefined); // The body's reader gets it.
          response.on("close", () => {
            done();
            connection.destroy(); // Nobody else closes it.
          });
          resolve(response);
        });
        socket.on("upgrade", (opening) => {
          const messages = createMessageSocket(socket, opening, {
            pingMs,
            maxBytes: maxJsonBytes,
            bytesRead: () => connection.bytesRead,
          });
          socket.once("open", () => {
            stopTimer();
            ({ close } = messages);
            resolve(messages);
          });
        });
      });
    },
    close() {
      for (const fail of openSockets) {
        fail(Object.assign(new Error("the transport was closed"), { code: "ECONNRESET" }));
      }
    },
  };
}

/** Returns the error of a socket that connected but did not open. The request to open it may have arrived. */
function notOpenInTime(url: string): ConnectionError {
  return new ConnectionError("the WebSocket did not open in time", {
    code: Code.Unavailable,
    notes: [url],
    advice: "Check the URL, and that proxies in front of it allow WebSockets.",
    connected: true,
  });
}

/** Converts the error of a response that does not open a WebSocket. The errors of ws for it have no code. */
function handshakeError(reason: Error): Error {
  return "code" in reason ? reason : responseError(INVALID_HANDSHAKE, { suffix: `: ${reason.message}`, cause: reason });
}

/** The codes of ws for a message that is too large, or that has too many fragments. */
const TOO_LARGE_CODES: ReadonlySet<string> = new Set([
  "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH",
  "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH",
  "WS_ERR_TOO_MANY_BUFFERED_PARTS",
]);

/** The code of a normal close. */
const NORMAL_CLOSE = 1000;
/** The time limit for the other side's reply to a close, in milliseconds. */
const CLOSE_REPLY_MS = 1000;

interface MessageSocketOptions {
  readonly pingMs: number;
  readonly maxBytes: number;
  /** Returns the number of bytes that the connection has received. */
  bytesRead(): number;
}

/**
 * Creates a message socket from a WebSocket that is about to open. A server that sends nothing between two pings, not even
 * a pong, is gone.
 */
function createMessageSocket(
  socket: WebSocket,
  opening: IncomingMessage,
  { pingMs, maxBytes, bytesRead }: MessageSocketOptions,
): MessageSocket {
  const unread: Uint8Array[] = [];
  let failure: Error | undefined;
  let wake = () => {};
  const fail = (reason: Error) => {
    failure ??= reason;
    socket.terminate();
  };
  const stopPings = startPings(socket, pingMs, bytesRead, () => fail(connectionReset("a ping was not answered")));

  socket.on("message", (data) => {
    if (Buffer.isBuffer(data)) {
      unread.push(data); // By default, all messages have this type.
    }
    socket.pause(); // What remains of the last read still arrives.
    wake();
  });
  socket.on("error", (reason) => fail(frameError(reason, maxBytes)));
  socket.on("close", () => {
    stopPings();
    fail(connectionReset("the socket was closed"));
    wake();
  });

  async function* frames(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const frame = unread.shift();
      if (frame !== undefined) {
        yield frame;
      } else if (failure !== undefined) {
        throw failure;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
          socket.resume();
        });
      }
    }
  }

  return {
    opening,
    frames: frames(),
    send: (text) => new Promise((resolve) => socket.send(text, (error) => resolve(!isError(error)))),
    close() {
      failure ??= connectionReset("the socket was closed");
      wake();
      socket.removeAllListeners("message");
      socket.resume(); // The reply to the close follows the unread messages.
      socket.close(NORMAL_CLOSE);
      socket.once(
        "close",
        startTimer(() => socket.terminate(), CLOSE_REPLY_MS, { ref: false }),
      );
    },
  };
}

/** Pings a WebSocket periodically; returns a function that stops it. A paused socket receives no pongs. */
function startPings(socket: WebSocket, pingMs: number, bytesRead: () => number, onSilence: () => void): () => void {
  let bytesAtPing = -1;
  let stopTimer = startAwakeTimer(ping, pingMs, { ref: false });
  function ping(): void {
    const bytes = socket.isPaused ? -1 : bytesRead();
    if (!socket.isPaused && bytes === bytesAtPing) {
      onSilence();
      return;
    }
    bytesAtPing = bytes;
    socket.ping();
    stopTimer = startAwakeTimer(ping, pingMs, { ref: false });
  }
  return () => stopTimer();
}

function connectionReset(message: string): Error {
  return Object.assign(new Error(message), { code: "ECONNRESET" });
}

function frameError(reason: Error, maxBytes: number): Error {
  const code = "code" in reason ? String(reason.code) : "";
  if (TOO_LARGE_CODES.has(code)) {
    return responseError(messageTooLarge("limits.maxJsonBytes", maxBytes), { cause: reason });
  }
  return code.startsWith("WS_ERR_")
    ? responseError(INVALID_FRAME, { suffix: `: ${reason.message}`, cause: reason })
    : reason;
}

/** An open WebSocket of a call. */
export interface CallSocket extends MessageSocket {
  /** The header of the response that opened it. */
  readonly header: Headers;
  /** Called for each frame. */
  readonly onReceive: () => void;
}

/**
 * Returns the target of a call whose requests stream.
 *
 * @throws {@link RequestError} if the path contains fields of the request
 */
export function webSocketTarget({ template, verb }: HttpBinding): string {
  if (template.variables.length > 0) {
    throw new RequestError(
      `the path ${template.text} contains fields of the request, but the method streams its requests`,
      {
        errorCode: "TW_NOT_OVER_REST",
        advice: "Call this method over gRPC.",
      },
    );
  }
  return `${expandPath(template, [])}${verb === "GET" ? "" : `?method=${encodeURIComponent(verb)}`}`;
}

/**
 * Opens a WebSocket for a call.
 *
 * @throws the error of a response that does not open a WebSocket
 */
export async function openCallSocket(
  client: WebSocketClient,
  target: string,
  { method, header, signal, contextValues }: Pick<StreamRequest, "method" | "header" | "signal" | "contextValues">,
): Promise<CallSocket> {
  const onReceive = receiveListener(contextValues);
  const opened = await client.open(target, header, signal);
  if (!("frames" in opened)) {
    const { statusCode = 0 } = opened;
    const fault = noWebSocket(serverOf(methodName(method)));
    if (statusCode < 300) {
      opened.destroy();
      throw responseError(fault, { suffix: `: HTTP ${statusCode}` });
    }
    const response = openResponse(opened, onReceive);
    const error = await errorFromResponse(statusCode, { ...response, body: ignoreErrors(response.body) });
    throw NO_UPGRADE.has(statusCode) ? responseError(fault, { suffix: `: ${error.rawMessage}`, cause: error }) : error;
  }
  onReceive();
  return { ...opened, header: headersOf(opened.opening.headersDistinct), onReceive };
}

/** The statuses of a gateway that offers no WebSocket for a path: a WebSocket proxy opens one regardless of the call's result. */
const NO_UPGRADE: ReadonlySet<number> = new Set([404, 405, 426, 501]);

/** Returns a body that ends where it fails. The status says enough. */
async function* ignoreErrors(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch {}
}

/** A call over a WebSocket. */
export interface WebSocketCall<I extends DescMessage, O extends DescMessage> {
  readonly method: DescMethod & { readonly input: I; readonly output: O };
  readonly rule: HttpBinding;
  readonly socket: CallSocket;
  /**
   * The requests, which are sent as they come. The call continues after them, because a WebSocket has no half-close.
   */
  readonly requests: AsyncIterable<MessageShape<I>>;
  readonly options: Pick<JsonOptions, "registry">;
}

/**
 * Sends the requests of a call, and reads its messages at the same time. The socket is closed when they are no longer read.
 *
 * @throws ConnectError for the node's error, for a socket that was closed, and for an error of `requests`
 */
export async function* webSocketMessages<I extends DescMessage, O extends DescMessage>(
  call: WebSocketCall<I, O>,
): AsyncGenerator<MessageShape<O>> {
  const { method, rule, socket, options } = call;
  let requestError: { readonly reason: unknown } | undefined;
  sendRequests(call).catch((reason: unknown) => {
    requestError = { reason };
    socket.close();
  });
  try {
    for await (const frame of socket.frames) {
      socket.onReceive();
      const json = parseJsonObject(frame);
      const { result, error } = parseEnvelope(json);
      if (error !== undefined) {
        throw errorFromObject(error, socket.header);
      }
      yield messageFromJson(method.output, wrapField(rule, result), options.registry, sizeOf(json));
    }
  } catch (reason) {
    throw toConnectError(requestError === undefined ? reason : requestError.reason);
  } finally {
    socket.close();
  }
}

async function sendRequests<I extends DescMessage, O extends DescMessage>({
  method: { input },
  socket,
  requests,
  options: { registry = knownTypes },
}: WebSocketCall<I, O>): Promise<void> {
  for await (const request of requests) {
    if (!(await socket.send(JSON.stringify(requestJson(input, request, registry))))) {
      return; // The frames report why.
    }
  }
}
