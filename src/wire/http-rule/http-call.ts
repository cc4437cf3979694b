import {
  type DescField,
  type DescMessage,
  fromJson,
  isFieldSet,
  isMessage,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageShape,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import { isReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { type HttpBody, HttpBodySchema } from "../../../gen/client/google/api/httpbody_pb.js";
import { serializationError } from "../../base/errors/call-errors.js";
import { RequestError } from "../../base/errors/index.js";
import { knownTypes } from "../json/any.js";
import { isJsonObject } from "../json/json-values.js";
import { requestToJson } from "../json/message-json.js";
import { assertStrictMessage } from "../json/strict-json.js";
import { type HttpBinding, type HttpCall, hasRawRequest } from "./http-rule.js";
import { expandPath, matchPath } from "./path-template.js";
import { assertKnownEnums, findField, setField, writeQuery } from "./request-fields.js";

/**
 * Converts a request message to an HTTP call, by the first binding that fits the message.
 *
 * @throws {@link RequestError} if no binding fits: the error of the first one whose path has a field that is set, or else of all
 */
export function createFirstHttpCall<I extends DescMessage>(
  desc: I,
  rules: readonly HttpBinding[],
  message: MessageShape<I>,
  registry: Registry = knownTypes,
): { readonly call: HttpCall; readonly rule: HttpBinding } | undefined {
  const errors: RequestError[] = [];
  for (const rule of rules) {
    try {
      return { call: createHttpCall(desc, rule, message, registry), rule };
    } catch (reason) {
      if (!(reason instanceof RequestError)) {
        throw reason;
      }
      errors.push(reason);
    }
  }
  const [first, ...others] = errors;
  if (first === undefined) {
    return undefined;
  }
  const json = requestJson(desc, message, registry);
  const isMeant = ({ template }: HttpBinding) =>
    template.variables.some(({ fieldPath }) => isSet(desc, json, fieldPath));
  const meant = others.length === 0 ? first : errors[rules.findIndex(isMeant)];
  const { errorCode, advice } = first;
  throw meant ?? new RequestError(errors.map(({ headline }) => headline).join("; "), { errorCode, advice });
}

function isSet(desc: DescMessage, json: JsonValue | undefined, [name = "", ...rest]: readonly string[]): boolean {
  const field = findField(desc, name);
  const value = isJsonObject(json) && field !== undefined ? json[field.jsonName] : undefined;
  return field?.message === undefined || rest.length === 0 ? value !== undefined : isSet(field.message, value, rest);
}

/**
 * Converts a request message to an HTTP call: fields go to the path, the body and the query string.
 *
 * @throws {@link RequestError} if the value of a field does not fit the place that the rule assigns to it
 */
export function createHttpCall<I extends DescMessage>(
  desc: I,
  rule: HttpBinding,
  message: MessageShape<I>,
  registry: Registry = knownTypes,
): HttpCall {
  const texts = textsOfPath(desc, rule, message);
  if (texts !== undefined) {
    return { verb: rule.verb, target: expandPath(rule.template, texts) };
  }
  const json = requestJson(desc, message, registry);
  const fields: JsonObject = isJsonObject(json) ? json : {};
  const path = expandPath(
    rule.template,
    rule.template.variables.map(({ fieldPath }) => takeField(desc, fields, fieldPath)),
  );
  if (rule.body === "") {
    return { verb: rule.verb, target: `${path}${queryOf(desc, fields)}` };
  }
  if (rule.body === "*") {
    return { verb: rule.verb, target: path, ...(isHttpBody(message) ? { raw: message } : { body: fields }) };
  }
  const field = findField(desc, rule.body);
  const name = field?.jsonName ?? rule.body;
  const value = field === undefined ? undefined : reflect(desc, message).get(field);
  const raw =
    isReflectMessage(value) && isHttpBody(value.message) && fields[name] !== undefined ? value.message : undefined;
  // If the body is an enum, gateways accept only its number.
  const isKnownEnum = field?.enum !== undefined && typeof value === "number" && field.enum.value[value] !== undefined;
  const body = raw === undefined ? fields[name] && (isKnownEnum ? value : fields[name]) : undefined;
  delete fields[name];
  const target = `${path}${queryOf(desc, fields)}`;
  return { verb: rule.verb, target, ...(body === undefined ? {} : { body }), ...(raw === undefined ? {} : { raw }) };
}

/**
 * Returns the values for the path if they are texts, and all that a request without a body has; otherwise `undefined`. Such a request
 * needs no JSON, which would take a noticeable part of a small call.
 */
function textsOfPath(desc: DescMessage, rule: HttpBinding, message: Message): string[] | undefined {
  const fields = fieldsOfPath(desc, rule);
  if (fields === undefined || desc.fields.some((field) => !fields.includes(field) && isFieldSet(message, field))) {
    return undefined;
  }
  const texts = fields.map((field) => (isFieldSet(message, field) ? Reflect.get(message, field.localName) : undefined));
  return texts.every((text) => typeof text === "string") ? texts : undefined;
}

const knownFields = new WeakMap<HttpBinding, { readonly fields: readonly DescField[] | undefined }>();

/** Returns the fields in the path if they are texts, and no other field is part of each request. */
function fieldsOfPath(desc: DescMessage, rule: HttpBinding): readonly DescField[] | undefined {
  let known = knownFields.get(rule);
  if (known === undefined) {
    const fields = rule.template.variables.map(({ fieldPath: [name = "", ...rest] }) =>
      rest.length === 0 ? findField(desc, name) : undefined,
    );
    const texts = fields.filter((field) => field?.fieldKind === "scalar" && field.scalar === ScalarType.STRING);
    const hasRequired = desc.fields.some(({ presence }) => presence === FeatureSet_FieldPresence.LEGACY_REQUIRED);
    const isEnough = rule.body === "" && texts.length === fields.length && !hasRequired;
    known = { fields: isEnough ? texts.filter((field) => field !== undefined) : undefined };
    knownFields.set(rule, known);
  }
  return known.fields;
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
 * Converts a request to JSON.
 *
 * @throws {@link RequestError} if it cannot be serialized
 */
export function requestJson<I extends DescMessage>(desc: I, message: MessageShape<I>, registry: Registry): JsonValue {
  try {
    return requestToJson(desc, message, registry);
  } catch (cause) {
    throw serializationError(cause);
  }
}

function isHttpBody(message: Message): message is HttpBody {
  return isMessage(message, HttpBodySchema);
}

/** Removes a field from the JSON, and returns its text for the path. */
function takeField(desc: DescMessage, json: JsonObject, fieldPath: readonly string[], depth = 0): string {
  const field = findField(desc, fieldPath[depth] ?? "");
  const isLast = depth === fieldPath.length - 1;
  if (field?.fieldKind === "message" && !isLast) {
    const inner = json[field.jsonName];
    return takeField(field.message, isJsonObject(inner) ? inner : {}, fieldPath, depth + 1);
  }
  if (field === undefined || !isLast || (field.fieldKind !== "scalar" && field.fieldKind !== "enum")) {
    throw new RequestError(
      `${fieldPath.join(".")} of ${desc.typeName} cannot be part of a path: it is not a scalar field`,
      {
        errorCode: "TW_NOT_OVER_REST",
        advice: "Call this method over gRPC.",
      },
    );
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

/**
 * Parses an HTTP call into a request message; the inverse of {@link createHttpCall}. Ignores unknown fields.
 *
 * @throws {@link RequestError} if a value does not fit its field, or the body is not the JSON object that the rule requires
 */
export function parseHttpCall<I extends DescMessage>(
  desc: I,
  rule: HttpBinding,
  call: HttpCall,
  { knownEnums = false }: { readonly knownEnums?: boolean } = {},
): MessageShape<I> | undefined {
  const [path = "", search = ""] = call.target.split(/\?(.*)/s, 2);
  const values = call.verb === rule.verb ? matchPath(rule.template, path) : undefined;
  if (values === undefined) {
    return undefined;
  }
  const body = hasRawRequest(desc, rule) ? rawJson(call.raw) : structuredClone(call.body);
  const json = rule.body === "*" ? (body ?? {}) : {};
  if (!isJsonObject(json)) {
    throw new RequestError("the body is not a JSON object", { advice: "Send the request's message as the body." });
  }
  if (rule.body !== "*") {
    if (rule.body !== "" && body !== undefined) {
      json[findField(desc, rule.body)?.jsonName ?? rule.body] = body;
    }
    const seen = new Set<string>();
    for (const [name, value] of new URLSearchParams(search)) {
      const fieldPath = name.split(".");
      assertOnce(desc, fieldPath, seen);
      setField(desc, json, fieldPath, value);
    }
  }
  rule.template.variables.forEach(({ fieldPath }, index) => {
    setField(desc, json, fieldPath, values[index] ?? "");
  });
  if (knownEnums && !hasRawRequest(desc, rule)) {
    assertKnownEnums(desc, json);
  }
  assertStrictMessage(desc, json, knownTypes, "the request");
  try {
    return fromJson(desc, json, { registry: knownTypes, ignoreUnknownFields: true });
  } catch (cause) {
    throw new RequestError(cause instanceof Error ? cause.message : String(cause), {
      advice: "Correct the value. The definitions of the interface have its format.",
      cause,
    });
  }
}

/** Throws if a parameter that is not a list appears twice. */
function assertOnce(desc: DescMessage, fieldPath: readonly string[], seen: Set<string>): void {
  let type: DescMessage | undefined = desc;
  let field: DescField | undefined;
  const names: string[] = [];
  for (const name of fieldPath) {
    field = type === undefined ? undefined : findField(type, name);
    type = field?.fieldKind === "message" ? field.message : undefined;
    names.push(field?.jsonName ?? name);
  }
  const path = names.join(".");
  if (field !== undefined && field.fieldKind !== "list" && seen.has(path)) {
    throw new RequestError(`duplicate parameter ${path}`, { advice: "Use it once: it has a single value." });
  }
  seen.add(path);
}

/** Converts an `HttpBody` to Protobuf's JSON. */
function rawJson(raw: HttpBody | undefined): JsonObject | undefined {
  return raw && { contentType: raw.contentType, data: Buffer.from(raw.data).toString("base64") };
}
