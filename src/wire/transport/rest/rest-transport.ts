import { create, type DescMessage, type DescMethod, type MessageShape } from "@bufbuild/protobuf";
import { ConnectError, type StreamRequest } from "@connectrpc/connect";
import { REQUESTS_STREAM_ALONE, responseError } from "../../../base/errors/call-errors.js";
import { Code } from "../../../base/errors/code.js";
import { RequestError } from "../../../base/errors/index.js";
import type { RestConfig } from "../../config/client-config.js";
import { createFirstHttpCall } from "../../http-rule/http-call.js";
import { type HttpBinding, hasRawResponse, httpBindings } from "../../http-rule/http-rule.js";
import { beforeSendKey, maxWaitKey, ownLimitMs, receiveListener } from "../call-context.js";
import { toConnectError, withConnectErrors } from "../call-failure.js";
import { formatTimeout } from "../grpc-headers.js";
import { type StreamCall, transportOf } from "../layered.js";
import { methodName } from "../method.js";
import { Cancellation, runStreaming } from "../run-call.js";
import { type ClosableTransport, type HeaderInit, type TransportSettings, USER_AGENT } from "../transport-types.js";
import type { ResponseHead } from "./response-headers.js";
import { errorFromResponse, MAX_ERROR_BYTES } from "./rest-error.js";
import {
  ACCEPTED_ENCODINGS,
  isSuccess,
  openCompleteResponse,
  openResponse,
  readResponseMessage,
  readResponseMessages,
  successLimit,
} from "./rest-response.js";
import { createStreamingClient } from "./streaming-client.js";
import { createUnaryClient } from "./unary-client.js";
import { createWebSocketClient, openCallSocket, webSocketMessages, webSocketTarget } from "./websocket.js";

/** The content type of a raw body without one. */
const DEFAULT_CONTENT_TYPE = "application/octet-stream";

/**
 * Creates a Connect transport over the HTTP gateway on HTTP/1.1, without the layers around it.
 *
 * The `google.api.http` option of a method defines how it is called. The gateway answers a streaming method with JSON
 * objects `{"result": ...}` or `{"error": ...}`, or in the format of `config.streams`. It may answer a method that streams
 * `google.api.HttpBody` with the body itself, whose parts are then messages with the body's content type and no extensions.
 *
 * @throws `FileError` if a file of `config.tls` cannot be read
 */
