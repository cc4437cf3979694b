import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import type { DescMessage, JsonValue, MessageShape, Registry } from "@bufbuild/protobuf";
import type { RestConfig } from "../../config/schema.js";
import { brokenAnswer, COMPRESSED, EMPTY, notOfTheInterface, tooLarge } from "../../errors/broken-answer.js";
import { ProtocolError } from "../../errors/index.js";
import { isError } from "../../errors/is-error.js";
import { answersRaw, type HttpBinding } from "../../http-rule/http-rule.js";
import { createGathering } from "../../json/gathering.js";
import { mediaTypeOf } from "../../json/http-body.js";
import { httpBodyPiece, isHttpBody, messageFromJson, parseAnswer } from "../../json/message.js";
import { sizeOf } from "../../json/message-size.js";
import { bodyOf } from "./body.js";
import type { WholeResponse } from "./call-client.js";
import { bodyType, throwErrorIn } from "./error-in.js";

/** The pieces of a body: as they come, or those that have come. */
type Pieces = AsyncIterable<Uint8Array> | readonly Buffer[];

/** A response of the gateway. */
export interface RestResponse<Body extends Pieces = AsyncIterable<Uint8Array>> {
  readonly status: number;
  readonly header: Headers;
  /** The media type of the body without its parameters, in lower case; empty without one. */
  readonly mediaType: string;
  /** The body without compression. */
  readonly body: Body;
}

/**
 * Open a response of the gateway.
 *
 * @param response the response, as Node gives it
 * @param arrived called whenever bytes of the response come
 * @returns its header, its media type and its body, which is decompressed
 * @throws {@link ProtocolError} where the body of a success is compressed in another way than gzip
 */
export function openResponse(response: IncomingMessage, arrived: () => void): RestResponse {
  const header = webHeaders(response);
  arrived();
  if (!isReadable(header)) {
    response.destroy();
  }
  const { statusCode: status = 0 } = response;
  const body = decoded(status, header, bodyOf(response, arrived));
  return { status, header, mediaType: mediaTypeOf(header), body };
}

/**
 * Open a response of the gateway that has come.
 *
 * @param response the response
 * @returns its header, its media type and its body, which is decompressed
 * @throws {@link ProtocolError} where the body of a success is compressed in another way than gzip
 */
export function openWhole({ status, header, body }: WholeResponse): RestResponse<Pieces> {
  const pieces = decoded(status, header, body.length === 0 ? [] : [body]);
  return { status, header, mediaType: mediaTypeOf(header), body: pieces };
}

/**
 * Returns whether a status is one of success (RFC 9110, 15.3).
 *
 * @param status the HTTP status
 * @returns whether the response holds an answer
 */
export function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300;
}

/**
 * Returns whether a response has no body by its status, 204 or 205 (RFC 9110, 15.3.5 and 15.3.6): its message is empty.
 *
 * @param response the response
 * @returns whether it has none
 */
export function hasNoContent({ status }: Pick<RestResponse<Pieces>, "status">): boolean {
  return status === 204 || status === 205;
}

/**
 * Say how much is read of the body of a success.
 *
 * @param header the response's header
 * @param isRaw whether any body is the answer, and not JSON alone
 * @param reading how JSON is read, and the largest body, in bytes
 * @returns the most bytes to read; of a body that is no answer the beginning will do, and of one that cannot be read
 *   nothing
 */
export function successLimit(header: Headers, isRaw: boolean, { maxBytes, jsonAsText }: JsonReading): number {
  if (!isReadable(header)) {
    return -1;
  }
  return isRaw || isJson(mediaTypeOf(header), jsonAsText) ? maxBytes : 0;
}

/**
 * Read the header of a response.
 *
 * @param response the response, as Node gives it
 * @returns the header, each field with all its values
 */
export function webHeaders({ headersDistinct }: IncomingMessage): Headers {
  const header = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) {
      header.append(name, value);
    }
  }
  return header;
}

/** How a body is compressed, in lower case. */
function encodingOf(header: Headers): string {
  return header.get("content-encoding")?.toLowerCase() ?? "identity";
}

/** Whether a body is compressed in no way, or in one that is known. */
function isReadable(header: Headers): boolean {
  return ["identity", "gzip"].includes(encodingOf(header));
}

