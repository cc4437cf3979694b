import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { closestName, quoted } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { parseEnumValue } from "../../base/input/message-init.js";
import { findField } from "../../wire/http-rule/request-fields.js";
import { isJsonObject } from "../../wire/json/json-values.js";
import { parseStrictJson } from "../../wire/json/strict-json.js";

/**
 * Applies the values of `--set` to the JSON of a message.
 *
 * A setting is `path=value`. The path consists of field names joined by dots, as in `.proto` files or in JSON, and may end with
 * the key of a map. A repeated field accepts several values, separated by commas (a backslash escapes the next character) or in
 * several settings; together they replace a list in the JSON. A message is given as JSON.
 *
 * @throws {@link RequestError} if a field does not exist, or does not accept the value
 */
export function setFields(desc: DescMessage, json: JsonObject, settings: readonly string[]): void {
  const started = new Set<JsonValue>(); // The lists that settings have created.
  for (const setting of settings) {
    const at = setting.indexOf("=");
    if (at < 1) {
      throw new RequestError(`--set must have the form PATH=VALUE (got ${quoted(setting)})`, {
        advice: "Write a field and its value, such as pagination.first=5.",
      });
    }
    const where = `--set ${quoted(setting)}`;
    const path = setting.slice(0, at).split(".");
    put(desc, json, path, { path, text: setting.slice(at + 1), where, started });
  }
}

interface Setting {
  readonly path: readonly string[];
  readonly text: string;
  /** The setting, for errors. */
  readonly where: string;
  readonly started: Set<JsonValue>;
}

function put(desc: DescMessage, json: JsonObject, [name = "", ...rest]: readonly string[], setting: Setting): void {
  const field = findField(desc, name);
  if (field === undefined) {
    const { path, where } = setting;
    const inner = oneofOf(desc, name)?.fields.find((one) => one.name === rest[0] || one.jsonName === rest[0]);
    const near = inner && path.toSpliced(path.length - rest.length - 1, 1).join(".");
    throw unknownField(desc, name, where, near);
  }
  const key = Object.hasOwn(json, field.name) ? field.name : field.jsonName;
  const current = json[key];
  if (field.fieldKind === "map" && rest.length > 0) {
    json[key] = withEntry(field, isJsonObject(current) ? current : {}, rest, setting);
  } else if (rest.length > 0) {
    json[key] = withInner(field, isJsonObject(current) ? current : {}, rest, setting);
  } else if (field.fieldKind === "list") {
    const values = field.message === undefined ? splitList(setting.text) : [setting.text];
    const before = Array.isArray(current) && setting.started.has(current) ? current : [];
    const list = [...before, ...values.map((text) => oneValue(field, text, setting.where))];
    setting.started.add(list);
    json[key] = list;
  } else {
    json[key] =
      field.fieldKind === "map" ? parsed(setting.text, setting.where) : oneValue(field, setting.text, setting.where);
  }
}

/** Returns a map with another entry. The key of a scalar value may contain dots. */
function withEntry(
  field: DescField & { fieldKind: "map" },
  map: JsonObject,
  path: readonly string[],
  setting: Setting,
): JsonObject {
  const [first = "", ...rest] = path;
  if (field.message === undefined || rest.length === 0) {
    return { ...map, [path.join(".")]: oneValue(field, setting.text, setting.where) };
  }
  const current = Object.hasOwn(map, first) ? map[first] : undefined;
  const inner = isJsonObject(current) ? current : {};
  put(field.message, inner, rest, setting);
  return { ...map, [first]: inner };
}

function withInner(field: DescField, inner: JsonObject, path: readonly string[], setting: Setting): JsonObject {
  if (
    field.fieldKind !== "message" ||
    TEXT_FORMS.has(field.message.typeName) ||
    FREE_FORMS.has(field.message.typeName)
  ) {
    const what = field.fieldKind === "list" ? "is a list" : "has no fields of its own in JSON";
    throw new RequestError(`${setting.where}: ${field.name} ${what}`, {
      advice: `Set the complete field with --set ${field.jsonName}=..., or write the request as JSON.`,
    });
  }
  put(field.message, inner, path, setting);
  return inner;
}

/** Splits a text at its commas. A backslash escapes the next character. */
function splitList(text: string): string[] {
  if (text === "") {
    return [];
  }
  const items = [""];
  for (const [, escaped, character = ""] of text.matchAll(/\\(.)|(.)/gsu)) {
    if (escaped === undefined && character === ",") {
      items.push("");
    } else {
      items.push(`${items.pop()}${escaped ?? character}`);
    }
  }
  return items;
}

