import {
  type DescField,
  type DescMessage,
  type DescMethod,
  fromJson,
  getOption,
  hasOption,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { http as httpOption } from "../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../gen/google/api/http_pb.js";
import { RequestError } from "../errors/index.js";
import { knownTypes } from "../json/any.js";
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
 * Write a request message as an HTTP call: fields to the path, the body and the query string.
 *
 * @param desc the message's descriptor
 * @param rule the way to call the method
 * @param message the request
 * @returns the call, whose target is percent-encoded
 * @throws {@link RequestError} where a field's value cannot stand in the place that the rule gives it
 */
export function writeCall<I extends DescMessage>(desc: I, rule: HttpBinding, message: MessageShape<I>): HttpCall {
  const json = toJson(desc, message, { registry: knownTypes });
  const fields: JsonObject = isJsonObject(json) ? structuredClone(json) : {};
  const path = fillPath(
    rule.template,
    rule.template.variables.map(({ fieldPath }) => takeField(desc, fields, fieldPath)),
  );
  if (rule.body === "*") {
    return { verb: rule.verb, target: path, body: fields };
  }
  let body: JsonValue | undefined;
  if (rule.body !== "") {
    const name = findField(desc, rule.body)?.jsonName ?? rule.body;
    body = fields[name];
    delete fields[name];
  }
  const query = new URLSearchParams();
  writeQuery(desc, fields, "", query);
  const target = query.size === 0 ? path : `${path}?${query}`;
  return { verb: rule.verb, target, ...(body === undefined ? {} : { body }) };
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
    throw new Error(`${fieldPath.join(".")} of ${desc.typeName} cannot stand in a path: it is no scalar field`);
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
