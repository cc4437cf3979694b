import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError, createContextValues, type StreamRequest } from "@connectrpc/connect";
import type { RestConfig } from "../../config/schema.js";
import { RequestError } from "../../errors/index.js";
import { answersRaw, type HttpBinding, httpBindings } from "../../http-rule/http-rule.js";
import { writeFirstCall } from "../../http-rule/write-call.js";
import { arrivalOf } from "../arrival.js";
import { asConnectError, connectError, type HeaderInit } from "../bare-call.js";
import type { ClosableTransport, TransportSettings } from "../closable.js";
import { methodName } from "../method-name.js";
import { runStreaming } from "../run-streaming.js";
import { untilEnd } from "../until-end.js";
import type { CallClient } from "./call-client.js";
import { errorFromResponse, MAX_ERROR_BYTES } from "./error.js";
import { createHttpClient } from "./http-client.js";
import { isSuccess, openResponse, openWhole, responseMessage, successLimit } from "./response.js";
import { createSocketClient } from "./socket.js";
import { openSocket, socketMessages, socketTarget } from "./socket-call.js";
import { responseMessages } from "./stream.js";

/** The content type of bytes that have none. */
const OCTETS = "application/octet-stream";

/**
 * Make a Connect transport over the HTTP gateway (specification, 4), on HTTP/1.1.
 *
 * The `google.api.http` option of a method says how it is called. The gateway answers a method that streams with JSON
 * objects `{"result": ...}` or `{"error": ...}`, or as `config.streams` says. It may answer one that streams
 * `google.api.HttpBody` with the body itself, whose pieces are then messages with the body's content type and no
 * extensions.
 *
 * @param config where the gateway is, and how its connections are
 * @param options the largest JSON object that is read, in bytes, and the longest time to connect, in milliseconds
 * @returns the transport; its failures are Connect errors
 * @throws `FileError` where a file of `config.tls` cannot be read
 */
export function createRestTransport(
  config: RestConfig,
  options: TransportSettings & { readonly maxJsonBytes: number },
): ClosableTransport {
  const prefix = new URL(config.url).pathname.replace(/\/$/, "");
  const client = createHttpClient(config, options);
  const sockets = createSocketClient(config, options);
  let calls: CallClient | undefined;
  let closed = false;
  const { maxJsonBytes: maxBytes, registry } = options;
  const json = { maxBytes, registry, streams: config.streams, jsonAsText: config.jsonAsText };

  /** Make the client of calls that do not stream. An export needs none. */
  async function loadCalls(): Promise<CallClient> {
    const { createCallClient } = await import("./call-client.js");
    calls ??= createCallClient(config, options);
    if (closed) {
      calls.close();
    }
    return calls;
  }

  /** Write a call by the first way that fits. */
  function write(method: DescMethod, given: HeaderInit, message: MessageShape<DescMessage>) {
    const { call, rule } = writeFirstCall(method.input, bindings(method), message, registry) ?? noBinding(method);
    const { verb, raw } = call;
    const body = raw?.data ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
    const isRaw = answersRaw(method.output, rule);
    const headers: Record<string, string> = { accept: isRaw ? "*/*" : "application/json" };
    (given instanceof Headers ? given : new Headers(given)).forEach((value, name) => {
      headers[name] = value;
    });
    if (body !== undefined) {
      headers["content-type"] = raw === undefined ? "application/json" : raw.contentType || OCTETS;
    }
    headers["accept-encoding"] = "identity"; // An archive gains nothing from compression.
    return { rule, isRaw, verb, target: `${prefix}${call.target}`, headers, body };
  }

  /** Call a method that streams its answers alone. */
  async function stream<I extends DescMessage, O extends DescMessage>(req: StreamRequest<I, O>) {
    const { method, header, signal, message, contextValues } = req;
    const { rule, ...request } = write(method, header, await onlyMessage(message));
    const answer = await client.send({ ...request, signal });
    const response = openResponse(answer, arrivalOf(contextValues));
    if (!isSuccess(answer.statusCode)) {
      throw await errorFromResponse(answer.statusCode ?? 0, response);
    }
    return { header: response.header, message: responseMessages(method.output, rule, response, json) };
  }

  /** Call a method that streams both ways. */
  async function converse<I extends DescMessage, O extends DescMessage>(req: StreamRequest<I, O>) {
    const { method, message: requests } = req;
    const [first = noBinding(method), ...others] = bindings(method);
    const rule = [first, ...others].find(({ verb }) => verb === "GET") ?? first;
    const socket = await openSocket(sockets, `${prefix}${socketTarget(rule)}`, req);
    return { header: socket.header, message: socketMessages({ method, rule, socket, requests, reading: json }) };
  }

  return {
    async unary<I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: HeaderInit,
      message: MessageInitShape<I>,
    ) {
      return untilEnd(signal, timeoutMs, async (ending) => {
        const { rule, isRaw, verb, target, headers, body } = write(method, header, create(method.input, message));
        const answer = await (calls ?? (await loadCalls())).call({
          verb,
          target,
          headers,
          body,
          ending,
          bodyLimit: (status, fields) => (isSuccess(status) ? successLimit(fields, isRaw, json) : MAX_ERROR_BYTES),
        });
        const response = openWhole(answer);
        if (!isSuccess(answer.status)) {
          throw await errorFromResponse(answer.status, response);
        }
        return {
          stream: false,
          service: method.parent,
          method,
          header: response.header,
          message: await responseMessage(method.output, rule, response, json),
          trailer: new Headers(),
        };
      });
    },

    async stream<I extends DescMessage, O extends DescMessage>(
      method: DescMethodStreaming<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: HeaderInit,
      input: AsyncIterable<MessageInitShape<I>>,
      contextValues = createContextValues(),
    ) {
      const request = requestOf(config, method, header);
      if (method.methodKind === "client_streaming") {
        throw new ConnectError(
          `${method.name} streams its requests alone, which the gateway cannot`,
          Code.Unimplemented,
        );
      }
      return runStreaming<I, O>({
        signal,
        timeoutMs,
        req: { stream: true, ...request, method, contextValues, message: input },
        next: (req) =>
          asConnectError(async () => {
            const { header, message } =
              method.methodKind === "bidi_streaming" ? await converse<I, O>(req) : await stream<I, O>(req);
            return { ...req, header, message, trailer: new Headers() };
          }),
      });
    },

    async close() {
      closed = true;
      client.close();
      calls?.close();
      sockets.close();
    },
  };
}

function bindings(method: DescMethod): readonly HttpBinding[] {
  try {
    return httpBindings(method);
  } catch (cause) {
    const summary = `the HTTP rule of ${methodName(method)} cannot be followed: ${cause instanceof Error ? cause.message : cause}`;
    throw connectError(new RequestError(summary, { advice: "Call it over gRPC, or correct the definitions.", cause }));
  }
}

function noBinding(method: DescMethod): never {
  throw connectError(
    new RequestError(`${methodName(method)} has no HTTP rule, so it cannot be called over REST`, {
      advice: "Call it over gRPC.",
    }),
  );
}

/** What Connect's interceptors are told of a call, by the main way to call its method. */
function requestOf(config: RestConfig, method: DescMethod, given: HeaderInit) {
  const { verb, template } = bindings(method)[0] ?? noBinding(method);
  const url = `${config.url}${template.text}`;
  return { service: method.parent, requestMethod: verb, url, header: new Headers(given) };
}

async function onlyMessage<T>(messages: AsyncIterable<T>): Promise<T> {
  for await (const message of messages) {
    return message;
  }
  throw new ConnectError("the call has no request message", Code.InvalidArgument);
}
