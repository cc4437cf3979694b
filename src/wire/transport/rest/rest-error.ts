import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import type { Code } from "../../../base/errors/code.js";
import type { ErrorObject, TypedObject } from "../../../base/errors/index.js";
import type { HttpBinding } from "../../http-rule/http-rule.js";
import { codeOfApiStatus, codeOfHttpStatus } from "../../http-rule/http-status.js";
import { findField } from "../../http-rule/request-fields.js";
import { anyFromObject, anyToObject } from "../../json/any.js";
import { createByteAccumulator } from "../../json/byte-accumulator.js";
import { errorCode, isGoogleError, parseErrorObject } from "../../json/envelope.js";
import { decodeUtf8, isJsonObject } from "../../json/json-values.js";
import { addFacts, httpText, setDetails } from "../call-failure.js";

/** The maximum number of bytes to read of an error response: an error object is short, and a proxy's page is only quoted. */
export const MAX_ERROR_BYTES = 1024 * 1024;

/**
 * Reads the error of an HTTP error response: from its error object, bare or under `error`, from the
 * object of another kind of API, or from its status. Of an error object that is too large, only the code is used, which
 * gateways write first.
 */
export async function errorFromResponse(
  status: number,
  response: { readonly header: Headers; readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array> },
): Promise<ConnectError> {
  const bytes = await readBeginning(response.body);
  const isComplete = bytes.length <= MAX_ERROR_BYTES;
  const parsed = isComplete ? parse(bytes) : undefined;
  // A method whose responses are one JSON array fails with an array too.
  const json = Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed;
  if (isJsonObject(json)) {
    return errorFromJson(status, json, response.header, quoteOf(bytes));
  }
  const large = isComplete ? "" : `, with a body of more than ${MAX_ERROR_BYTES} bytes, which was not read`;
  const http = { status, location: response.header.get("location") };
  const message = `${httpText(http)}${large}${quoteOf(bytes)}`;
  const code = (isComplete ? undefined : codeAtBeginning(bytes)) ?? codeOfHttpStatus(status);
  return addFacts(errorFromObject({ code, message, details: [] }, response.header), { http });
}

function quoteOf(bytes: Buffer): string {
  return bytes.length === 0 ? "" : `: ${JSON.stringify(bytes.subarray(0, 200).toString("latin1"))}`;
}

/**
 * Returns the error of a JSON object: gRPC's or Google's, bare or under `error`, or that of another kind of API. If it has
 * no gRPC code, the HTTP status decides the code.
 */
function errorFromJson(status: number, json: JsonObject, header: Headers, quote: string): ConnectError {
  const object = isJsonObject(json["error"]) ? json["error"] : json;
  const { details, message } = parseErrorObject(object);
  const grpcCode = errorCode(object);
  const text = message || messageOf(object);
  if (grpcCode !== undefined) {
    const error = errorFromObject({ code: grpcCode, message: text, details }, header);
    return object["code"] === grpcCode ? addFacts(error, { isNodeStatus: true }) : error;
  }
  const code = codeOfApiStatus(status);
  if (text !== "") {
    return errorFromObject({ code, message: text, details }, header);
  }
  const http = { status, location: header.get("location") };
  return addFacts(errorFromObject({ code, message: `${httpText(http)}${quote}`, details }, header), { http });
}

/** Returns the message of an error object without `message`: OAuth's (RFC 6749), or a problem's (RFC 9457). */
function messageOf({ error, error_description: description, title, detail }: JsonObject): string {
  const texts = [error, description, title, detail].filter((text) => typeof text === "string" && text !== "");
  return texts.join(": ");
}

/** Converts an error object to a Connect error, as if the object had arrived in gRPC's trailers. */
export function errorFromObject(object: ErrorObject, header: Headers): ConnectError {
  const metadata = new Headers(header);
  metadata.set("grpc-status", String(object.code));
  return setDetails(new ConnectError(object.message, object.code, metadata), object.details.map(incomingDetail));
}

function incomingDetail(object: TypedObject) {
  const any = anyFromObject(object);
  return {
    type: any.typeUrl.slice(any.typeUrl.lastIndexOf("/") + 1),
    value: any.value,
    debug: { ...anyToObject(any) },
  };
}

async function readBeginning(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Buffer> {
  const gathering = createByteAccumulator();
  for await (const part of body) {
    gathering.push(part);
    if (gathering.size > MAX_ERROR_BYTES) {
      break;
    }
  }
  return gathering.take();
}

function codeAtBeginning(bytes: Buffer): Code | undefined {
  const match = /^\s*(?:\{\s*"error"\s*:\s*)?\{\s*"code"\s*:\s*(\d{1,2})\s*,/.exec(
    bytes.subarray(0, 200).toString("latin1"),
  );
  return match === null ? undefined : parseErrorObject({ code: Number(match[1]) }).code;
}

function parse(bytes: Uint8Array): JsonValue | undefined {
  try {
    return JSON.parse(decodeUtf8(bytes));
  } catch {
    return undefined; // It is not JSON, but may be a proxy's page.
  }
}

export function bodyType(desc: DescMessage, { responseBody }: HttpBinding): DescMessage | undefined {
  const field = responseBody === "" ? undefined : findField(desc, responseBody);
  const type = responseBody === "" ? desc : field?.fieldKind === "message" ? field.message : undefined;
  return type === undefined || hasCustomJsonRepresentation(type) ? undefined : type;
}

/**
 * Throws if an error object was sent in place of a message. A response with a success status must not turn it into an empty
 * message.
 *
 * @throws ConnectError if the JSON is an error object
 */
export function throwErrorIn(json: JsonValue, desc: DescMessage, rule: HttpBinding, header: Headers): void {
  const error = isJsonObject(json) && mayBeError(json) ? findError(json, bodyType(desc, rule)) : undefined;
  if (error !== undefined) {
    throw errorFromObject(parseErrorObject(error), header);
  }
}

/** Returns whether an object has the members of an error object, which few messages have. */
function mayBeError({ error, code, message }: JsonObject): boolean {
  return (error !== undefined && error !== null) || (typeof code === "number" && typeof message === "string");
}

/**
 * Finds an error object in place of a message: under `error`, or a bare one, if those names are not fields of the message.
 * JSON that could be a message counts as an error only in Google's format, and only if no field can hold that.
 */
function findError(json: JsonObject, type: DescMessage | undefined): JsonValue | undefined {
  const names = Object.keys(json);
  const { error, code, message } = json;
  if (names.length === 1 && error !== undefined && error !== null) {
    const field = type && findField(type, "error");
    const isSure = type !== undefined && field === undefined;
    const mayHold = field?.fieldKind === "map" || (field?.message && findField(field.message, "status")) !== undefined;
    return isSure || (!mayHold && isJsonObject(error) && isGoogleError(error)) ? error : undefined;
  }
  if (type === undefined || names.some((name) => findField(type, name) !== undefined)) {
    return undefined;
  }
  return typeof code === "number" && typeof message === "string" ? json : undefined;
}
