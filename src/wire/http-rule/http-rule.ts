import { type DescMessage, type DescMethod, getOption, hasOption, type JsonValue } from "@bufbuild/protobuf";
import { http as httpOption } from "../../../gen/client/google/api/annotations_pb.js";
import type { HttpRule } from "../../../gen/client/google/api/http_pb.js";
import { type HttpBody, HttpBodySchema } from "../../../gen/client/google/api/httpbody_pb.js";
import { isJsonObject } from "../json/json-values.js";
import { type PathTemplate, parsePathTemplate } from "./path-template.js";
import { findField } from "./request-fields.js";

/** A binding of a method to HTTP. */
export interface HttpBinding {
  /** The HTTP method, such as `GET`. */
  readonly verb: string;
  readonly template: PathTemplate;
  /** The field of the request that is the body; `*` for all fields that are not in the path, empty for no body. */
  readonly body: string;
  /** The field of the response that is the body; empty for the complete response. */
  readonly responseBody: string;
}

/** A call as an HTTP request. */
export interface HttpCall {
  readonly verb: string;
  /** Path and query string, percent-encoded. */
  readonly target: string;
  /** The JSON body, if there is one. */
  readonly body?: JsonValue | undefined;
  /** The body if it is a `google.api.HttpBody`: bytes with their own content type. */
  readonly raw?: HttpBody;
}

/** Caches, because reading an option and parsing a path take longer than many small calls. */
const rules = new WeakMap<DescMethod, { readonly rule: HttpRule | undefined }>();
const bindings = new WeakMap<HttpRule, readonly HttpBinding[]>();

/**
 * Returns the HTTP bindings of a method, from its `google.api.http` option.
 *
 * @throws Error if a path of the option is not a path template
 */
export function httpBindings(method: DescMethod): readonly HttpBinding[] {
  const rule = ruleOf(method);
  if (rule === undefined) {
    return [];
  }
  const known = bindings.get(rule);
  if (known !== undefined) {
    return known;
  }
  const all = [rule, ...rule.additionalBindings].flatMap(binding);
  bindings.set(rule, all);
  return all;
}

/** Returns the HTTP method of a method's main binding, without parsing its path. */
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

/** Returns whether the body of a request is the bytes of a `google.api.HttpBody` rather than JSON. */
export function hasRawRequest(desc: DescMessage, { body }: HttpBinding): boolean {
  return (body === "*" ? desc : findField(desc, body)?.message)?.typeName === HttpBodySchema.typeName;
}

/** Returns whether the body of a response is the bytes of a `google.api.HttpBody` rather than JSON. */
export function hasRawResponse(desc: DescMessage, { responseBody }: HttpBinding): boolean {
  const body = responseBody === "" ? desc : findField(desc, responseBody)?.message;
  return body?.typeName === HttpBodySchema.typeName;
}

export function responsePart(desc: DescMessage, { responseBody }: HttpBinding, json: JsonValue): JsonValue {
  const field = findField(desc, responseBody);
  return field === undefined || !isJsonObject(json) ? json : (json[field.jsonName] ?? null);
}
