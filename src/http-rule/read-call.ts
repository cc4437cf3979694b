import { type DescField, type DescMessage, fromJson, type JsonObject, type MessageShape } from "@bufbuild/protobuf";
import type { HttpBody } from "../../gen/client/google/api/httpbody_pb.js";
import { RequestError } from "../errors/index.js";
import { knownTypes } from "../json/any.js";
import { isJsonObject } from "../json/values.js";
import { findField, putField } from "./fields.js";
import { type HttpBinding, type HttpCall, takesRaw } from "./http-rule.js";
import { requireKnownEnums } from "./known-enums.js";
import { matchPath } from "./path-template.js";

/**
 * Read an HTTP call back into a request message; the inverse of `writeCall`. Unknown fields are ignored.
 *
 * @param desc the message's descriptor
 * @param rule the way to call the method
 * @param call the call, whose target is percent-encoded; `body` is asked for only where the rule takes JSON, and `raw`
 *   only where it takes bytes
 * @param options whether values of enums that the definitions do not have are refused, as deployed gateways do
 * @returns the message, or undefined where verb or path do not match
 * @throws {@link RequestError} where a value does not fit its field, or the body is not a JSON object as the rule wants
 */
export function readCall<I extends DescMessage>(
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
  const body = takesRaw(desc, rule) ? rawJson(call.raw) : structuredClone(call.body);
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
      requireOnce(desc, fieldPath, seen);
      putField(desc, json, fieldPath, value);
    }
  }
  rule.template.variables.forEach(({ fieldPath }, index) => {
    putField(desc, json, fieldPath, values[index] ?? "");
  });
  if (knownEnums && !takesRaw(desc, rule)) {
    requireKnownEnums(desc, json);
  }
  try {
    return fromJson(desc, json, { registry: knownTypes, ignoreUnknownFields: true });
  } catch (cause) {
    throw new RequestError(cause instanceof Error ? cause.message : String(cause), {
      advice: "Correct the value; the interface's definitions say which form it has.",
      cause,
    });
  }
}

/** Refuse a parameter that is given twice, and is no list. */
function requireOnce(desc: DescMessage, fieldPath: readonly string[], seen: Set<string>): void {
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
    throw new RequestError(`the parameter ${path} is given twice`, { advice: "Give it once: it holds one value." });
  }
  seen.add(path);
}

/** An `HttpBody` in Protobuf's JSON. */
function rawJson(raw: HttpBody | undefined): JsonObject | undefined {
  return raw && { contentType: raw.contentType, data: Buffer.from(raw.data).toString("base64") };
}
