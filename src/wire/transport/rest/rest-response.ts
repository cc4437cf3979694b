import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import type { DescMessage, JsonObject, JsonValue, MessageShape, Registry } from "@bufbuild/protobuf";
import {
  BROKEN_COMPRESSION,
  EMPTY_RESPONSE,
  messageTooLarge,
  responseError,
  UNEXPECTED_COMPRESSION,
  unexpectedContentType,
} from "../../../base/errors/call-errors.js";
import { ProtocolError } from "../../../base/errors/index.js";
import { isError } from "../../../base/errors/node-errors.js";
import type { RestConfig } from "../../config/client-config.js";
import { type HttpBinding, hasRawResponse } from "../../http-rule/http-rule.js";
import { findField } from "../../http-rule/request-fields.js";
import { parseUnsizedJson, sizeOf } from "../../json/answer-size.js";
import { createByteAccumulator } from "../../json/byte-accumulator.js";
import { parseEnvelope } from "../../json/envelope.js";
import { createErrorTail } from "../../json/error-tail.js";
import { parseJsonObjects, parseJsonValues } from "../../json/json-stream.js";
import { isJsonObject } from "../../json/json-values.js";
import {
  httpBodyPart,
  isHttpBody,
  messageFromJson,
  parseResponseJson,
  unsizedMessageFromJson,
} from "../../json/message-json.js";
import { toConnectError } from "../call-failure.js";
import { headOf, type ResponseHead } from "./response-headers.js";
import { bodyType, errorFromObject, throwErrorIn } from "./rest-error.js";
import { bodyOf } from "./streaming-client.js";
import type { CompleteResponse } from "./unary-client.js";

/** A response of the gateway. */
export interface RestResponse<Body extends BodyParts = AsyncIterable<Uint8Array>> extends ResponseHead {
  /** The decompressed body. */
  readonly body: Body;
}

/**
 * Opens a response of the gateway while it arrives.
 *
 * @throws {@link ProtocolError} if the body of a success is compressed in an unknown way
 */
export function openResponse(response: IncomingMessage, onReceive: () => void): RestResponse {
  const head = headOf(response.statusCode ?? 0, response.headersDistinct);
  onReceive();
  if (!isReadable(head)) {
    response.destroy();
  }
  return { ...head, body: decodedBody(head, bodyOf(response, onReceive)) };
}

/**
 * Opens a response of the gateway that has arrived completely.
 *
 * @throws {@link ProtocolError} if the body of a success is compressed in an unknown way
 */
export function openCompleteResponse({ head, body }: CompleteResponse): RestResponse<BodyParts> {
  const { status, header, mediaType, encoding } = head; // A spread would take a noticeable part of a small call.
  return { status, header, mediaType, encoding, body: decodedBody(head, body.length === 0 ? [] : [body]) };
}

/** Returns whether a status means success (RFC 9110, 15.3). */
export function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300;
}

/**
 * Returns whether a response has status 204 or 205, and therefore no body (RFC 9110, 15.3.5 and 15.3.6): its message is empty.
 */
function hasNoContent({ status }: Pick<RestResponse<BodyParts>, "status">): boolean {
  return status === 204 || status === 205;
}

export function successLimit(head: ResponseHead, isRaw: boolean, { maxBytes, jsonAsText }: JsonOptions): number {
  if (!isReadable(head)) {
    return -1;
  }
  return isRaw || isJson(head.mediaType, jsonAsText) ? maxBytes : 0;
}

/** Returns the decompressed body. That of a failure ends where it cannot be decompressed, since the status says enough. */
function decodedBody<Body extends BodyParts>(head: ResponseHead, body: Body) {
  if (isSuccess(head.status) || head.encoding === undefined) {
    return decoded(head, body);
  }
  return isReadable(head) ? untilCorrupt(decoded(head, body)) : noBody();
}

async function* untilCorrupt(body: BodyParts): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (reason) {
    if (!(reason instanceof ProtocolError)) {
      throw reason;
    }
  }
}

async function* noBody(): AsyncGenerator<Uint8Array> {}

export interface JsonOptions extends Pick<RestConfig, "streams" | "jsonAsText"> {
  /** The maximum size of a body or an object, in bytes. */
  readonly maxBytes: number;
  /** The types that an `Any` may hold. */
  readonly registry: Registry | undefined;
}

/**
 * Reads the message of a response that does not stream. A promise would take a noticeable part of a small call, so there is one only
 * where the body has to be awaited.
 *
 * @throws ConnectError if the node sent an error object in place of the message
 * @throws {@link ProtocolError} if the body is empty, too large, not JSON, or does not fit the definitions
 */
