import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { type HttpBody, HttpBodySchema } from "../../gen/client/google/api/httpbody_pb.js";
import { type ErrorObject, ProtocolError, type TypedObject } from "../errors/index.js";
import { anyFromObject, knownTypes } from "./any.js";
import { decodeBase64 } from "./base64.js";
import { numberUnknownName } from "./enums.js";
import { errorCode } from "./error-code.js";
import { exactLong } from "./numbers.js";
import { replaceValues } from "./replace.js";
import { isJsonObject, MAX_DEPTH } from "./values.js";

/** One JSON object of a stream: either a result or an error (specification, 2.7). */
export type Envelope =
  | { readonly result: JsonValue; readonly error?: undefined }
  | { readonly error: ErrorObject; readonly result?: undefined };

/**
 * Read one object of a JSON stream (specification, 2.7).
 *
 * @param json the object
 * @returns its result or its error
 * @throws {@link ProtocolError} where it has both a result and an error, or neither
 */
export function openEnvelope(json: JsonObject): Envelope {
  const { result, error } = json;
  if (present(result) && present(error)) {
    throw brokenEnvelope("a chunk has both a result and an error", json);
  }
  if (present(error)) {
    return { error: readErrorObject(error) };
  }
  if (present(result)) {
    return { result };
  }
  throw brokenEnvelope("a chunk has neither a result nor an error", json);
}

function present(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null;
}

function brokenEnvelope(summary: string, json: JsonObject): ProtocolError {
  const keys = Object.keys(json).slice(0, 8).join(", ");
  return new ProtocolError(`${summary}; its fields are: ${keys === "" ? "none" : keys.slice(0, 100)}`, {
    advice: 'Each object of the stream must be {"result": ...} or {"error": ...}; report it to who runs the node.',
  });
}

/**
 * Read an error object (specification, 7). Fields that do not fit get the code `Unknown`, no message or no details.
 * Details that are nested too deep are left out: to write them out would overflow the stack.
 *
 * @param json the JSON in the place of an error object
 * @returns the error object; JSON that is not an object becomes its message
 */
export function readErrorObject(json: JsonValue): ErrorObject {
  if (!isJsonObject(json)) {
    return { code: Code.Unknown, message: JSON.stringify(json).slice(0, 1000), details: [] };
  }
  const { message, details } = json;
  return {
    code: errorCode(json) ?? Code.Unknown,
    message: typeof message === "string" ? message : "",
    details: Array.isArray(details) && !isDeeper(details, MAX_DEPTH) ? details.map(typedObject) : [],
  };
}

function isDeeper(json: JsonValue, limit: number): boolean {
  return typeof json === "object" && json !== null
    ? limit === 0 || Object.values(json).some((value) => isDeeper(value, limit - 1))
    : false;
}

function typedObject(json: JsonValue): TypedObject {
  if (isJsonObject(json) && typeof json["@type"] === "string") {
    return { ...json, "@type": json["@type"] };
  }
  return { "@type": "type.googleapis.com/google.protobuf.Value", value: json };
}

/**
 * Read a `google.api.HttpBody` of a JSON stream (specification, 2.7).
 *
 * @param json the result of a chunk
 * @returns the message; extensions of unknown types are kept
 * @throws {@link ProtocolError} where a field has the wrong form, the data is not strict base64, or a number of an
 *   extension is beyond 2^53
 */
export function httpBodyFromJson(json: JsonValue): HttpBody {
  if (!isJsonObject(json)) {
    throw brokenBody("the result of a chunk is not an object");
  }
  // In Protobuf's JSON, null stands for the default.
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
  replaceValues(AnySchema, json, knownTypes, { enums: numberUnknownName, longs: exactLong });
  return anyFromObject({ ...json, "@type": json["@type"] });
}

function brokenBody(summary: string): ProtocolError {
  return new ProtocolError(summary, { advice: "The stream is not usable; report it to who runs the node." });
}
