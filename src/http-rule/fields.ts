import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { RequestError } from "../errors/index.js";
import { isJsonObject } from "../json/values.js";

/** The field of that name, as the definitions or Protobuf's JSON spell it. */
export function findField(desc: DescMessage, name: string): DescField | undefined {
  return desc.fields.find((field) => field.name === name || field.jsonName === name);
}

/** The types whose JSON says of what kind a value is, which text in a query string cannot. */
const FREE_FORM = new Set(["Any", "ListValue", "Struct", "Value"].map((name) => `google.protobuf.${name}`));

/** Write fields as parameters of a query string: nested ones by dots, repeated ones by repeating the name. */
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
        query.append(name, String(item));
      } else if (field.fieldKind === "message") {
        writeQuery(field.message, item, `${name}.`, query);
      } else {
        throw notInQuery(name, "a list of messages");
      }
    }
  }
}

function notInQuery(name: string, what: string): RequestError {
  return new RequestError(`${name} is ${what}, which cannot stand in a query string`, {
    advice: "Call this method over gRPC, or leave the field out.",
  });
}

/** Put a value that came as text into its field, by the field's path. A field that does not exist is passed over. */
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

/** The JSON of a value that came as text. Numbers may stay text in Protobuf's JSON; booleans and enum numbers may not. */
function fieldValue(field: DescField, text: string): JsonValue {
  const isBool = field.scalar === ScalarType.BOOL || field.message?.typeName === "google.protobuf.BoolValue";
  if (isBool && (text === "true" || text === "false")) {
    return text === "true";
  }
  if (field.enum === undefined) {
    return text;
  }
  if (/^-?\d+$/.test(text)) {
    return Number(text);
  }
  // Protobuf's JSON ignores an unknown name together with unknown fields: the call would be another than was meant.
  if (!field.enum.values.some(({ name }) => name === text)) {
    throw new RequestError(`${JSON.stringify(text)} is no value of ${field.parent.typeName}.${field.name}`, {
      advice: `Choose one of: ${field.enum.values.map(({ name }) => name).join(", ")}.`,
    });
  }
  return text;
}
