import { create, type JsonValue } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { type HttpBody, HttpBodySchema } from "../../../gen/client/google/api/httpbody_pb.js";
import { responseError, unexpectedContentType } from "../../base/errors/call-errors.js";
import { Code } from "../../base/errors/code.js";
import { ProtocolError } from "../../base/errors/index.js";
import { anyFromObject, knownTypes } from "./any.js";
import { decodeBase64, isJsonObject } from "./json-values.js";
import { encodeUnknownEnumName, exactInteger, replaceValues } from "./protobuf-json.js";

/** The maximum number of consecutive chunks without data. Without it, a stream of empty chunks would never end. */
const MAX_EMPTY_CHUNKS = 1000;

/** A part of a body that is sent as messages (`google.api.HttpBody`). */
export interface BodyPart {
  /** The media type of the body. */
  readonly contentType: string;
  readonly data: Uint8Array;
}

export function createBodyValidator(mediaType: string): (part: BodyPart, isContinuation: boolean) => void {
  let number = 0;
  let empty = 0;
  return ({ contentType, data }, isContinuation) => {
    number += isContinuation ? 0 : 1;
    const found = contentType.split(";", 1)[0]?.trim().toLowerCase();
    if (found === "text/html") {
      // A raw body has the content type of its response.
      throw responseError(unexpectedContentType(contentType), { suffix: quoteBodyStart(data) });
    }
    // Chunks after the first may omit the content type.
    if (found !== mediaType && (number === 1 || found !== "")) {
      const named = contentType === "" ? "none" : JSON.stringify(contentType.slice(0, 80));
      throw new ProtocolError(
        `the content type of chunk ${number} must be "${mediaType}" (got ${named})${quoteBodyStart(data)}`,
        { code: Code.Internal, advice: "Check the URL: another server may have answered." },
      );
    }
    empty = data.length === 0 ? empty + 1 : 0;
    if (empty > MAX_EMPTY_CHUNKS) {
      throw new ProtocolError(`the export exceeds the limit of ${MAX_EMPTY_CHUNKS} empty chunks in a row`, {
        code: Code.ResourceExhausted,
        advice: "The server sends no more data. Try again, then use another server.",
      });
    }
  };
}

/**
 * Throws if a raw body ends when its connection closes: a lost connection would truncate it unnoticed.
 *
 * @throws {@link ProtocolError} if the body has neither a length nor a last chunk
 */
export function assertDelimitedBody(header: Headers): void {
  if (!header.has("content-length") && !/\bchunked\b/i.test(header.get("transfer-encoding") ?? "")) {
    throw new ProtocolError(
      "the response has neither a length nor an end marker, so truncation could not be detected",
      {
        advice: "Call the server over gRPC, or configure the proxy in front of its gateway to respond with HTTP/1.1.",
      },
    );
  }
}

export function mediaTypeOf(header: Headers): string {
  const type = header.get("content-type") ?? "";
  const end = type.indexOf(";");
  return (end < 0 ? type : type.slice(0, end)).trim().toLowerCase();
}

export function quoteBodyStart(data: Uint8Array): string {
  return data.length === 0
    ? ""
    : `; it starts with ${JSON.stringify(Buffer.from(data.subarray(0, 60)).toString("latin1"))}`;
}

/**
 * Parses a `google.api.HttpBody` of a JSON stream.
 *
 * @throws {@link ProtocolError} if a field is invalid, the data is not strict base64, or a number of an extension is beyond
 *   2^53
 */
export function httpBodyFromJson(json: JsonValue): HttpBody {
  if (!isJsonObject(json)) {
    throw brokenBody("the result of a chunk is not an object");
  }
  // In Protobuf's JSON, null means the default.
  const contentType = json["contentType"] ?? "";
  const data = json["data"] ?? "";
  const extensions = json["extensions"] ?? [];
  if (typeof contentType !== "string") {
    throw brokenBody("contentType of a chunk is not a string");
  }
  const bytes = typeof data === "string" ? decodeBase64(data) : undefined;
  if (bytes === undefined) {
    throw brokenBody("data of a chunk is not base64 (RFC 4648, section 4, with padding)");
  }
  if (!Array.isArray(extensions)) {
    throw brokenBody("extensions of a chunk is not an array");
  }
  return create(HttpBodySchema, { contentType, data: bytes, extensions: extensions.map(extension) });
}
function extension(json: JsonValue): Any {
  if (!isJsonObject(json) || typeof json["@type"] !== "string") {
    throw brokenBody("an extension of a chunk has no @type");
  }
  replaceValues(AnySchema, json, knownTypes, {
    enums: encodeUnknownEnumName,
    integers: exactInteger,
    longs: exactInteger,
  });
  return anyFromObject({ ...json, "@type": json["@type"] });
}
function brokenBody(summary: string): ProtocolError {
  return new ProtocolError(summary, { advice: "The stream is unusable. Report this to the operator of the server." });
}
