import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Code, ConnectError } from "@connectrpc/connect";
import type { ErrorObject, TypedObject } from "../../errors/index.js";
import { codeOfApiStatus, codeOfHttpStatus } from "../../http-rule/status.js";
import { anyFromObject, anyToObject } from "../../json/any.js";
import { readErrorObject } from "../../json/envelope.js";
import { errorCode } from "../../json/error-code.js";
import { createGathering } from "../../json/gathering.js";
import { decodeUtf8, isJsonObject } from "../../json/values.js";
import { httpText, withHttp } from "../http-answer.js";
import { markOwnStatus } from "../own-status.js";

/** The most bytes to read of a failing response: an error object is short, and a proxy's page is only quoted. */
export const MAX_ERROR_BYTES = 1024 * 1024;

/**
 * Make the error of a failing HTTP response: from its error object (specification, 7), bare or under `error`, from the
 * object of an API of another kind, else from its status. An error object that is too large gives its code, which gateways write first, and not its message.
 *
 * @param status the HTTP status
 * @param response the response, whose body is read up to 1 MiB
 * @returns the error, with the code in `grpc-status` of its metadata
 */
export async function errorFromResponse(
  status: number,
  response: { readonly header: Headers; readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array> },
): Promise<ConnectError> {
  const bytes = await beginning(response.body);
  const isWhole = bytes.length <= MAX_ERROR_BYTES;
  const parsed = isWhole ? parse(bytes) : undefined;
  // A method whose answers are one JSON array fails with an array too.
  const json = Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed;
  if (isJsonObject(json)) {
    return errorFromJson(status, json, response.header, quoteOf(bytes));
  }
  const large = isWhole ? "" : `, with more than ${MAX_ERROR_BYTES} bytes about it, too many to be read`;
  const http = { status, location: response.header.get("location") };
  const message = `${httpText(http)}${large}${quoteOf(bytes)}`;
  const code = (isWhole ? undefined : codeAtBeginning(bytes)) ?? codeOfHttpStatus(status);
  return withHttp(errorFromObject({ code, message, details: [] }, response.header), http);
}

function quoteOf(bytes: Buffer): string {
  return bytes.length === 0 ? "" : `: ${JSON.stringify(bytes.subarray(0, 200).toString("latin1"))}`;
}

/**
 * The error of a JSON object: gRPC's and Google's, bare or under `error`, or one of an API of another kind. Without a
 * code of gRPC's, the HTTP status tells it.
 */
function errorFromJson(status: number, json: JsonObject, header: Headers, quote: string): ConnectError {
  const object = isJsonObject(json["error"]) ? json["error"] : json;
  const { details, message } = readErrorObject(object);
  const ownCode = errorCode(object);
  const said = message || messageOf(object);
  if (ownCode !== undefined) {
    const error = errorFromObject({ code: ownCode, message: said, details }, header);
    return object["code"] === ownCode ? markOwnStatus(error) : error;
  }
  const code = codeOfApiStatus(status);
  if (said !== "") {
    return errorFromObject({ code, message: said, details }, header);
  }
  const http = { status, location: header.get("location") };
  return withHttp(errorFromObject({ code, message: `${httpText(http)}${quote}`, details }, header), http);
}

/** The message of an error object that has none under `message`: OAuth's (RFC 6749), or a problem's (RFC 9457). */
function messageOf({ error, error_description: description, title, detail }: JsonObject): string {
  const texts = [error, description, title, detail].filter((text) => typeof text === "string" && text !== "");
  return texts.join(": ");
}

/**
 * Make the Connect error of an error object, as if the object had come in gRPC's trailers.
 *
 * @param object the error object (specification, 7)
 * @param header the response's header, for the error's metadata
 * @returns the error
 */
export function errorFromObject(object: ErrorObject, header: Headers): ConnectError {
  const metadata = new Headers(header);
  metadata.set("grpc-status", String(object.code));
  const error = new ConnectError(object.message, object.code, metadata);
  error.details = object.details.map(incomingDetail);
  return error;
}

function incomingDetail(object: TypedObject) {
  const any = anyFromObject(object);
  return {
    type: any.typeUrl.slice(any.typeUrl.lastIndexOf("/") + 1),
    value: any.value,
    debug: { ...anyToObject(any) },
  };
}

async function beginning(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Buffer> {
  const gathering = createGathering();
  for await (const piece of body) {
    gathering.push(piece);
    if (gathering.size > MAX_ERROR_BYTES) {
      break;
    }
  }
  return gathering.take();
}

/** The code at the beginning of an error object. */
function codeAtBeginning(bytes: Buffer): Code | undefined {
  const begun = /^\s*(?:\{\s*"error"\s*:\s*)?\{\s*"code"\s*:\s*(\d{1,2})\s*,/.exec(
    bytes.subarray(0, 200).toString("latin1"),
  );
  return begun === null ? undefined : readErrorObject({ code: Number(begun[1]) }).code;
}

function parse(bytes: Uint8Array): JsonValue | undefined {
  try {
    return JSON.parse(decodeUtf8(bytes));
  } catch {
    return undefined; // Not JSON: it may be a proxy's page.
  }
}