export function readResponseMessage<O extends DescMessage>(
  desc: O,
  rule: HttpBinding,
  response: RestResponse<BodyParts>,
  options: JsonOptions,
): MessageShape<O> | Promise<MessageShape<O>> {
  if (rule.verb === "HEAD" || hasNoContent(response)) {
    return messageFromJson(desc, {}, options.registry); // Such a response has no body.
  }
  if (!hasRawResponse(desc, rule) && !isJson(response.mediaType, options.jsonAsText)) {
    return throwNotJson(response);
  }
  const data = readBody(response, options.maxBytes);
  return data instanceof Promise
    ? data.then((read) => parseBody(desc, rule, response, read, options))
    : parseBody(desc, rule, response, data, options);
}

function parseBody<O extends DescMessage>(
  desc: O,
  rule: HttpBinding,
  { header }: RestResponse<BodyParts>,
  data: Buffer,
  { registry }: JsonOptions,
): MessageShape<O> {
  if (hasRawResponse(desc, rule)) {
    const contentType = header.get("content-type") ?? "";
    return isHttpBody(desc)
      ? httpBodyPart(desc, contentType, data)
      : messageFromJson(desc, wrapField(rule, { contentType, data: data.toString("base64") }), registry);
  }
  if (data.length === 0) {
    throw responseError(EMPTY_RESPONSE);
  }
  const json = parseResponseJson(data, parseUnsizedJson);
  throwErrorIn(json, desc, rule, header);
  return unsizedMessageFromJson(desc, wrapField(rule, json), registry, data.length);
}

/** Returns the JSON of a message from the field of it that a body holds. */
export function wrapField({ responseBody }: HttpBinding, json: JsonValue): JsonValue {
  return responseBody === "" ? json : { [responseBody]: json };
}

function readBody(response: RestResponse<BodyParts>, maxBytes: number): Buffer | Promise<Buffer> {
  const { body } = response;
  if (!("length" in body)) {
    return readParts(response, maxBytes);
  }
  const [only = NO_BYTES] = body;
  if (only.length > maxBytes) {
    throw overLimit(response, maxBytes);
  }
  return only;
}

const NO_BYTES = Buffer.alloc(0);

async function readParts(response: RestResponse<BodyParts>, maxBytes: number): Promise<Buffer> {
  const gathering = createByteAccumulator();
  for await (const part of response.body) {
    gathering.push(part);
    if (gathering.size > maxBytes) {
      throw overLimit(response, maxBytes);
    }
  }
  return gathering.take();
}

function overLimit({ header }: RestResponse<BodyParts>, maxBytes: number): ProtocolError {
  const size = Number(header.get("content-length") ?? Number.NaN);
  const isKnown = Number.isSafeInteger(size) && size > maxBytes && !header.has("content-encoding");
  return responseError(messageTooLarge("limits.maxJsonBytes", maxBytes, isKnown ? size : undefined));
}

function isJson(mediaType: string, orText: boolean): boolean {
  return (
    mediaType === "application/json" ||
    /^application\/(x-ndjson|ndjson|.+\+json)$/.test(mediaType) ||
    (orText && mediaType === "text/plain")
  );
}

/** Throws the error of a response that is not JSON. */
async function throwNotJson(response: RestResponse<BodyParts>): Promise<never> {
  const contentType = response.header.get("content-type") ?? "";
  throw responseError(unexpectedContentType(contentType), { suffix: await quoted(response) });
}

async function quoted(response: RestResponse<BodyParts>): Promise<string> {
  for await (const bytes of response.body) {
    return `; it starts with ${JSON.stringify(Buffer.from(bytes).subarray(0, 80).toString("latin1"))}`;
  }
  return "";
}

/**
 * Reads the messages of a response that streams: JSON in the configured format, or the parts of a raw body.
 *
 * @throws ConnectError for the node's error object; for a response that breaks the rules of the interface, its cause is a
 *   {@link ProtocolError}
 */
export async function* readResponseMessages<O extends DescMessage>(
  desc: O,
  rule: HttpBinding,
  response: RestResponse,
  options: JsonOptions,
): AsyncGenerator<MessageShape<O>> {
  try {
    if (hasNoContent(response)) {
      return;
    }
    if (isJson(response.mediaType, options.jsonAsText && !isHttpBody(desc))) {
      const results = options.streams === "envelopes" ? envelopes : bareMessages;
      for await (const { result, size } of results(response, options, desc, rule)) {
        yield messageFromJson(desc, wrapField(rule, result), options.registry, size);
      }
    } else if (isHttpBody(desc)) {
      for await (const data of withoutErrorTail(response)) {
        yield httpBodyPart(desc, response.header.get("content-type") ?? "", data);
      }
    } else {
      await throwNotJson(response);
    }
  } catch (reason) {
    throw toConnectError(reason);
  }
}

