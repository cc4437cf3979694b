import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
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
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import { Code } from "../base/errors/code.js";
import { TradewireError } from "../base/errors/index.js";
import type { Profile } from "../base/profile.js";
import { MAX_TIMER_MS } from "../base/runtime/index.js";
import { parseHttpCall } from "../wire/http-rule/http-call.js";
import {
  type HttpBinding,
  type HttpCall,
  hasRawResponse,
  httpBindings,
  responsePart,
} from "../wire/http-rule/http-rule.js";
import { httpStatusFromCode } from "../wire/http-rule/http-status.js";
import { matchPath } from "../wire/http-rule/path-template.js";
import { anyToObject, knownTypes } from "../wire/json/any.js";
import { toErrorObject } from "../wire/json/error-object.js";
import { isJsonObject } from "../wire/json/json-values.js";
import { parseStrictJson } from "../wire/json/strict-json.js";

const NDJSON = "application/x-ndjson";
/** The path prefix below which JSON omits default values and contains enums as numbers. */
export const TERSE_PATH = "/api/v2/stream/";

/**
 * Creates an HTTP gateway in front of a transport. It responds as the gateways of deployed nodes do.
 *
 * The methods' `google.api.http` options map paths to methods. JSON responses contain every field, including default values,
 * except below `/api/v2/stream/`. If a request or its body is a `google.api.HttpBody`, its bytes are passed on unchanged; if a
 * method returns or streams one, the response is the body itself. Other streaming methods, and all requests that accept
 * `application/x-ndjson`, get one JSON envelope per line. An error after the first byte is appended as a JSON object,
 * because the status has already been sent.
 */
export function createGateway(
  transport: Transport,
  services: readonly DescService[],
  profile: Profile = "specification",
): RequestListener {
  const routes = gatewayRoutes(services);

  async function handle(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
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
    const timeoutMs = parseTimeout(request.headers["grpc-timeout"]);
    if (isUnary(method)) {
      const { header, message: output } = await transport.unary(method, signal, timeoutMs, undefined, message);
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
    const { header, message: outputs } = await transport.stream(method, signal, timeoutMs, undefined, input);
    const ndjson = profile === "specification" && (request.headers.accept ?? "").includes(NDJSON);
    await stream(method, rule, { outputs, header, ndjson }, request, response);
  }

  return async (request, response) => {
    const abort = new AbortController();
    response.on("close", () => abort.abort());
    try {
      await handle(request, response, abort.signal).catch((reason: unknown) => {
        if (response.headersSent || response.destroyed || request.socket.destroyed) {
          throw reason;
        }
        return sendError(request, response, reason, (error) => error, profile);
      });
    } catch {
      response.destroy(); // The client is gone, or the response cannot be completed.
    }
  };
}

/** The units of `grpc-timeout`, in milliseconds. */
const TIMEOUT_UNITS: ReadonlyMap<string, number> = new Map([
  ["H", 3_600_000],
  ["M", 60_000],
  ["S", 1000],
  ["m", 1],
  ["u", 0.001],
  ["n", 0.000_001],
]);

/** Parses the header `grpc-timeout`, as grpc-gateway does. Returns the time in milliseconds, up to that of timers. */
function parseTimeout(header: string | readonly string[] | undefined): number | undefined {
  if (header === undefined || header === "") {
    return undefined;
  }
  const text = String(header);
  const [, digits, unit = ""] = /^(\d{1,18})(.)$/.exec(text) ?? [];
  const unitMs = TIMEOUT_UNITS.get(unit);
  if (digits === undefined || unitMs === undefined) {
    throw new ConnectError(`invalid grpc-timeout: ${text}`, Code.InvalidArgument);
  }
  return Math.min(Math.max(Math.ceil(Number(digits) * unitMs), 1), MAX_TIMER_MS);
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

/** Reports whether a method streams responses only: a gateway over HTTP/1.1 cannot stream requests. */
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

export function errorJson(reason: unknown) {
  const error =
    reason instanceof TradewireError ? new ConnectError(reason.summary, reason.code) : ConnectError.from(reason);
  const { code, message, details } = toErrorObject(error);
  return { code, message, details: details.map((detail) => ({ ...detail })) };
}

/** The maximum size of a request message, over HTTP of its body, in bytes. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * Reads the body of a request. Whether it is JSON depends on the method, so it is parsed lazily.
 *
 * @throws ConnectError if the body is too large; the getter throws one if the body is not JSON
 */
export async function readBody(request: IncomingMessage): Promise<Pick<HttpCall, "body" | "raw">> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) {
      chunks.push(chunk);
    }
  }
  // Even a body that is too large is read to its end: a client that is disconnected while it sends may lose the response.
  if (size > MAX_BODY_BYTES) {
    throw new ConnectError(`the body exceeds ${MAX_BODY_BYTES} bytes`, Code.ResourceExhausted);
  }
  const bytes = Buffer.concat(chunks);
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
  const invalid = () => new ConnectError("the body is not valid JSON", Code.InvalidArgument);
  return parseStrictJson(bytes.toString(), "the body", invalid);
}