export function createRawRestTransport(
  config: RestConfig,
  options: TransportSettings & { readonly maxJsonBytes: number },
): ClosableTransport {
  const prefix = new URL(config.url).pathname.replace(/\/$/, "");
  const streamingClient = createStreamingClient(config, options);
  const webSockets = createWebSocketClient(config, options);
  const unaryClient = createUnaryClient(config, options);
  const { maxJsonBytes: maxBytes, registry } = options;
  const json = { maxBytes, registry, streams: config.streams, jsonAsText: config.jsonAsText };
  const limit = (head: ResponseHead, isRaw: boolean) =>
    isSuccess(head.status) ? successLimit(head, isRaw, json) : MAX_ERROR_BYTES;
  const rawLimit = (head: ResponseHead) => limit(head, true);
  const jsonLimit = (head: ResponseHead) => limit(head, false);

  function write(
    method: DescMethod,
    header: HeaderInit,
    timeoutMs: number | undefined,
    message: MessageShape<DescMessage>,
  ) {
    const { call, rule } = createFirstHttpCall(method.input, bindings(method), message, registry) ?? noBinding(method);
    const { verb, raw } = call;
    const body = raw?.data ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
    const isRaw = hasRawResponse(method.output, rule);
    const headers: Record<string, string> = {
      accept: isRaw ? "*/*" : "application/json",
      "user-agent": USER_AGENT,
    };
    if (header !== undefined) {
      new Headers(header).forEach((value, name) => {
        headers[name] = value;
      });
    }
    if (body !== undefined) {
      headers["content-type"] = raw === undefined ? "application/json" : raw.contentType || DEFAULT_CONTENT_TYPE;
    }
    if (timeoutMs !== undefined && timeoutMs > 0) {
      headers["grpc-timeout"] = formatTimeout(timeoutMs);
    }
    headers["accept-encoding"] = isRaw ? "identity" : ACCEPTED_ENCODINGS; // Compression makes an archive no smaller.
    return { rule, isRaw, verb, target: `${prefix}${call.target}`, headers, body };
  }

  /** Calls a method whose responses stream, but not its requests. */
  async function stream<I extends DescMessage, O extends DescMessage>(
    req: StreamRequest<I, O>,
    timeoutMs: number | undefined,
  ) {
    const { method, header, signal, message, contextValues } = req;
    const { rule, ...request } = write(method, header, timeoutMs, await firstMessage(message));
    const received = await streamingClient.send({ ...request, signal });
    const response = openResponse(received, receiveListener(contextValues));
    if (!isSuccess(response.status)) {
      throw await errorFromResponse(response.status, response);
    }
    return { header: response.header, message: readResponseMessages(method.output, rule, response, json) };
  }

  /** Calls a method whose requests and responses stream. */
  async function converse<I extends DescMessage, O extends DescMessage>(req: StreamRequest<I, O>) {
    const { method, message: requests } = req;
    const [first = noBinding(method), ...others] = bindings(method);
    const rule = [first, ...others].find(({ verb }) => verb === "GET") ?? first;
    const socket = await openCallSocket(webSockets, `${prefix}${webSocketTarget(rule)}`, req);
    return { header: socket.header, message: webSocketMessages({ method, rule, socket, requests, options: json }) };
  }

  return transportOf({
    async unary({ method, signal, timeoutMs, header, message, contextValues }) {
      const cancellation = new Cancellation(signal, ownLimitMs(timeoutMs, contextValues));
      try {
        const { rule, isRaw, verb, target, headers, body } = write(
          method,
          header,
          timeoutMs,
          create(method.input, message),
        );
        const received = await unaryClient.call({
          verb,
          target,
          headers,
          body,
          cancellation,
          maxWaitMs: contextValues.get(maxWaitKey),
          beforeSend: contextValues.get(beforeSendKey),
          bodyLimit: isRaw ? rawLimit : jsonLimit,
        });
        const response = openCompleteResponse(received);
        if (!isSuccess(response.status)) {
          throw await errorFromResponse(response.status, response);
        }
        const read = readResponseMessage(method.output, rule, response, json);
        return {
          stream: false,
          service: method.parent,
          method,
          header: response.header,
          message: read instanceof Promise ? await read : read,
          trailer: new Headers(),
        };
      } catch (reason) {
        throw cancellation.errorOf(reason);
      } finally {
        cancellation.end();
      }
    },

    async stream<I extends DescMessage, O extends DescMessage>(call: StreamCall<I, O>) {
      const { method, signal, timeoutMs, header, message: input, contextValues } = call;
      const request = requestOf(config, method, header);
      if (method.methodKind === "client_streaming") {
        throw toConnectError(responseError(REQUESTS_STREAM_ALONE));
      }
      return runStreaming<I, O>({
        signal,
        timeoutMs,
        req: { stream: true, ...request, method, contextValues, message: input },
        next: (req) =>
          withConnectErrors(async () => {
            const { header, message } =
              method.methodKind === "bidi_streaming" ? await converse<I, O>(req) : await stream<I, O>(req, timeoutMs);
            return { ...req, header, message, trailer: new Headers() };
          }),
      });
    },

    async close() {
      streamingClient.close();
      unaryClient.close();
      webSockets.close();
    },
  });
}

function bindings(method: DescMethod): readonly HttpBinding[] {
  try {
    return httpBindings(method);
  } catch (cause) {
    const summary = `invalid HTTP rule of ${methodName(method)}: ${cause instanceof Error ? cause.message : cause}`;
    throw toConnectError(
      new RequestError(summary, { advice: "Call the method over gRPC, or correct the definitions.", cause }),
    );
  }
}

function noBinding(method: DescMethod): never {
  throw toConnectError(
    new RequestError(`${methodName(method)} has no HTTP rule, so it cannot be called over REST`, {
      errorCode: "TW_NOT_OVER_REST",
      advice: "Call the method over gRPC.",
    }),
  );
}

/** Returns the parts of a request that Connect's interceptors see, by the main HTTP rule of its method. */
function requestOf(config: RestConfig, method: DescMethod, header: HeaderInit) {
  const { verb, template } = bindings(method)[0] ?? noBinding(method);
  const url = `${config.url}${template.text}`;
  return { service: method.parent, requestMethod: verb, url, header: new Headers(header) };
}

async function firstMessage<T>(messages: AsyncIterable<T>): Promise<T> {
  for await (const message of messages) {
    return message;
  }
  throw new ConnectError("the call has no request message", Code.InvalidArgument);
}
