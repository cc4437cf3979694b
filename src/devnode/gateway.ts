import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import {
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  isMessage,
  type JsonValue,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import { TradewireError } from "../errors/index.js";
import { answersRaw, type HttpBinding, responsePart } from "../http-rule/http-rule.js";
import { matchPath } from "../http-rule/path-template.js";
import { readCall } from "../http-rule/read-call.js";
import { httpStatusFromCode } from "../http-rule/status.js";
import { errorObject } from "../json/error-object.js";
import { isJsonObject } from "../json/values.js";
import type { Profile } from "../schema/profile.js";
import { readBody, send } from "./gateway-body.js";
import { messageJson } from "./gateway-json.js";
import { gatewayRoutes } from "./gateway-routes.js";

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
      const message = readCall(method.input, rule, call, { knownEnums: true });
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
  const { code, message, details } = errorObject(error);
  return { code, message, details: details.map((detail) => ({ ...detail })) };
}