/** The body without compression, which a proxy may add although the request does not accept it. */
function decoded<Body extends Pieces>(status: number, header: Headers, body: Body) {
  if (isReadable(header)) {
    return encodingOf(header) === "gzip" ? gunzipped(body) : body;
  }
  if (!isSuccess(status)) {
    return nothing(); // The status tells enough.
  }
  throw brokenAnswer(COMPRESSED);
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function* gunzipped(body: Pieces): AsyncGenerator<Uint8Array> {
  try {
    yield* pipeline(body, createGunzip(), () => undefined); // The iteration throws a failure.
  } catch (cause) {
    if (isError(cause) && "code" in cause && String(cause.code).startsWith("Z_")) {
      throw new ProtocolError(`the response's gzip is broken: ${cause.message}`, {
        advice: "Try again; if it persists, have the server in front of the node leave responses as they are.",
        cause,
      });
    }
    throw cause;
  }
}

/** How JSON is read. */
export interface JsonReading extends Pick<RestConfig, "streams" | "jsonAsText"> {
  /** The largest body or object that is read, in bytes. */
  readonly maxBytes: number;
  /** The types that an `Any` may hold. */
  readonly registry: Registry | undefined;
}

/**
 * Read the message of a response that does not stream.
 *
 * @param desc the message's descriptor
 * @param rule the way that the method was called; it names the message's field that the body holds
 * @param response the response
 * @param reading how JSON is read, and the largest body, in bytes
 * @returns the message
 * @throws ConnectError where the node's error object stands in the message's place
 * @throws {@link ProtocolError} where the body is empty, too large, not JSON or does not fit the definitions
 */
export async function responseMessage<O extends DescMessage>(
  desc: O,
  rule: HttpBinding,
  response: RestResponse<Pieces>,
  reading: JsonReading,
): Promise<MessageShape<O>> {
  const { maxBytes, registry } = reading;
  if (rule.verb === "HEAD" || hasNoContent(response)) {
    return messageFromJson(desc, {}, registry); // Such an answer has no body.
  }
  if (answersRaw(desc, rule)) {
    const data = await wholeBody(response, maxBytes);
    const contentType = response.header.get("content-type") ?? "";
    return isHttpBody(desc)
      ? httpBodyPiece(desc, contentType, data)
      : messageFromJson(desc, inField(rule, { contentType, data: data.toString("base64") }), registry);
  }
  const json = await wholeJson(response, reading);
  throwErrorIn(json, bodyType(desc, rule), response.header);
  return messageFromJson(desc, inField(rule, json), registry, sizeOf(json));
}

/**
 * Make the JSON of a message of the part of it that is the body.
 *
 * @param rule the way that the method was called
 * @param json the body, or a result in it
 * @returns the JSON of the whole message
 */
export function inField({ responseBody }: HttpBinding, json: JsonValue): JsonValue {
  return responseBody === "" ? json : { [responseBody]: json };
}

async function wholeBody(response: RestResponse<Pieces>, maxBytes: number): Promise<Buffer> {
  if ("length" in response.body && response.body.length < 2) {
    const [only = Buffer.alloc(0)] = response.body;
    if (only.length > maxBytes) {
      throw overLimit(response, maxBytes);
    }
    return only; // To wait for it as for others takes longer than to read it.
  }
  const gathering = createGathering();
  for await (const piece of response.body) {
    gathering.push(piece);
    if (gathering.size > maxBytes) {
      throw overLimit(response, maxBytes);
    }
  }
  return gathering.take();
}

function overLimit({ header }: RestResponse<Pieces>, maxBytes: number): ProtocolError {
  const size = Number(header.get("content-length") ?? Number.NaN);
  const isKnown = Number.isSafeInteger(size) && size > maxBytes && !header.has("content-encoding");
  return brokenAnswer(tooLarge("limits.maxJsonBytes", maxBytes, isKnown ? size : undefined));
}

async function wholeJson(response: RestResponse<Pieces>, { maxBytes, jsonAsText }: JsonReading): Promise<JsonValue> {
  if (!isJson(response.mediaType, jsonAsText)) {
    throw await notJson(response);
  }
  const bytes = await wholeBody(response, maxBytes);
  if (bytes.length === 0) {
    throw brokenAnswer(EMPTY);
  }
  return parseAnswer(bytes);
}

/**
 * Whether a media type is one of JSON.
 *
 * @param mediaType the media type, without parameters and in lower case
 * @param orText whether plain text is taken for JSON too
 * @returns true for JSON, and for streams of it
 */
export function isJson(mediaType: string, orText: boolean): boolean {
  return /^application\/(json|x-ndjson|ndjson|.+\+json)$/.test(mediaType) || (orText && mediaType === "text/plain");
}

/**
 * Make the error of a response that is not JSON.
 *
 * @param response the response, whose beginning is read
 * @returns the error, which quotes the beginning
 */
export async function notJson(response: RestResponse<Pieces>): Promise<ProtocolError> {
  return brokenAnswer(notOfTheInterface(response.mediaType), await quoted(response));
}

async function quoted(response: RestResponse<Pieces>): Promise<string> {
  for await (const bytes of response.body) {
    return `; it begins with ${JSON.stringify(Buffer.from(bytes).subarray(0, 80).toString("latin1"))}`;
  }
  return "";
}
