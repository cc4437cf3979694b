import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  isMessage,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import { TradewireError } from "../errors/index.js";
import { answersRaw, type HttpBinding, type HttpCall, httpBindings, responsePart } from "../http-rule/http-rule.js";
import { readCall } from "../http-rule/read-call.js";
import { httpStatusFromCode } from "../http-rule/status.js";
import { anyToObject, knownTypes } from "../json/any.js";
import { errorObject } from "../json/error-object.js";
import { isJsonObject } from "../json/values.js";

/** The largest request body that is read, in bytes. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const NDJSON = "application/x-ndjson";

/**
 * Create an HTTP gateway in front of a transport. It answers as the gateways of deployed nodes do.
 *
 * The methods' `google.api.http` options say which path leads to which method. JSON answers carry every field, defaults
 * included. Where a request or its body is a `google.api.HttpBody`, the bytes are taken as they come; a method that answers
 * or streams one is answered with the body itself. Other streaming methods, and
 * any request that accepts `application/x-ndjson`, are answered with one JSON envelope a line. An error after the first
 * byte is appended as a JSON object (specification, 7), because the status has been sent by then.
 *
 * @param transport answers the calls
 * @param services the services whose methods the gateway offers
 * @returns a request listener for Node's HTTP server
 */
export function createGateway(transport: Transport, services: readonly DescService[]): RequestListener {
  // Deployed gateways take the last that fits: /api/v2/node/signatures is no node. A path that ends in a colon and a
  // verb also matches templates without it, or with less of it: those come later.
  const routes = services
    .flatMap(({ methods }) => methods.flatMap((method) => httpBindings(method).map((rule) => ({ method, rule }))))
    .toReversed()
    .toSorted((a, b) => b.rule.template.verb.length - a.rule.template.verb.length);

  async function answer(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const verb = request.method ?? "GET";
    const body = await readBody(request);
    const call = Object.assign(body, { verb, target: request.url ?? "/" });
    for (const { method, rule } of routes) {
      const message = readCall(method.input, rule, call);
      if (message !== undefined) {
        await callMethod(method, rule, message, request, response, signal);
        return;
      }
    }
    throw new ConnectError("Not Found", Code.NotFound);
  }

  async function callMethod(
    method: DescMethod,
    rule: HttpBinding,
    message: MessageShape<DescMessage>,
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    if (isUnary(method)) {
      const { header, message: output } = await transport.unary(method, signal, undefined, undefined, message);
      if (isMessage(output, HttpBodySchema)) {
        await send(request, response, 200, header, output.contentType, [output.data]);
        return;
      }
      const part = responsePart(method.output, rule, messageJson(method.output, output));
      if (answersRaw(method.output, rule)) {
        const { contentType, data } = isJsonObject(part) ? part : {};
        await send(request, response, 200, header, String(contentType ?? ""), [
          Buffer.from(String(data ?? ""), "base64"),
        ]);
        return;
      }
      await send(request, response, 200, header, "application/json", [JSON.stringify(part)]);
      return;
    }
    if (!isStreaming(method)) {
      throw new ConnectError("Method Not Allowed", Code.Unimplemented);
    }
    const input = createAsyncIterable([message]);
    const { header, message: outputs } = await transport.stream(method, signal, undefined, undefined, input);
    await stream(method, rule, outputs, header, request, response);
  }

  return async (request, response) => {
    const abort = new AbortController();
    response.on("close", () => abort.abort());
    try {
      await answer(request, response, abort.signal).catch((reason: unknown) => {
        if (response.headersSent) {
          throw reason;
        }
        return sendError(request, response, reason, (error) => error);
      });
    } catch {
      response.destroy(); // The client has gone, or the answer cannot be completed.
    }
  };
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

/** A gateway over HTTP/1.1 can stream answers but not requests. */
function isStreaming(method: DescMethod): method is DescMethodServerStreaming {
  return method.methodKind === "server_streaming";
}

async function stream(
  method: DescMethod,
  rule: HttpBinding,
  outputs: AsyncIterable<MessageShape<DescMessage>>,
  header: Headers,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const ndjson = (request.headers.accept ?? "").includes(NDJSON);
  const raw = method.output.typeName === HttpBodySchema.typeName && !ndjson;
  const iterator = outputs[Symbol.asyncIterator]();
  let next: IteratorResult<MessageShape<DescMessage>>;
  try {
    next = await iterator.next();
  } catch (reason) {
    await sendError(request, response, reason, (error) => ({ error }));
    return;
  }
  async function* body(): AsyncGenerator<Uint8Array | string> {
    try {
      for (; next.done !== true; next = await iterator.next()) {
        const output = next.value;
        const part = () => responsePart(method.output, rule, messageJson(method.output, output));
        const json = () => `${JSON.stringify({ result: part() })}\n`;
        yield raw && isMessage(output, HttpBodySchema) ? output.data : json();
      }
    } catch (reason) {
      // The status has been sent, so the error can only be appended.
      yield `${JSON.stringify({ error: errorJson(reason) })}${raw ? "" : "\n"}`;
    }
  }
  const first = next.done === true ? undefined : next.value;
  const rawType = raw && isMessage(first, HttpBodySchema) ? first.contentType : "application/json";
  await send(request, response, 200, header, ndjson ? NDJSON : rawType, body());
}

/** Send a response, as fast as the client takes it. */
async function send(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  header: Headers,
  contentType: string,
  body: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>,
): Promise<void> {
  const disposition = header.get("content-disposition");
  if (disposition !== null) {
    response.setHeader("content-disposition", disposition);
  }
  response.setHeader("content-type", contentType);
  response.setHeader("vary", "accept-encoding");
  response.statusCode = status;
  if (acceptsGzip(String(request.headers["accept-encoding"] ?? ""))) {
    response.setHeader("content-encoding", "gzip");
    await pipeline(body, createGzip(), response);
  } else {
    await pipeline(body, response);
  }
}

function acceptsGzip(acceptEncoding: string): boolean {
  return acceptEncoding.split(",").some((coding) => /^\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*$)|$)/i.test(coding));
}