/** Sends a response, as fast as the client receives it, and compressed if the client accepts gzip. */
async function send(
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
    // Each part is flushed, so that an event of a stream does not wait for the next ones.
    await pipeline(body, createGzip({ flush: constants.Z_SYNC_FLUSH }), response);
  } else {
    await pipeline(body, response);
  }
}

function acceptsGzip(acceptEncoding: string): boolean {
  return acceptEncoding.split(",").some((coding) => /^\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*$)|$)/i.test(coding));
}

/**
 * Converts a message to JSON as a deployed gateway does: with every field, and `null` for messages that are not set. Below
 * `/api/v2/stream/`, default values are omitted and enums are numbers.
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

/** Adds `null` to a message's JSON for each message field that is not set. */
function withNulls(desc: DescMessage, json: JsonValue): JsonValue {
  // Well-known types have special JSON forms.
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

/** A path of the gateway, and the method it calls. */
export interface Route {
  readonly method: DescMethod;
  readonly rule: HttpBinding;
}

/**
 * Lists the routes of a gateway, in the order in which they are matched.
 *
 * Deployed gateways use the last route that matches: `/api/v2/node/signatures` is not the node `signatures`. Routes with longer
 * verbs come first, as a path that ends in a colon and a verb also matches templates with no verb or a shorter one.
 */
export function gatewayRoutes(services: readonly DescService[]): readonly Route[] {
  return services
    .flatMap(({ methods }) => methods.flatMap((method) => httpBindings(method).map((rule) => ({ method, rule }))))
    .toReversed()
    .toSorted((a, b) => b.rule.template.verb.length - a.rule.template.verb.length);
}

const METHODS = new Set(["HEAD", "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
/** How long browsers may cache the response to a preflight request, in seconds: the default of core and data node. */
const MAX_AGE = "7200";

/**
 * Allows pages of any origin to read the responses of a gateway, as the gateways of core and data node do by default:
 * `libs/http/cors.go`, `core/api/config.go` and `datanode/gateway/config.go` of v0.78.0, with github.com/rs/cors 1.8.3.
 *
 * The response to a preflight request (`OPTIONS` with `Access-Control-Request-Method`) is 204, without a call of the gateway.
 */
export function withCors(gateway: RequestListener): RequestListener {
  return (request, response) => {
    const { origin = "" } = request.headers;
    const requestedMethod = request.headers["access-control-request-method"] ?? "";
    if (request.method !== "OPTIONS" || requestedMethod === "") {
      response.appendHeader("Vary", "Origin");
      if (origin !== "" && METHODS.has(request.method ?? "")) {
        response.setHeader("Access-Control-Allow-Origin", origin).setHeader("Access-Control-Expose-Headers", "*");
      }
      gateway(request, response);
      return;
    }
    response.setHeader("Vary", ["Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"]);
    if (origin !== "" && METHODS.has(requestedMethod.toUpperCase())) {
      const names = headerNames(request.headers["access-control-request-headers"] ?? "");
      response
        .setHeader("Access-Control-Allow-Origin", origin)
        .setHeader("Access-Control-Allow-Methods", requestedMethod.toUpperCase())
        .setHeader("Access-Control-Max-Age", MAX_AGE);
      if (names !== "") {
        response.setHeader("Access-Control-Allow-Headers", names);
      }
    }
    response.writeHead(204).end();
  };
}

/** Returns a list of header names in their canonical form, such as `Content-Type`. */
function headerNames(list: string): string {
  const names = list.match(/[\w.-]+/g) ?? [];
  return names
    .map((name) => name.toLowerCase().replace(/(?<=^|[-_])[a-z]/g, (letter) => letter.toUpperCase()))
    .join(", ");
}
