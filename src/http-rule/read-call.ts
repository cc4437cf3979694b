import { type DescMessage, fromJson, type JsonObject, type MessageShape } from "@bufbuild/protobuf";
import type { HttpBody } from "../../gen/client/google/api/httpbody_pb.js";
import { RequestError } from "../errors/index.js";
import { knownTypes } from "../json/any.js";
import { isJsonObject } from "../json/values.js";
import { findField, putField } from "./fields.js";
import { type HttpBinding, type HttpCall, takesRaw } from "./http-rule.js";
import { matchPath } from "./path-template.js";

/**
 * Read an HTTP call back into a request message; the inverse of `writeCall`. Unknown fields are ignored.
 *
 * @param desc the message's descriptor
 * @param rule the way to call the method
 * @param call the call, whose target is percent-encoded; `body` is asked for only where the rule takes JSON, and `raw`
 *   only where it takes bytes
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
  const body = takesRaw(desc, rule) ? rawJson(call.raw) : structuredClone(call.body);
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

/** An `HttpBody` in Protobuf's JSON. */
function rawJson(raw: HttpBody | undefined): JsonObject | undefined {
  return raw && { contentType: raw.contentType, data: Buffer.from(raw.data).toString("base64") };
}
