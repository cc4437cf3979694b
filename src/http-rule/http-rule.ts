import { type DescMessage, type DescMethod, getOption, hasOption, type JsonValue } from "@bufbuild/protobuf";
import { http as httpOption } from "../../gen/client/google/api/annotations_pb.js";
import type { HttpRule } from "../../gen/client/google/api/http_pb.js";
import { type HttpBody, HttpBodySchema } from "../../gen/client/google/api/httpbody_pb.js";
import { isJsonObject } from "../json/values.js";
import { findField } from "./fields.js";
import { type PathTemplate, parsePathTemplate } from "./path-template.js";

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
  readonly body?: JsonValue | undefined;
  /** The body where the rule's is a `google.api.HttpBody`: bytes of a content type of their own. */
  readonly raw?: HttpBody;
}

/** What was read of methods, as reading it takes longer than many a small call. */
const rules = new WeakMap<DescMethod, { readonly rule: HttpRule | undefined }>();
const bindings = new WeakMap<DescMethod, readonly HttpBinding[]>();

/**
 * List the ways to call a method over HTTP, as its `google.api.http` option has them.
 *
 * @param method the method's descriptor
 * @returns the bindings, the main one first; empty where the method has no such option
 * @throws Error where a path of the option is not a path template
 */
export function httpBindings(method: DescMethod): readonly HttpBinding[] {
  const known = bindings.get(method);
  if (known !== undefined) {
    return known;
  }
  const rule = ruleOf(method);
  const all = rule === undefined ? [] : [rule, ...rule.additionalBindings].flatMap(binding);
  bindings.set(method, all);
  return all;
}

/**
 * Find the HTTP method of a method's main binding, whatever its path is.
 *
 * @param method the method's descriptor
 * @returns the HTTP method, such as `GET`; undefined where there is no binding
 */
export function mainVerb(method: DescMethod): string | undefined {
  const rule = ruleOf(method);
  return rule && verbAndPath(rule)?.verb;
}

function ruleOf(method: DescMethod): HttpRule | undefined {
  const known = rules.get(method);
  if (known !== undefined) {
    return known.rule;
  }
  const rule = hasOption(method, httpOption) ? getOption(method, httpOption) : undefined;
  rules.set(method, { rule });
  return rule;
}

function binding(rule: HttpRule): HttpBinding[] {
  const { body, responseBody } = rule;
  const { verb, path } = verbAndPath(rule) ?? {};
  return verb === undefined || path === undefined
    ? []
    : [{ verb, template: parsePathTemplate(path), body, responseBody }];
}

function verbAndPath({ pattern }: HttpRule): { readonly verb: string; readonly path: string } | undefined {
  switch (pattern.case) {
    case undefined:
      return undefined;
    case "custom":
      return { verb: pattern.value.kind, path: pattern.value.path };
    default:
      return { verb: pattern.case.toUpperCase(), path: pattern.value };
  }
}

/**
 * Whether a request's body is the bytes of a `google.api.HttpBody`, not JSON.
 *
 * @param desc the request message's descriptor
 * @param rule the way that the method is called
 * @returns true where the request, or its field that is the body, is an `HttpBody`
 */
export function takesRaw(desc: DescMessage, { body }: HttpBinding): boolean {
  return (body === "*" ? desc : findField(desc, body)?.message)?.typeName === HttpBodySchema.typeName;
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