async function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  reason: unknown,
  wrap: (error: JsonValue) => JsonValue,
): Promise<void> {
  const error = errorJson(reason);
  const text = JSON.stringify(wrap(error));
  await send(request, response, httpStatusFromCode(error.code), new Headers(), "application/json", [text]);
}

function errorJson(reason: unknown) {
  const error =
    reason instanceof TradewireError ? new ConnectError(reason.summary, reason.code) : ConnectError.from(reason);
  const { code, message, details } = errorObject(error);
  return { code, message, details: details.map((detail) => ({ ...detail })) };
}

function messageJson(desc: DescMessage, message: MessageShape<DescMessage>): JsonValue {
  if (isMessage(message, HttpBodySchema)) {
    const { contentType, data, extensions } = message;
    // Buffer encodes base64 much faster than toJson does.
    const base64 = Buffer.from(data.buffer, data.byteOffset, data.length).toString("base64");
    return { contentType, data: base64, extensions: extensions.map((any) => ({ ...anyToObject(any) })) };
  }
  return toJson(desc, message, { registry: knownTypes, alwaysEmitImplicit: true });
}

/** Read the body. Whether it is JSON depends on the method, so it is parsed when it is asked for. */
async function readBody(request: IncomingMessage): Promise<Pick<HttpCall, "body" | "raw">> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of request) {
    pieces.push(piece);
    size += piece.length;
    if (size > MAX_BODY_BYTES) {
      throw new ConnectError(`the body is larger than ${MAX_BODY_BYTES} bytes`, Code.ResourceExhausted);
    }
  }
  const bytes = Buffer.concat(pieces);
  const contentType = request.headers["content-type"];
  return {
    ...((size > 0 || contentType !== undefined) && {
      raw: create(HttpBodySchema, { contentType: contentType ?? "", data: bytes }),
    }),
    get body() {
      return bytes.length === 0 ? undefined : parseBody(bytes);
    },
  };
}

function parseBody(bytes: Buffer): JsonValue {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    throw new ConnectError("the body is not valid JSON", Code.InvalidArgument);
  }
}
