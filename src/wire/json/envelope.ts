import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code } from "../../base/errors/code.js";
import { type ErrorObject, ProtocolError, type TypedObject } from "../../base/errors/index.js";
import { isJsonObject, MAX_DEPTH } from "./json-values.js";

/** One JSON object of a stream: either a result or an error. */
export type Envelope =
  | { readonly result: JsonValue; readonly error?: undefined }
  | { readonly error: ErrorObject; readonly result?: undefined };

/**
 * Parses one object of a JSON stream.
 *
 * @throws {@link ProtocolError} if it has both a result and an error, or neither
 */
export function parseEnvelope(json: JsonObject): Envelope {
  const { result, error } = json;
  if (isPresent(result) && isPresent(error)) {
    throw brokenEnvelope("a chunk has both a result and an error", json);
  }
  if (isPresent(error)) {
    return { error: parseErrorObject(error) };
  }
  if (isPresent(result)) {
    return { result };
  }
  throw brokenEnvelope("a chunk has neither a result nor an error", json);
}

function isPresent(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null;
}

function brokenEnvelope(summary: string, json: JsonObject): ProtocolError {
  const keys = Object.keys(json).slice(0, 8).join(", ");
  return new ProtocolError(`${summary}; it has the fields: ${keys === "" ? "none" : keys.slice(0, 100)}`, {
    advice:
      'Each object of the stream must be {"result": ...} or {"error": ...}. Report this to the operator of the server.',
  });
}

/**
 * Parses an error object. Invalid fields become the code `Unknown`, no message or no details. Details
 * that are nested too deep are omitted, because formatting them would overflow the stack.
 */
export function parseErrorObject(json: JsonValue): ErrorObject {
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

/** The codes by their names in gRPC, such as `NOT_FOUND`. */
const NAMES: ReadonlyMap<string, Code> = new Map([
  ...Object.entries(Code).flatMap(([name, code]): [string, Code][] =>
    typeof code === "number" ? [[name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase(), code]] : [],
  ),
  ["CANCELLED", Code.Canceled],
]);

/** The codes of the HTTP statuses that some gateways send as the code. */
const STATUSES: ReadonlyMap<number, Code> = new Map([
  [400, Code.InvalidArgument],
  [401, Code.Unauthenticated],
  [403, Code.PermissionDenied],
  [404, Code.NotFound],
  [409, Code.Aborted],
  [416, Code.OutOfRange],
  [429, Code.ResourceExhausted],
  [499, Code.Canceled],
  [500, Code.Internal],
  [501, Code.Unimplemented],
  [503, Code.Unavailable],
  [504, Code.DeadlineExceeded],
]);

/**
 * Returns the code of an error object, in any form that gateways use: `code` as gRPC's number or as the name of a code,
 * `grpc_code` as in the first grpc-gateway, or Google's form, where `status` is the name and `code` is the HTTP status.
 */
export function errorCode(object: JsonObject): Code | undefined {
  const { code, grpc_code: grpcCode, status } = object;
  return numbered(code) ?? numbered(grpcCode) ?? named(status) ?? named(code) ?? STATUSES.get(Number(code));
}

/**
 * Returns whether an error object has Google's form: the HTTP status as its code, and the name of the code as its status.
 */
export function isGoogleError({ code, status }: JsonObject): boolean {
  return typeof code === "number" && code >= 400 && named(status) !== undefined;
}

function numbered(code: unknown): Code | undefined {
  return typeof code === "number" && code in Code ? code : undefined;
}

function named(name: unknown): Code | undefined {
  return typeof name === "string" ? NAMES.get(name.toUpperCase()) : undefined;
}
