import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  isMessage,
  type JsonValue,
  type Message,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import { TradewireError } from "../errors/index.js";
import { parseHttpCall } from "../http-rule/http-call.js";
import { type HttpBinding, type HttpCall, hasRawResponse, httpBindings, responsePart } from "../http-rule/http-rule.js";
import { httpStatusFromCode } from "../http-rule/http-status.js";
import { matchPath } from "../http-rule/path-template.js";
import { anyToObject, knownTypes } from "../json/any.js";
import { toErrorObject } from "../json/envelope.js";
import { isJsonObject } from "../json/json-values.js";
import type { Profile } from "../schema/profile.js";

const NDJSON = "application/x-ndjson";
/** Below this path, JSON leaves defaults out and has enums as numbers. */
export const TERSE_PATH = "/api/v2/stream/";

/**
 * Create an HTTP gateway in front of a transport. It answers as the gateways of deployed nodes do.
 *
 * The methods' `google.api.http` options say which path leads to which method. JSON answers carry every field, defaults
 * included, except below `/api/v2/stream/`. Where a request or its body is a `google.api.HttpBody`, the bytes are taken
 * as they come; a method that answers or streams one is answered with the body itself. Other streaming methods, and
 * any request that accepts `application/x-ndjson`, are answered with one JSON envelope a line. An error after the first
 * byte is appended as a JSON object (specification, 7), because the status has been sent by then.
 *
 * @param transport answers the calls
 * @param services the services whose methods the gateway offers
 * @param profile with `deployed`, exports are answered with the archive whatever is accepted, and errors of calls that
 *   do not stream have two content types
 * @returns a request listener for Node's HTTP server
 */
