import { type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { RequestError } from "../../errors/index.js";
import { findField } from "../../http-rule/fields.js";
import { isJsonObject } from "../../json/values.js";
import { FREE_FORMS } from "./json-forms.js";
import { unknownField } from "./unknown-field.js";

/** The kinds of integers of 64 bits. */
const LONG: ReadonlySet<ScalarType | undefined> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);

/**
 * Check what Protobuf's own reading of JSON says too little of: names of fields that do not exist, and integers of 64
 * bits that came as JSON numbers and were rounded.
 *
 * @param desc the message
 * @param json its JSON
 * @param where what the JSON is, for errors, such as `the request`
 * @throws {@link RequestError} naming the field
 */
export function checkFields(desc: DescMessage, json: JsonValue, where: string): void {
  if (!isJsonObject(json) || FREE_FORMS.has(desc.typeName)) {
    return;
  }
  for (const [name, value] of Object.entries(json)) {
    const field = findField(desc, name);
    if (field === undefined && !name.startsWith("[")) {
      throw unknownField(desc, name, where);
    }
    if (field !== undefined) {
      checkValues(field, value, `${where}, ${name}`);
    }
  }
}

function checkValues(field: DescField, value: JsonValue, where: string): void {
  const values =
    field.fieldKind === "list" && Array.isArray(value)
      ? value
      : field.fieldKind === "map" && isJsonObject(value)
        ? Object.values(value)
        : [value];
  for (const item of values) {
    if (LONG.has(field.scalar) && typeof item === "number" && !Number.isSafeInteger(item)) {
      throw new RequestError(`${where}: ${item} is a JSON number that may have been rounded`, {
        advice: "Put integers of 64 bits in quotes.",
      });
    }
    if (field.message !== undefined) {
      checkFields(field.message, item, where);
    }
  }
}
