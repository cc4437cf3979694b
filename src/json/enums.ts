import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { ProtocolError } from "../errors/index.js";
import { isJsonObject } from "./values.js";

/**
 * The first number that stands in for an unknown name. Protobuf's JSON carries enum values by name. protobuf-es drops a
 * name that the definitions do not have, and the field gets its default, which is another value. Here such a name gets
 * a number of its own, from the end of the range that no definition uses. The number holds in this process only.
 */
const FIRST_STAND_IN = -(2 ** 31);
/** The most unknown names. No version of the definitions adds as many, so a server that sends more is not a node. */
const MAX_STAND_INS = 10_000;
const unknownNames: string[] = [];
const standIns = new Map<string, number>();

/**
 * Name an enum value as the node named it.
 *
 * A node of a newer version may send names that the definitions do not have. JSON carries them (REST, or gRPC with the
 * JSON codec): the field then holds a negative number that stands in for the name in this process, and this function
 * gives the name back. Protobuf's binary form carries the number only.
 *
 * @param desc the enum's descriptor, such as `StopOrder_StatusSchema`
 * @param value the number that a field holds
 * @returns the full name, such as `STATUS_PENDING`; the number in digits where it has none
 *
 * @example
 * enumName(StopOrder_StatusSchema, stopOrder.status); // "STATUS_PENDING"
 */
export function enumName(desc: DescEnum, value: number): string {
  return desc.value[value]?.name ?? unknownNames[value - FIRST_STAND_IN] ?? String(value);
}

/**
 * Replace enum names that the definitions do not have by numbers; {@link enumName} gives the names back. On the way,
 * refuse integers of 64 bits that came as JSON numbers and that JSON.parse may have rounded.
 *
 * @param desc the message's descriptor
 * @param json the message in Protobuf's JSON; changed in place
 * @param registry the types that an `Any` in it may hold
 * @throws {@link ProtocolError} where a text cannot be the name of an enum value, there are too many unknown ones, or a
 *   number is beyond 2^53
 */
export function numberUnknownEnums(desc: DescMessage, json: JsonValue, registry: Registry): void {
  const replace: Replace = (type, value, field) => {
    if (type === undefined) {
      return checkExact(value, field);
    }
    return typeof value === "string" && !type.values.some(({ name }) => name === value) ? standIn(value, field) : value;
  };
  replaceEnums(desc, json, { replace, registry });
}

function checkExact(value: JsonValue, { name }: DescField): JsonValue {
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw new ProtocolError(`${name} is a JSON number beyond 2^53, near ${value}, which cannot be read exactly`, {
      code: Code.Internal,
      advice: "The node must write integers of 64 bits as text; report it to who runs the node.",
    });
  }
  return value;
}

/**
 * Replace the numbers that {@link numberUnknownEnums} gave by the names that they stand for.
 *
 * @param desc the message's descriptor
 * @param json the message in Protobuf's JSON; changed in place
 * @param registry the types that an `Any` in it may hold
 */
export function nameUnknownEnums(desc: DescMessage, json: JsonValue, registry: Registry): void {
  const replace: Replace = (_, value) =>
    typeof value === "number" ? (unknownNames[value - FIRST_STAND_IN] ?? value) : value;
  replaceEnums(desc, json, { replace, registry });
}

function standIn(name: string, field: DescField): number {
  const known = standIns.get(name);
  if (known !== undefined) {
    return known;
  }
  if (!/^[A-Za-z_]\w{0,199}$/.test(name)) {
    throw new ProtocolError(
      `${field.name} is ${JSON.stringify(name.slice(0, 40))}, which is no name of an enum value`,
      {
        code: Code.Internal,
        advice: "The node's answer does not fit its definitions; report it to who runs the node.",
      },
    );
  }
  if (unknownNames.length >= MAX_STAND_INS) {
    throw new ProtocolError(`the node has sent more than ${MAX_STAND_INS} unknown names of enum values`, {
      code: Code.ResourceExhausted,
      advice: "Check that the URL is the node's own: no version of its definitions has that many.",
    });
  }
  const number = FIRST_STAND_IN + unknownNames.length;
  unknownNames.push(name);
  standIns.set(name, number);
  return number;
}

/** Gives what takes a value's place; the type is undefined for an integer of 64 bits. */
type Replace = (type: DescEnum | undefined, value: JsonValue, field: DescField) => JsonValue;

/** The kinds of integers of 64 bits, and the messages that hold nothing else. */
const LONG: ReadonlySet<ScalarType | string | undefined> = new Set([
  ...[ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64],
  ...["google.protobuf.Int64Value", "google.protobuf.UInt64Value"],
]);

interface Replacing {
  readonly replace: Replace;
  readonly registry: Registry;
}

function replaceEnums(desc: DescMessage, json: JsonValue, replacing: Replacing): void {
  if (!isJsonObject(json)) {
    return;
  }
  if (desc.typeName === "google.protobuf.Any") {
    replaceInAny(json, replacing);
    return;
  }
  // Protobuf's own types have a JSON form of their own.
  if (desc.typeName.startsWith("google.protobuf.")) {
    return;
  }
  for (const field of desc.fields) {
    for (const name of new Set([field.jsonName, field.name])) {
      const value = Object.hasOwn(json, name) ? json[name] : undefined;
      if (value !== undefined) {
        json[name] = replaceIn(field, value, replacing);
      }
    }
  }
}

/** Go on in the content of an `Any`. One of Protobuf's own types stands in `value`, any other beside `@type`. */
function replaceInAny(json: JsonObject, replacing: Replacing): void {
  const type = json["@type"];
  const content =
    typeof type === "string" ? replacing.registry.getMessage(type.slice(type.lastIndexOf("/") + 1)) : undefined;
  if (content === undefined) {
    return;
  }
  const { value } = json;
  const [only] = content.fields;
  if (!content.typeName.startsWith("google.protobuf.")) {
    replaceEnums(content, json, replacing);
  } else if (value !== undefined && only !== undefined && LONG.has(content.typeName)) {
    json["value"] = replaceIn(only, value, replacing);
  } else if (value !== undefined) {
    replaceEnums(content, value, replacing);
  }
}

function replaceIn(field: DescField, value: JsonValue, replacing: Replacing): JsonValue {
  const { replace } = replacing;
  const one = (item: JsonValue): JsonValue => {
    if (field.enum !== undefined && field.enum.typeName !== "google.protobuf.NullValue") {
      return replace(field.enum, item, field);
    }
    if (LONG.has(field.scalar ?? field.message?.typeName)) {
      return replace(undefined, item, field);
    }
    if (field.message !== undefined) {
      replaceEnums(field.message, item, replacing);
    }
    return item;
  };
  if (field.enum === undefined && field.message === undefined && !LONG.has(field.scalar)) {
    return value;
  }
  if (field.fieldKind === "list" && Array.isArray(value)) {
    return value.map(one);
  }
  if (field.fieldKind === "map" && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, one(item)]));
  }
  return one(value);
}
