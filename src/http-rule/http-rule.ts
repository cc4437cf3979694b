import {
  type DescField,
  type DescMessage,
  type DescMethod,
  fromJson,
  getOption,
  hasOption,
  isMessage,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageShape,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import { isReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { http as httpOption } from "../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../gen/google/api/http_pb.js";
import { type HttpBody, HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import { RequestError } from "../errors/index.js";
import { knownTypes } from "../json/any.js";
import { requestToJson } from "../json/message.js";
import { isJsonObject } from "../json/values.js";
import { findField, putField, writeQuery } from "./fields.js";
import { fillPath, matchPath, type PathTemplate, parsePathTemplate } from "./path-template.js";

/** One way to call a method over HTTP. */
export interface HttpBinding {
  /** The HTTP method, such as `GET`. */
  readonly verb: string;
  readonly template: PathTemplate;
  /** The request's field that is the body; `*` for all fields that are not in the path, empty for no body. */
  readonly body: string;
  /** The response's field that is the body; empty for the whole response. */
  readonly responseBody: string;
}

/** A call in the form that it takes over HTTP. */
export interface HttpCall {
  readonly verb: string;
  /** Path and query string, percent-encoded. */
  readonly target: string;
  /** The JSON body, where there is one. */
  readonly body?: JsonValue;
  /** The body where the rule's is a `google.api.HttpBody`: bytes of a content type of their own. */
  readonly raw?: HttpBody;
}

/**
 * List the ways to call a method over HTTP, as its `google.api.http` option has them.
 *
 * @param method the method's descriptor
 * @returns the bindings, the main one first; empty where the method has no such option
 * @throws Error where a path of the option is not a path template
 */
export function httpBindings(method: DescMethod): readonly HttpBinding[] {
  if (!hasOption(method, httpOption)) {
    return [];
  }
  const rule = getOption(method, httpOption);
  return [rule, ...rule.additionalBindings].flatMap(binding);
}

function binding(rule: HttpRule): HttpBinding[] {
  const { pattern, body, responseBody } = rule;
  if (pattern.case === undefined) {
    return [];
  }
  const [verb, path] =
    pattern.case === "custom" ? [pattern.value.kind, pattern.value.path] : [pattern.case.toUpperCase(), pattern.value];
  return [{ verb, template: parsePathTemplate(path), body, responseBody }];
}

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
  const json = requestToJson(desc, message, registry);
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
    body = raw === undefined ? fields[name] : undefined;
    delete fields[name];
  }
  const query = new URLSearchParams();
  writeQuery(desc, fields, "", query);
  const target = query.size === 0 ? path : `${path}?${query}`;
  return { verb: rule.verb, target, ...(body === undefined ? {} : { body }), ...(raw === undefined ? {} : { raw }) };
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

/**
 * Read an HTTP call back into a request message; the inverse of {@link writeCall}. Unknown fields are ignored.
 *
 * @param desc the message's descriptor
 * @param rule the way to call the method
 * @param call the call, whose target is percent-encoded
 * @returns the message, or undefined where verb or path do not match
 * @throws {@link RequestError} where a value does not fit its field, or the body is not a JSON object as the rule wants
 */
export function readCall<I extends DescMessage>(
  desc: I,
  rule: HttpBinding,
  call: HttpCall,
): MessageShape<I> | undefined {
  const [path = "", search = ""] = call.target.split(/\?(.*)/s, 2);
  const values = call.verb === rule.verb ? matchPath(rule.template, path) : undefined;
  if (values === undefined) {
    return undefined;
  }
  const body = structuredClone(call.body);
  const json = rule.body === "*" ? (body ?? {}) : {};
  if (!isJsonObject(json)) {
    throw new RequestError("the body is not a JSON object", { advice: "Send the request's message as the body." });
  }
  if (rule.body !== "*") {
    if (rule.body !== "" && body !== undefined) {
      json[findField(desc, rule.body)?.jsonName ?? rule.body] = body;
    }
    for (const [name, value] of new URLSearchParams(search)) {
      putField(desc, json, name.split("."), value);
    }
  }
  rule.template.variables.forEach(({ fieldPath }, index) => {
    putField(desc, json, fieldPath, values[index] ?? "");
  });
  try {
    return fromJson(desc, json, { registry: knownTypes, ignoreUnknownFields: true });
  } catch (cause) {
    throw new RequestError(cause instanceof Error ? cause.message : String(cause), {
      advice: "Correct the value; the interface's definitions say which form it has.",
      cause,
    });
  }
}

/**
 * Whether a response's body is the bytes of a `google.api.HttpBody`, not JSON.
 *
 * @param desc the response message's descriptor
 * @param rule the way that the method is called
 * @returns true where the response, or its field that is the body, is an `HttpBody`
 */
export function answersRaw(desc: DescMessage, { responseBody }: HttpBinding): boolean {
  const body = responseBody === "" ? desc : findField(desc, responseBody)?.message;
  return body?.typeName === HttpBodySchema.typeName;
}

/**
 * Take the part of a response that is the HTTP body.
 *
 * @param desc the response message's descriptor
 * @param rule the way that the method was called
 * @param json the response in Protobuf's JSON
 * @returns the whole response, or the field that the rule names: null where it is not set
 */
export function responsePart(desc: DescMessage, { responseBody }: HttpBinding, json: JsonValue): JsonValue {
  const field = findField(desc, responseBody);
  return field === undefined || !isJsonObject(json) ? json : (json[field.jsonName] ?? null);
}
