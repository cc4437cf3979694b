import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { RequestError } from "../../base/errors/index.js";
import { invalidValueError } from "../../base/input/assert.js";
import { isJsonObject } from "../json/json-values.js";

const fieldsByName = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** Finds a field by its name in the definitions, or by that in JSON. */
export function findField(desc: DescMessage, name: string): DescField | undefined {
  const known = fieldsByName.get(desc);
  if (known !== undefined) {
    return known.get(name);
  }
  // Of several fields with a name, the first counts.
  const fields = desc.fields.flatMap((field) => [[field.name, field] as const, [field.jsonName, field] as const]);
  const byName = new Map(fields.reverse());
  fieldsByName.set(desc, byName);
  return byName.get(name);
}

/** Types that a query string cannot represent: their JSON distinguishes types of values, and text does not. */
const FREE_FORM = new Set(["Any", "ListValue", "Struct", "Value"].map((name) => `google.protobuf.${name}`));

/**
 * Appends fields to a query string. Dots join the names of nested fields, and repeated fields repeat their name.
 *
 * @throws {@link RequestError} if a field is a map, has a free form, is a list of messages, or is not valid Unicode
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
      throw notInQuery(name, "free-form");
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
  const text = value === null ? "NULL_VALUE" : String(value); // Only the enum NullValue is null in JSON.
  if (/\p{Surrogate}/u.test(text)) {
    throw notInQuery(name, "text that UTF-8 cannot encode");
  }
  return text;
}

function notInQuery(name: string, what: string): RequestError {
  return new RequestError(`${name} is ${what}, which a query string cannot contain`, {
    errorCode: "TW_NOT_OVER_REST",
    advice: "Call this method over gRPC, or omit the field.",
  });
}

/**
 * Sets a field to a value that was sent as text. Ignores a field that does not exist.
 *
 * @throws {@link RequestError} if the text is not a value of the field's enum
 */
export function setField(desc: DescMessage, json: JsonObject, fieldPath: readonly string[], text: string): void {
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
      setField(field.message, object, rest, text);
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

/** Converts a value that was sent as text to Protobuf's JSON, in which numbers may be text, but booleans and enums may not. */
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
  // protobuf-es would ignore an unknown name like an unknown field, and the call would be a different one.
  assertKnownEnumValue(field, field.enum, text);
  return text;
}

/** The booleans that Go parses, and therefore the gateways of deployed nodes. */
const booleans: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

/**
 * Throws if a message has an unknown enum value. protobuf-es would drop it, and the call would be a different one.
 *
 * @throws {@link RequestError} with the field, the value and the valid values
 */
export function assertKnownEnums(desc: DescMessage, json: JsonValue): void {
  // The well-known types have their own JSON.
  if (!isJsonObject(json) || desc.typeName.startsWith("google.protobuf.")) {
    return;
  }
  for (const field of desc.fields) {
    for (const value of [json[field.jsonName], json[field.name]]) {
      for (const item of valuesIn(field, value)) {
        if (field.enum !== undefined) {
          assertKnownEnumValue(field, field.enum, item);
        } else if (field.message !== undefined) {
          assertKnownEnums(field.message, item);
        }
      }
    }
  }
}

function valuesIn(field: DescField, value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined || value === null) {
    return [];
  }
  if (field.fieldKind === "list") {
    return Array.isArray(value) ? value : [];
  }
  if (field.fieldKind === "map") {
    return isJsonObject(value) ? Object.values(value) : [];
  }
  return [value];
}

/**
 * Throws if an enum does not have a value.
 *
 * @throws {@link RequestError} with the field, the value and the valid values
 */
function assertKnownEnumValue(field: DescField, type: DescEnum, value: JsonValue): void {
  const isKnown =
    typeof value === "string"
      ? type.values.some(({ name }) => name === value)
      : typeof value !== "number" || type.values.some(({ number }) => number === value);
  if (!isKnown) {
    const names = type.values.map(({ name }) => name).join(", ");
    throw invalidValueError(`${field.parent.typeName}.${field.name}`, value, `one of ${names}`);
  }
}
