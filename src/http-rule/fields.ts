import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { RequestError } from "../errors/index.js";
import { isJsonObject } from "../json/values.js";
import { requireKnown } from "./known-enums.js";

/**
 * Find a field of a message by its name.
 *
 * @param desc the message's descriptor
 * @param name the name, as the definitions or Protobuf's JSON spell it
 * @returns the field, or undefined where the message has none of that name
 */
export function findField(desc: DescMessage, name: string): DescField | undefined {
  return desc.fields.find((field) => field.name === name || field.jsonName === name);
}

/** Types that a query string cannot carry: their JSON tells the kind of a value, and text does not. */
const FREE_FORM = new Set(["Any", "ListValue", "Struct", "Value"].map((name) => `google.protobuf.${name}`));

/**
 * Write fields as parameters of a query string. Dots join the names of nested fields; repeated fields repeat the name.
 *
 * @param desc the message's descriptor
 * @param json the message in Protobuf's JSON
 * @param prefix the text in front of each name: empty, or the outer field's name with a dot
 * @param query the parameters to append to
 * @throws {@link RequestError} where a field is a map, of free form, a list of messages, or text that is no Unicode
 */
export function writeQuery(desc: DescMessage, json: JsonObject, prefix: string, query: URLSearchParams): void {
  for (const field of desc.fields) {
    const value = json[field.jsonName];
    if (value === undefined) {
      continue;
    }
    const name = `${prefix}${field.jsonName}`;
    if (field.fieldKind === "map") {
      throw notInQuery(name, "a map");
    }
    if (FREE_FORM.has(field.message?.typeName ?? "")) {
      throw notInQuery(name, "of free form");
    }
    for (const item of Array.isArray(value) ? value : [value]) {
      if (!isJsonObject(item)) {
        query.append(name, queryText(name, item));
      } else if (field.fieldKind === "message") {
        writeQuery(field.message, item, `${name}.`, query);
      } else {
        throw notInQuery(name, "a list of messages");
      }
    }
  }
}

function queryText(name: string, value: JsonValue): string {
  const text = value === null ? "NULL_VALUE" : String(value); // Only the enum of that one value is null in JSON.
  if (/\p{Surrogate}/u.test(text)) {
    throw notInQuery(name, "text that no UTF-8 can hold");
  }
  return text;
}

function notInQuery(name: string, what: string): RequestError {
  return new RequestError(`${name} is ${what}, which cannot stand in a query string`, {
    advice: "Call this method over gRPC, or leave the field out.",
  });
}

/**
 * Put a value that came as text into its field. A field that does not exist is ignored.
 *
 * @param desc the message's descriptor
 * @param json the message in Protobuf's JSON; changed in place
 * @param fieldPath the field's name, after the names of the messages that hold it
 * @param text the value, decoded
 * @throws {@link RequestError} where the text is not the name of a value of the field's enum
 */
export function putField(desc: DescMessage, json: JsonObject, fieldPath: readonly string[], text: string): void {
  const [name = "", ...rest] = fieldPath;
  const field = findField(desc, name);
  if (field === undefined) {
    return;
  }
  if (rest.length > 0) {
    if (field.fieldKind === "message") {
      const inner = json[field.jsonName];
      const object = isJsonObject(inner) ? inner : {};
      json[field.jsonName] = object;
      putField(field.message, object, rest, text);
    }
    return;
  }
  const value = fieldValue(field, text);
  if (field.fieldKind === "list") {
    const list = json[field.jsonName];
    if (Array.isArray(list)) {
      list.push(value);
    } else {
      json[field.jsonName] = [value];
    }
  } else {
    json[field.jsonName] = value;
  }
}

/** The JSON of a value that came as text. In Protobuf's JSON numbers may be text, but not booleans and enum numbers. */
function fieldValue(field: DescField, text: string): JsonValue {
  const isBool = field.scalar === ScalarType.BOOL || field.message?.typeName === "google.protobuf.BoolValue";
  if (isBool) {
    return booleans.get(text) ?? text;
  }
  if (field.enum === undefined) {
    return text;
  }
  if (/^-?\d+$/.test(text)) {
    return Number(text);
  }
  // protobuf-es ignores an unknown name together with unknown fields: another call than the caller's would be made.
  requireKnown(field, field.enum, text);
  return text;
}

/** The texts of booleans that Go reads, and so the gateways of deployed nodes. */
const booleans: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);