/** Returns the bytes of a raw body. A gateway whose stream fails appends its error object to them, which is thrown. */
async function* withoutErrorTail({ body, header }: RestResponse): AsyncGenerator<Uint8Array> {
  const tail = createErrorTail();
  for await (const bytes of body) {
    const free = tail.push(bytes);
    if (free.length > 0) {
      yield free;
    }
  }
  const { rest, error } = tail.finish();
  if (rest.length > 0) {
    yield rest;
  }
  if (error !== undefined) {
    throw errorFromObject(error.object, header);
  }
}

/** The JSON of a message, and the size in which it onReceive, in bytes. */
interface Result {
  readonly result: JsonValue;
  readonly size: number;
}

async function* envelopes({ body, header }: RestResponse, { maxBytes }: JsonOptions): AsyncGenerator<Result> {
  for await (const json of parseJsonObjects(body, maxBytes)) {
    const { result, error } = parseEnvelope(json);
    if (error !== undefined) {
      throw errorFromObject(error, header);
    }
    yield { result, size: sizeOf(json) };
  }
}

async function* bareMessages(
  { body, header }: RestResponse,
  { maxBytes, streams }: JsonOptions,
  desc: DescMessage,
  rule: HttpBinding,
): AsyncGenerator<Result> {
  const type = bodyType(desc, rule);
  const isMap = findField(desc, rule.responseBody)?.fieldKind === "map";
  const format = { array: streams === "array", anyValue: type === undefined && !isMap };
  for await (const json of parseJsonValues(body, format, maxBytes)) {
    throwErrorIn(json, desc, rule, header);
    if (isJsonObject(json) && isEnvelope(json, type)) {
      throw new ProtocolError('an object of the stream has only the field "result", which its message does not have', {
        advice: 'The stream consists of envelopes: set streams to "envelopes".',
      });
    }
    yield { result: json, size: sizeOf(json) };
  }
}

/** Returns whether an object has only a result, although its message has no such field. */
function isEnvelope(json: JsonObject, type: DescMessage | undefined): boolean {
  const isOnlyField = Object.keys(json).length === 1 && json["result"] !== undefined;
  return isOnlyField && type !== undefined && findField(type, "result") === undefined;
}

/** The parts of a body: as they arrive, or joined after they have arrived. */
export type BodyParts = AsyncIterable<Uint8Array> | readonly [] | readonly [Buffer];

/** The known content encodings. Node 20 has no zstd. */
const DECODERS = new Map([
  ["gzip", createGunzip],
  ["br", createBrotliDecompress],
]);

/** The value of `accept-encoding` for a body that may be compressed. */
export const ACCEPTED_ENCODINGS: string = [...DECODERS.keys()].join(", ");

/** Returns whether a body has no content encoding, or a known one. */
function isReadable({ encoding = IDENTITY }: ResponseHead): boolean {
  return encoding === IDENTITY || DECODERS.has(encoding);
}

/**
 * Returns the decompressed body, part by part: its reader decides when to stop. A proxy may compress a body although the request
 * does not accept that.
 *
 * @throws {@link ProtocolError} if the content encoding is unknown. If the data is corrupt, the iteration throws it.
 */
function decoded<Body extends BodyParts>(
  { encoding = IDENTITY }: ResponseHead,
  body: Body,
): Body | AsyncIterable<Uint8Array> {
  if (encoding === IDENTITY) {
    return body;
  }
  const createDecoder = DECODERS.get(encoding);
  if (createDecoder === undefined) {
    throw responseError(UNEXPECTED_COMPRESSION);
  }
  return decompressed(body, createDecoder());
}

const IDENTITY = "identity";

/** The codes of Node's errors for corrupt data, of zlib and of Brotli. */
const CORRUPT = /^(Z_|ERR__ERROR_|ERR_BROTLI_)/;

async function* decompressed(body: BodyParts, decoder: ReturnType<typeof createGunzip>): AsyncGenerator<Uint8Array> {
  try {
    yield* pipeline(body, decoder, () => undefined); // The iteration throws the error.
  } catch (cause) {
    throw isError(cause) && "code" in cause && CORRUPT.test(String(cause.code))
      ? responseError(BROKEN_COMPRESSION, { cause })
      : cause;
  }
}
