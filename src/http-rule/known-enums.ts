import type { DescEnum, DescField, DescMessage, JsonValue } from "@bufbuild/protobuf";
import { RequestError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { isJsonObject } from "../json/values.js";

/**
 * Refuse values of enums that the definitions do not have. Read as they are, a name would be left out, and the call be
 * another one than the caller's.
 *
 * @param desc the message's descriptor
 * @param json the message in Protobuf's JSON; what has another form is left to be read
 * @throws {@link RequestError} naming the field, the value and what is possible
 */
export function requireKnownEnums(desc: DescMessage, json: JsonValue): void {
  // The well-known types have a JSON of their own.
  if (!isJsonObject(json) || desc.typeName.startsWith("google.protobuf.")) {
    return;
  }
  for (const field of desc.fields) {
    for (const value of [json[field.jsonName], json[field.name]]) {
      for (const item of valuesIn(field, value)) {
        if (field.enum !== undefined) {
          requireKnown(field, field.enum, item);
        } else if (field.message !== undefined) {
          requireKnownEnums(field.message, item);
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
 * Refuse a value that an enum does not have.
 *
 * @param field the field that it is for
 * @param type the field's enum
 * @param value the value's name or number; what is neither is left to be read
 * @throws {@link RequestError} naming the field, the value and what is possible
 */
export function requireKnown(field: DescField, type: DescEnum, value: JsonValue): void {
  const isKnown =
    typeof value === "string"
      ? type.values.some(({ name }) => name === value)
      : typeof value !== "number" || type.values.some(({ number }) => number === value);
  if (!isKnown) {
    throw new RequestError(`${quoted(String(value))} is no value of ${field.parent.typeName}.${field.name}`, {
      advice: `Choose one of: ${type.values.map(({ name }) => name).join(", ")}.`,
    });
  }
}
