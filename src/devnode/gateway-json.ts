import { type DescField, type DescMessage, isMessage, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import { anyToObject, knownTypes } from "../json/any.js";
import { isJsonObject } from "../json/values.js";

/**
 * Write a message as a deployed gateway does: with every field, and `null` for messages that are not set. Below
 * `/api/v2/stream/` defaults are left out, and enums are numbers.
 *
 * @param desc the message's descriptor
 * @param message the message
 * @param terse whether it is written as below `/api/v2/stream/`
 * @returns the JSON
 */
export function messageJson(desc: DescMessage, message: Message, terse = false): JsonValue {
  if (isMessage(message, HttpBodySchema)) {
    const { contentType, data, extensions } = message;
    // Buffer encodes base64 much faster than toJson does.
    const base64 = Buffer.from(data.buffer, data.byteOffset, data.length).toString("base64");
    return { contentType, data: base64, extensions: extensions.map((any) => ({ ...anyToObject(any) })) };
  }
  const json = toJson(desc, message, { registry: knownTypes, alwaysEmitImplicit: !terse, enumAsInteger: terse });
  return terse ? json : withNulls(desc, json);
}

/** The JSON of a message, and `null` for the messages in it that are not set. */
function withNulls(desc: DescMessage, json: JsonValue): JsonValue {
  // The well-known types have a JSON of their own.
  if (!isJsonObject(json) || desc.typeName.startsWith("google.protobuf.")) {
    return json;
  }
  const written: Record<string, JsonValue> = { ...json };
  for (const field of desc.fields) {
    const value = written[field.jsonName];
    if (value !== undefined) {
      written[field.jsonName] = valueWithNulls(field, value);
    } else if (field.fieldKind === "message" && field.oneof === undefined && !field.proto.proto3Optional) {
      written[field.jsonName] = null;
    }
  }
  return written;
}

function valueWithNulls(field: DescField, value: JsonValue): JsonValue {
  if (field.fieldKind === "message") {
    return withNulls(field.message, value);
  }
  if (field.fieldKind === "list" && field.listKind === "message" && Array.isArray(value)) {
    return value.map((item) => withNulls(field.message, item));
  }
  if (field.fieldKind === "map" && field.mapKind === "message" && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withNulls(field.message, item)]));
  }
  return value;
}
