import {
  type DescField,
  type DescMessage,
  isMessage,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageShape,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import { isReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { type HttpBody, HttpBodySchema } from "../../gen/client/google/api/httpbody_pb.js";
import { RequestError } from "../errors/index.js";
import { unwritable } from "../errors/unwritable.js";
import { knownTypes } from "../json/any.js";
import { requestToJson } from "../json/message.js";
import { isJsonObject } from "../json/values.js";
import { findField, writeQuery } from "./fields.js";
import type { HttpBinding, HttpCall } from "./http-rule.js";
import { fillPath } from "./path-template.js";

/**
 * Write a request message as an HTTP call, by the first way whose places fit the message.
 *
 * @param desc the message's descriptor
 * @param rules the ways to call the method, the main one first
 * @param message the request
 * @param registry the types that an `Any` in it may hold
 * @returns the call and the way that was taken; undefined where there are no ways
 * @throws {@link RequestError} where none fits: that of the main one
 */
export function writeFirstCall<I extends DescMessage>(
  desc: I,
  rules: readonly HttpBinding[],
  message: MessageShape<I>,
  registry?: Registry,
): { readonly call: HttpCall; readonly rule: HttpBinding } | undefined {
  let refused: RequestError | undefined;
  for (const rule of rules) {
    try {
      return { call: writeCall(desc, rule, message, registry), rule };
    } catch (reason) {
      if (!(reason instanceof RequestError)) {
        throw reason;
      }
      refused ??= reason;
    }
  }
  if (refused !== undefined) {
    throw refused;
  }
  return undefined;
}

/**
 * Write a request message as an HTTP call: fields to the path, the body and the query string.
 *
 * @param desc the message's descriptor
 * @param rule the way to call the method
 * @param message the request
 * @param registry the types that an `Any` in it may hold
 * @returns the call, whose target is percent-encoded
 * @throws {@link RequestError} where a field's value cannot stand in the place that the rule gives it
 */
export function writeCall<I extends DescMessage>(
  desc: I,
  rule: HttpBinding,
  message: MessageShape<I>,
  registry: Registry = knownTypes,
): HttpCall {
  const json = writeRequest(desc, message, registry);
  const fields: JsonObject = isJsonObject(json) ? json : {};
  const path = fillPath(
    rule.template,
    rule.template.variables.map(({ fieldPath }) => takeField(desc, fields, fieldPath)),
  );
  if (rule.body === "*") {
    return { verb: rule.verb, target: path, ...(isHttpBody(message) ? { raw: message } : { body: fields }) };
  }
  let body: JsonValue | undefined;
  let raw: HttpBody | undefined;
  if (rule.body !== "") {
    const field = findField(desc, rule.body);
    const name = field?.jsonName ?? rule.body;
    const value = field === undefined ? undefined : reflect(desc, message).get(field);
    raw =
      isReflectMessage(value) && isHttpBody(value.message) && fields[name] !== undefined ? value.message : undefined;
    // Gateways read an enum that is the whole body by its number alone.
    const isKnownEnum = field?.enum !== undefined && typeof value === "number" && field.enum.value[value] !== undefined;
    body = raw === undefined ? fields[name] && (isKnownEnum ? value : fields[name]) : undefined;
    delete fields[name];
  }
  const target = `${path}${queryOf(desc, fields)}`;
  return { verb: rule.verb, target, ...(body === undefined ? {} : { body }), ...(raw === undefined ? {} : { raw }) };
}

function queryOf(desc: DescMessage, fields: JsonObject): string {
  if (Object.keys(fields).length === 0) {
    return "";
  }
  const query = new URLSearchParams();
  writeQuery(desc, fields, "", query);
  return query.size === 0 ? "" : `?${query}`;
}

/**
 * Write a request as JSON.
 *
 * @param desc the message's descriptor
 * @param message the request
 * @param registry the types that an `Any` in it may hold
 * @returns the request in Protobuf's JSON
 * @throws {@link RequestError} where it cannot be written
 */
export function writeRequest<I extends DescMessage>(desc: I, message: MessageShape<I>, registry: Registry): JsonValue {
  try {
    return requestToJson(desc, message, registry);
  } catch (cause) {
    throw unwritable(cause);
  }
}

function isHttpBody(message: Message): message is HttpBody {
  return isMessage(message, HttpBodySchema);
}

/** The text of a field for the path; the field is removed from the JSON. */
function takeField(desc: DescMessage, json: JsonObject, fieldPath: readonly string[]): string {
  const [name = "", ...rest] = fieldPath;
  const field = findField(desc, name);
  if (field?.fieldKind === "message" && rest.length > 0) {
    const inner = json[field.jsonName];
    return takeField(field.message, isJsonObject(inner) ? inner : {}, rest);
  }
  if (field === undefined || rest.length > 0 || (field.fieldKind !== "scalar" && field.fieldKind !== "enum")) {
    throw new RequestError(`${fieldPath.join(".")} of ${desc.typeName} cannot stand in a path: it is no scalar field`, {
      advice: "Call this method over gRPC.",
    });
  }
  const value = json[field.jsonName] ?? defaultOf(field);
  delete json[field.jsonName];
  return String(value);
}

function defaultOf(field: DescField & { fieldKind: "scalar" | "enum" }): string {
  if (field.fieldKind === "enum") {
    return field.enum.values[0]?.name ?? "0";
  }
  if (field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES) {
    return "";
  }
  return field.scalar === ScalarType.BOOL ? "false" : "0";
}