/** Converts a single value to JSON. Protobuf's JSON allows numbers as text, and Protobuf checks their type and range. */
function oneValue(field: DescField, text: string, where: string): JsonValue {
  if (field.enum !== undefined) {
    return enumValue(field.enum, text, where);
  }
  const { message } = field;
  if (message !== undefined && !TEXT_FORMS.has(message.typeName)) {
    return parsed(text, where);
  }
  const isBool = field.scalar === ScalarType.BOOL || message?.typeName === "google.protobuf.BoolValue";
  return isBool && (text === "true" || text === "false") ? text === "true" : text;
}

function enumValue(desc: DescEnum, text: string, where: string): JsonValue {
  if (/^-?\d{1,10}$/.test(text)) {
    return Number(text);
  }
  const number = parseEnumValue(desc, text, where);
  return desc.typeName === "google.protobuf.NullValue" ? null : number;
}

function parsed(text: string, where: string): JsonValue {
  const invalid = () =>
    new RequestError(`${where}: a message field must be JSON (got ${quoted(text)})`, {
      advice: "Write JSON, or set the fields of the message one by one, with dots in the path.",
    });
  return parseStrictJson(text, where, invalid);
}

const named = (...names: string[]): ReadonlySet<string> => new Set(names.map((name) => `google.protobuf.${name}`));

/** The well-known messages whose JSON is a single value, which can be written as text. */
const TEXT_FORMS = named(
  ...["Timestamp", "Duration", "FieldMask", "BoolValue", "BytesValue", "StringValue"],
  ...["DoubleValue", "FloatValue", "Int32Value", "Int64Value", "UInt32Value", "UInt64Value"],
);

/** The well-known messages whose JSON does not use their field names. */
const FREE_FORMS = named("Any", "ListValue", "Struct", "Value");

/** Creates the error for a field that a message does not have. */
function unknownField(desc: DescMessage, name: string, where: string, meant?: string): RequestError {
  const oneof = oneofOf(desc, name);
  const names = (oneof ?? desc).fields.map(({ jsonName }) => jsonName);
  const near = meant ?? closestName(name, names);
  const suggestion = near === undefined ? "" : `Did you mean ${near}? `;
  const all = names.length === 0 ? "The message has no fields." : `Fields: ${names.join(", ")}.`;
  return new RequestError(`${where}: unknown field ${quoted(name)} in ${desc.typeName}`, {
    advice: `${suggestion}${oneof === undefined ? "" : `${name} is a oneof. `}${all}`,
  });
}

function oneofOf({ oneofs }: DescMessage, name: string) {
  return oneofs.find((oneof) => oneof.name === name || oneof.localName === name);
}

/** The types of 64-bit integers. */
const LONG: ReadonlySet<ScalarType | undefined> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);

/**
 * Reads a message in JSON: enum values may be without the prefix that they share. It names the errors that Protobuf's JSON parser
 * does not explain: unknown fields and enum values, and 64-bit integers that were written as JSON numbers and rounded.
 *
 * @throws {@link RequestError} naming the field
 */
export function readFields(desc: DescMessage, json: JsonObject, where: string): JsonObject {
  if (FREE_FORMS.has(desc.typeName)) {
    return json;
  }
  const entries = Object.entries(json).map(([name, value]): [string, JsonValue] => {
    const field = findField(desc, name);
    if (field === undefined && !name.startsWith("[")) {
      throw unknownField(desc, name, where);
    }
    return [name, field === undefined ? value : readValues(field, value, `${where}, ${name}`)];
  });
  return Object.fromEntries(entries);
}

function readValues(field: DescField, value: JsonValue, where: string): JsonValue {
  const one = (item: JsonValue) => readValue(field, item, where);
  if (field.fieldKind === "list" && Array.isArray(value)) {
    return value.map(one);
  }
  return field.fieldKind === "map" && isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, one(item)]))
    : one(value);
}

function readValue(field: DescField, item: JsonValue, where: string): JsonValue {
  if (LONG.has(field.scalar) && typeof item === "number" && !Number.isSafeInteger(item)) {
    throw new RequestError(`${where}: ${item} is a JSON number that may have been rounded`, {
      advice: "Put 64-bit integers in quotes.",
    });
  }
  if (field.enum !== undefined && typeof item === "string") {
    return enumValue(field.enum, item, where);
  }
  return field.message !== undefined && isJsonObject(item) ? readFields(field.message, item, where) : item;
}