export function createGateway(
  transport: Transport,
  services: readonly DescService[],
  profile: Profile = "specification",
): RequestListener {
  const routes = gatewayRoutes(services);

  async function answer(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const verb = request.method ?? "GET";
    const body = await readBody(request);
    const call = Object.assign(body, { verb, target: request.url ?? "/" });
    for (const { method, rule } of routes) {
      const message = parseHttpCall(method.input, rule, call, { knownEnums: true });
      if (message !== undefined) {
        await callMethod(method, rule, message, request, response, signal);
        return;
      }
    }
    const [path = ""] = call.target.split("?", 1);
    if (path === "/health" && call.verb === "GET") {
      await send(request, response, 200, new Headers(), "text/plain; charset=utf-8", ["ok"]);
      return;
    }
    throw routes.some(({ rule }) => matchPath(rule.template, path) !== undefined)
      ? new ConnectError("Method Not Allowed", Code.Unimplemented)
      : new ConnectError("Not Found", Code.NotFound);
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
      if (hasRawResponse(method.output, rule)) {
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
    const ndjson = profile === "specification" && (request.headers.accept ?? "").includes(NDJSON);
    await stream(method, rule, { outputs, header, ndjson }, request, response);
  }

  return async (request, response) => {
    const abort = new AbortController();
    response.on("close", () => abort.abort());
    try {
      await answer(request, response, abort.signal).catch((reason: unknown) => {
        if (response.headersSent || response.destroyed || request.socket.destroyed) {
          throw reason;
        }
        return sendError(request, response, reason, (error) => error, profile);
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
  {
    outputs,
    header,
    ndjson,
  }: {
    readonly outputs: AsyncIterable<MessageShape<DescMessage>>;
    readonly header: Headers;
    readonly ndjson: boolean;
  },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const raw = method.output.typeName === HttpBodySchema.typeName && !ndjson;
  const terse = rule.template.text.startsWith(TERSE_PATH);
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
        const part = () => responsePart(method.output, rule, messageJson(method.output, output, terse));
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

async function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  reason: unknown,
  wrap: (error: JsonValue) => JsonValue,
  profile: Profile = "specification",
): Promise<void> {
  const error = errorJson(reason);
  const text = JSON.stringify(wrap(error));
  const type = profile === "deployed" ? ["application/json", "application/json"] : "application/json";
  await send(request, response, httpStatusFromCode(error.code), new Headers(), type, [text]);
}

/**
 * Write an error as the gateway does.
 *
 * @param reason what was thrown
 * @returns its code, its message and its details
 */
export function errorJson(reason: unknown) {
  const error =
    reason instanceof TradewireError ? new ConnectError(reason.summary, reason.code) : ConnectError.from(reason);
  const { code, message, details } = toErrorObject(error);
  return { code, message, details: details.map((detail) => ({ ...detail })) };
}

/** The largest request that is read, over HTTP its body, in bytes. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * Read the body of a request. Whether it is JSON depends on the method, so it is parsed when it is asked for.
 *
 * @param request the request
 * @returns the body as bytes of its content type, where it has one, and a getter of the JSON in it
 * @throws ConnectError where the body is too large; the getter throws one where the body is not JSON
 */
export async function readBody(request: IncomingMessage): Promise<Pick<HttpCall, "body" | "raw">> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size <= MAX_BODY_BYTES) {
      pieces.push(piece);
    }
  }
  // Reading goes on to the end: a client that is cut off while it sends may lose the answer.
  if (size > MAX_BODY_BYTES) {
    throw new ConnectError(`the body is larger than ${MAX_BODY_BYTES} bytes`, Code.ResourceExhausted);
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

/**
 * Send a response, as fast as the client takes it, compressed where it accepts that.
 *
 * @param request the request that is answered
 * @param response the response
 * @param status the HTTP status
 * @param header the call's headers, of which the gateway passes on `content-disposition`
 * @param contentType the content type
 * @param body the body, in pieces
 */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  header: Headers,
  contentType: string | readonly string[],
  body: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>,
): Promise<void> {
  const disposition = header.get("content-disposition");
  if (disposition !== null) {
    response.setHeader("content-disposition", disposition);
  }
  if (!request.complete) {
    response.setHeader("connection", "close"); // The rest of the request is not read.
  }
  response.setHeader("content-type", contentType);
  response.appendHeader("vary", "accept-encoding");
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

/**
 * Write a message as a deployed gateway does: with every field, and `null` for messages that are not set. Below
 * `/api/v2/stream/` defaults are left out, and enums are numbers.
 *
 * @param desc the message's descriptor
 * @param message the message
 * @param terse whether it is written as below `/api/v2/stream/`
 * @returns the JSON
 */
export function messageJson(desc: DescMessage, message: Message, terse = false): JsonValue {
  if (isMessage(message, HttpBodySchema)) {
    const { contentType, data, extensions } = message;
    // Buffer encodes base64 much faster than toJson does.
    const base64 = Buffer.from(data.buffer, data.byteOffset, data.length).toString("base64");
    return { contentType, data: base64, extensions: extensions.map((any) => ({ ...anyToObject(any) })) };
  }
  const json = toJson(desc, message, { registry: knownTypes, alwaysEmitImplicit: !terse, enumAsInteger: terse });
  return terse ? json : withNulls(desc, json);
}

/** The JSON of a message, and `null` for the messages in it that are not set. */
function withNulls(desc: DescMessage, json: JsonValue): JsonValue {
  // The well-known types have a JSON of their own.
  if (!isJsonObject(json) || desc.typeName.startsWith("google.protobuf.")) {
    return json;
  }
  const written: Record<string, JsonValue> = { ...json };
  for (const field of desc.fields) {
    const value = written[field.jsonName];
    if (value !== undefined) {
      written[field.jsonName] = valueWithNulls(field, value);
    } else if (field.fieldKind === "message" && field.oneof === undefined && !field.proto.proto3Optional) {
      written[field.jsonName] = null;
    }
  }
  return written;
}

function valueWithNulls(field: DescField, value: JsonValue): JsonValue {
  if (field.fieldKind === "message") {
    return withNulls(field.message, value);
  }
  if (field.fieldKind === "list" && field.listKind === "message" && Array.isArray(value)) {
    return value.map((item) => withNulls(field.message, item));
  }
  if (field.fieldKind === "map" && field.mapKind === "message" && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withNulls(field.message, item)]));
  }
  return value;
}

/** A path of the gateway. */
export interface Route {
  readonly method: DescMethod;
  readonly rule: HttpBinding;
}

/**
 * List the paths of a gateway, in the order in which they are tried.
 *
 * @param services the services whose methods it offers
 * @returns the paths. Deployed gateways take the last that fits: `/api/v2/node/signatures` is no node. A path that ends in a
 *   colon and a verb also matches templates without it, or with less of it: those come later
 */
export function gatewayRoutes(services: readonly DescService[]): readonly Route[] {
  return services
    .flatMap(({ methods }) => methods.flatMap((method) => httpBindings(method).map((rule) => ({ method, rule }))))
    .toReversed()
    .toSorted((a, b) => b.rule.template.verb.length - a.rule.template.verb.length);
}

const METHODS = new Set(["HEAD", "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
/** How long browsers may keep the answer to a preflight request, in seconds: the default of core and data node. */
const MAX_AGE = "7200";

/**
 * Let pages of any origin read the answers of a gateway, as the gateways of core and data node do with their defaults:
 * `libs/http/cors.go`, `core/api/config.go` and `datanode/gateway/config.go` of v0.78.0, with github.com/rs/cors 1.8.3.
 *
 * Preflight requests (`OPTIONS` with `Access-Control-Request-Method`) are answered with 204, and never reach the gateway.
 *
 * @param gateway answers all other requests
 * @returns a request listener for Node's HTTP server
 */
export function withCors(gateway: RequestListener): RequestListener {
  return (request, response) => {
    const { origin = "" } = request.headers;
    const asked = request.headers["access-control-request-method"] ?? "";
    if (request.method !== "OPTIONS" || asked === "") {
      response.appendHeader("Vary", "Origin");
      if (origin !== "" && METHODS.has(request.method ?? "")) {
        response.setHeader("Access-Control-Allow-Origin", origin).setHeader("Access-Control-Expose-Headers", "*");
      }
      gateway(request, response);
      return;
    }
    response.setHeader("Vary", ["Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"]);
    if (origin !== "" && METHODS.has(asked.toUpperCase())) {
      const names = headerNames(request.headers["access-control-request-headers"] ?? "");
      response
        .setHeader("Access-Control-Allow-Origin", origin)
        .setHeader("Access-Control-Allow-Methods", asked.toUpperCase())
        .setHeader("Access-Control-Max-Age", MAX_AGE);
      if (names !== "") {
        response.setHeader("Access-Control-Allow-Headers", names);
      }
    }
    response.writeHead(204).end();
  };
}

/** The names of a list, in the form of HTTP/1.1: `Content-Type`. */
function headerNames(list: string): string {
  const names = list.match(/[\w.-]+/g) ?? [];
  return names
    .map((name) => name.toLowerCase().replace(/(?<=^|[-_])[a-z]/g, (letter) => letter.toUpperCase()))
    .join(", ");
}
