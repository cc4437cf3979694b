import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonValue,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { isJsonObject } from "./values.js";

/** Functions that give what takes a value's place, by the kind of the field; values of other kinds stay. */
export interface Replacements {
  readonly enums?: (value: JsonValue, field: DescField, type: DescEnum) => JsonValue;
  /** For integers of 64 bits. */
  readonly longs?: (value: JsonValue, field: DescField) => JsonValue;
  readonly floats?: (value: JsonValue, field: DescField) => JsonValue;
  readonly doubles?: (value: JsonValue, field: DescField) => JsonValue;
  /** Called with the type of each message that has fields, at any depth. */
  readonly onMessage?: (type: DescMessage) => void;
}

/** The kind of a scalar among those that can be replaced. */
const KINDS: Partial<Record<ScalarType, "longs" | "floats" | "doubles">> = {
  [ScalarType.INT64]: "longs",
  [ScalarType.UINT64]: "longs",
  [ScalarType.SINT64]: "longs",
  [ScalarType.FIXED64]: "longs",
  [ScalarType.SFIXED64]: "longs",
  [ScalarType.FLOAT]: "floats",
  [ScalarType.DOUBLE]: "doubles",
};

/**
 * Replace values of a message in Protobuf's JSON, by the kinds of their fields: at any depth, in lists, maps, wrappers
 * and in an `Any` whose type is known.
 *
 * @param desc the message's descriptor
 * @param json the message in Protobuf's JSON; changed in place
 * @param registry the types that an `Any` may hold
 * @param replacements what takes a value's place
 * @returns the message: `json` itself, or a value in its place where the message is a wrapper
 */
export function replaceValues(
  desc: DescMessage,
  json: JsonValue,
  registry: Registry,
  replacements: Replacements,
): JsonValue {
  function inMessage(type: DescMessage, value: JsonValue, field: DescField | undefined): JsonValue {
    if (isWrapperDesc(type)) {
      const [inner] = type.fields;
      return scalar(inner.scalar, value, field ?? inner);
    }
    if (!isJsonObject(value)) {
      return value;
    }
    if (type.typeName === "google.protobuf.Any") {
      const url = value["@type"];
      const held = typeof url === "string" ? registry.getMessage(url.slice(url.lastIndexOf("/") + 1)) : undefined;
      if (held !== undefined && hasCustomJsonRepresentation(held)) {
        if (value["value"] !== undefined) {
          value["value"] = inMessage(held, value["value"], field);
        }
      } else if (held !== undefined) {
        inMessage(held, value, field);
      }
      return value;
    }
    if (hasCustomJsonRepresentation(type)) {
      return value;
    }
    replacements.onMessage?.(type);
    const fields = replaceable(type);
    for (const name of Object.keys(value)) {
      const each = fields.get(name);
      const content = value[name];
      if (each !== undefined && content !== undefined) {
        value[name] = inField(each, content);
      }
    }
    return value;
  }

  function inField(field: DescField, value: JsonValue): JsonValue {
    if (field.fieldKind === "list" && Array.isArray(value)) {
      return value.map((item) => one(field, item));
    }
    if (field.fieldKind === "map" && isJsonObject(value)) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, one(field, item)]));
    }
    return one(field, value);
  }

  function one(field: DescField, value: JsonValue): JsonValue {
    if (field.enum !== undefined) {
      const isNull = field.enum.typeName === "google.protobuf.NullValue";
      return isNull ? value : (replacements.enums?.(value, field, field.enum) ?? value);
    }
    return field.message === undefined ? scalar(field.scalar, value, field) : inMessage(field.message, value, field);
  }

  function scalar(type: ScalarType | undefined, value: JsonValue, field: DescField): JsonValue {
    const kind = kindOf(type);
    return kind === undefined ? value : (replacements[kind]?.(value, field) ?? value);
  }

  return inMessage(desc, json, undefined);
}

const fieldsOf = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** The fields of a message type in which something may be replaced, by the names that they may have in JSON. */
function replaceable(type: DescMessage): ReadonlyMap<string, DescField> {
  const known = fieldsOf.get(type);
  if (known !== undefined) {
    return known;
  }
  const fields = type.fields.filter(
    (field) => field.enum !== undefined || field.message !== undefined || kindOf(field.scalar) !== undefined,
  );
  const byName = new Map(fields.flatMap((field) => [[field.jsonName, field] as const, [field.name, field] as const]));
  fieldsOf.set(type, byName);
  return byName;
}

function kindOf(type: ScalarType | undefined): "longs" | "floats" | "doubles" | undefined {
  return type === undefined ? undefined : KINDS[type];
}
