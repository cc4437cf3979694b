import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { RequestError } from "../../errors/index.js";
import { whatThereIs } from "../../errors/nearest.js";
import { quoted } from "../../errors/quoted.js";
import { findField } from "../../http-rule/fields.js";
import { isJsonObject } from "../../json/values.js";
import { FREE_FORMS, TEXT_FORMS } from "./json-forms.js";
import { unknownField } from "./unknown-field.js";

/**
 * Put the values of `--set` into the JSON of a message.
 *
 * A setting is `path=value`. The path is fields joined by dots, as in `.proto` files or in JSON, and may end in the key
 * of a map. A repeated field takes several values by commas, where a backslash takes the next character as it is, and
 * further ones from further settings; together they replace a list in the JSON. A message is given as JSON.
 *
 * @param desc the message
 * @param json its JSON; changed in place
 * @param settings the settings, in order
 * @throws {@link RequestError} if a field does not exist, or a value cannot be one of its
 */
export function setFields(desc: DescMessage, json: JsonObject, settings: readonly string[]): void {
  const started = new Set<JsonValue>(); // The lists that settings have begun.
  for (const setting of settings) {
    const at = setting.indexOf("=");
    if (at < 1) {
      throw new RequestError(`--set ${quoted(setting)} is no setting`, {
        advice: "Give the path of a field and its value, such as pagination.first=5.",
      });
    }
    const where = `--set ${quoted(setting)}`;
    put(desc, json, setting.slice(0, at).split("."), { text: setting.slice(at + 1), where, started });
  }
}

interface Setting {
  readonly text: string;
  /** The setting, for errors. */
  readonly where: string;
  readonly started: Set<JsonValue>;
}

function put(desc: DescMessage, json: JsonObject, [name = "", ...rest]: readonly string[], setting: Setting): void {
  const field = findField(desc, name);
  if (field === undefined) {
    throw unknownField(desc, name, setting.where);
  }
  const key = Object.hasOwn(json, field.name) ? field.name : field.jsonName;
  const held = json[key];
  if (field.fieldKind === "map" && rest.length > 0) {
    json[key] = withEntry(field, isJsonObject(held) ? held : {}, rest, setting);
  } else if (rest.length > 0) {
    json[key] = withInner(field, isJsonObject(held) ? held : {}, rest, setting);
  } else if (field.fieldKind === "list") {
    const values = field.message === undefined ? splitList(setting.text) : [setting.text];
    const before = Array.isArray(held) && setting.started.has(held) ? held : [];
    const list = [...before, ...values.map((text) => oneValue(field, text, setting.where))];
    setting.started.add(list);
    json[key] = list;
  } else {
    json[key] =
      field.fieldKind === "map" ? parsed(setting.text, setting.where) : oneValue(field, setting.text, setting.where);
  }
}

/** A map with a further entry. The key of a scalar value may hold dots. */
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
  const held = Object.hasOwn(map, first) ? map[first] : undefined;
  const inner = isJsonObject(held) ? held : {};
  put(field.message, inner, rest, setting);
  return { ...map, [first]: inner };
}

function withInner(field: DescField, inner: JsonObject, path: readonly string[], setting: Setting): JsonObject {
  if (
    field.fieldKind !== "message" ||
    TEXT_FORMS.has(field.message.typeName) ||
    FREE_FORMS.has(field.message.typeName)
  ) {
    const what = field.fieldKind === "list" ? "is a list" : "is no message with fields of its own in JSON";
    throw new RequestError(`${setting.where}: ${field.name} ${what}`, {
      advice: `Give it whole, such as --set ${field.jsonName}=..., or give the request as JSON.`,
    });
  }
  put(field.message, inner, path, setting);
  return inner;
}

/** Split a text at its commas. A backslash takes the next character as it is. */
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

/** The JSON of a single value. In Protobuf's JSON numbers may be text; Protobuf checks their kind and range. */
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
  const wanted = text.toUpperCase();
  const found = desc.values.find(({ name, localName }) =>
    [name, localName].some((known) => known.toUpperCase() === wanted),
  );
  if (found !== undefined) {
    return desc.typeName === "google.protobuf.NullValue" ? null : found.name;
  }
  const names = desc.values.map(({ name }) => name);
  throw new RequestError(`${where}: ${quoted(text)} is no value of ${desc.typeName}`, {
    advice: whatThereIs(text, names),
  });
}

function parsed(text: string, where: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    throw new RequestError(`${where}: a message is needed, and ${quoted(text)} is no JSON`, {
      advice: "Give it as JSON, or set its fields one by one, with dots in the path.",
    });
  }
}
