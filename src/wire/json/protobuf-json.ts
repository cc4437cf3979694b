import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { Code } from "../../base/errors/code.js";
import { ProtocolError } from "../../base/errors/index.js";
import { assertDescriptor } from "../../base/input/assert.js";
import { isJsonObject } from "./json-values.js";

/** Functions that return the replacement of a value, by the kind of its field. Values of other kinds remain unchanged. */
export interface Replacements {
  readonly enums?: (value: JsonValue, field: DescField, type: DescEnum) => JsonValue;
  /** For integers of 32 bits. */
  readonly integers?: (value: JsonValue, field: DescField) => JsonValue;
  /** For integers of 64 bits. */
  readonly longs?: (value: JsonValue, field: DescField) => JsonValue;
  readonly floats?: (value: JsonValue, field: DescField) => JsonValue;
  readonly doubles?: (value: JsonValue, field: DescField) => JsonValue;
  /** Is called with each message that has fields, at any depth. */
  readonly onMessage?: (type: DescMessage, value: JsonObject) => void;
  /** Is called with each `Any`, whose content is then not searched. */
  readonly onAny?: (value: JsonObject) => void;
}

type NumberKind = "integers" | "longs" | "floats" | "doubles";
type ValueKind = NumberKind | "enums";

/** The kinds of the scalars that can be replaced. */
const KINDS: Partial<Record<ScalarType, NumberKind>> = {
  [ScalarType.INT32]: "integers",
  [ScalarType.UINT32]: "integers",
  [ScalarType.SINT32]: "integers",
  [ScalarType.FIXED32]: "integers",
  [ScalarType.SFIXED32]: "integers",
  [ScalarType.INT64]: "longs",
  [ScalarType.UINT64]: "longs",
  [ScalarType.SINT64]: "longs",
  [ScalarType.FIXED64]: "longs",
  [ScalarType.SFIXED64]: "longs",
  [ScalarType.FLOAT]: "floats",
  [ScalarType.DOUBLE]: "doubles",
};

/**
 * Replaces values of a message in Protobuf's JSON, by the kinds of their fields: at any depth, in lists, maps, wrappers and
 * in each `Any` of a known type.
 */
export function replaceValues(
  desc: DescMessage,
  json: JsonValue,
  registry: Registry,
  replacements: Replacements,
): JsonValue {
  return mayReplace(desc, replacements) ? inMessage({ registry, replacements }, desc, json, undefined) : json;
}

interface Walk {
  readonly registry: Registry;
  readonly replacements: Replacements;
}

function inMessage(walk: Walk, type: DescMessage, value: JsonValue, field: DescField | undefined): JsonValue {
  const { replacements } = walk;
  if (isWrapperDesc(type)) {
    const [inner] = type.fields;
    return replaceScalar(inner.scalar, value, field ?? inner, replacements);
  }
  if (!isJsonObject(value)) {
    return value;
  }
  if (isAny(type)) {
    if (replacements.onAny === undefined) {
      inAny(walk, value, field);
    } else {
      replacements.onAny(value);
    }
    return value;
  }
  if (hasCustomJsonRepresentation(type)) {
    return value;
  }
  replacements.onMessage?.(type, value);
  const fields = replaceable(type);
  for (const name of Object.keys(value)) {
    const each = fields.get(name);
    const content = value[name];
    if (each !== undefined && content !== undefined) {
      value[name] = inField(walk, each, content);
    }
  }
  return value;
}

function inAny(walk: Walk, any: JsonObject, field: DescField | undefined): void {
  const url = any["@type"];
  const type = typeof url === "string" ? walk.registry.getMessage(url.slice(url.lastIndexOf("/") + 1)) : undefined;
  if (type !== undefined && !hasCustomJsonRepresentation(type)) {
    inMessage(walk, type, any, field);
  } else if (type !== undefined && any["value"] !== undefined) {
    any["value"] = inMessage(walk, type, any["value"], field);
  }
}

function inField(walk: Walk, field: DescField, value: JsonValue): JsonValue {
  if (field.fieldKind === "list" && Array.isArray(value)) {
    return value.map((item) => one(walk, field, item));
  }
  if (field.fieldKind === "map" && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, one(walk, field, item)]));
  }
  return one(walk, field, value);
}

function one(walk: Walk, field: DescField, value: JsonValue): JsonValue {
  if (field.enum !== undefined) {
    return replaceEnum(field.enum, value, field, walk.replacements);
  }
  return field.message === undefined
    ? replaceScalar(field.scalar, value, field, walk.replacements)
    : inMessage(walk, field.message, value, field);
}

/** Returns whether messages of a type can contain a value that has a replacement, at any depth. */
function mayReplace(desc: DescMessage, replacements: Replacements): boolean {
  const kinds = replacements.onMessage === undefined ? kindsIn(desc) : undefined;
  return kinds === undefined || kinds.some((kind) => replacements[kind] !== undefined);
}

const knownKinds = new WeakMap<DescMessage, { readonly kinds: readonly ValueKind[] | undefined }>();

/** Returns the kinds of the values that messages of a type can contain; `undefined` if an `Any` may contain more. */
function kindsIn(desc: DescMessage): readonly ValueKind[] | undefined {
  const known = knownKinds.get(desc);
  if (known !== undefined) {
    return known.kinds;
  }
  const types = [...messageTypesIn(desc)];
  const fields = types.flatMap((type) => type.fields);
  const found = fields.map(({ enum: type, scalar }) => (type === undefined ? kindOf(scalar) : "enums"));
  const kinds = types.some(isAny) ? undefined : [...new Set(found)].filter((kind) => kind !== undefined);
  knownKinds.set(desc, { kinds });
  return kinds;
}

/** Returns the message types whose fields JSON of a type can contain, at any depth, without those in an `Any`. */
export function messageTypesIn(type: DescMessage, types: Set<DescMessage> = new Set()): ReadonlySet<DescMessage> {
  const hasFields = !hasCustomJsonRepresentation(type) || isWrapperDesc(type) || isAny(type);
  if (hasFields && !types.has(type)) {
    types.add(type);
    for (const { message } of type.fields) {
      if (message !== undefined) {
        messageTypesIn(message, types);
      }
    }
  }
  return types;
}

export function isAny({ typeName }: DescMessage): boolean {
  return typeName === "google.protobuf.Any";
}

function replaceEnum(type: DescEnum, value: JsonValue, field: DescField, { enums }: Replacements): JsonValue {
  return type.typeName === "google.protobuf.NullValue" ? value : (enums?.(value, field, type) ?? value);
}

function replaceScalar(
  type: ScalarType | undefined,
  value: JsonValue,
  field: DescField,
  replacements: Replacements,
): JsonValue {
  const kind = kindOf(type);
  return kind === undefined ? value : (replacements[kind]?.(value, field) ?? value);
}

const fieldsOf = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** Returns the fields of a message type that may contain replaceable values, by their names in JSON. */
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

function kindOf(type: ScalarType | undefined): NumberKind | undefined {
  return type === undefined ? undefined : KINDS[type];
}

/**
 * The first number that represents an unknown name. Protobuf's JSON has enum values by name. protobuf-es drops a name that
 * the definitions lack, so that the field has its default, which is a different value. Here, such a name is assigned a
 * number from the end of the range that no definition uses. The number is valid in this process only.
 */
const FIRST_UNKNOWN = -(2 ** 31);
/** The maximum number of unknown names. No version of the definitions adds so many: a server that sends more is no node. */
const MAX_UNKNOWN = 10_000;
const unknownNames: string[] = [];
const numbersOfUnknown = new Map<string, number>();

/**
 * Returns the name of an enum value, as the node sent it.
 *
 * A node of a newer version may send names that the definitions lack. JSON transmits them (REST, or gRPC with the JSON
 * codec): the field then has a negative number that represents the name in this process, and this function returns the
 * name. Protobuf's binary form transmits only the number.
 *
 * @param desc the enum's descriptor, such as `StopOrder_StatusSchema`
 * @param value the value of a field
 * @returns the full name, such as `STATUS_PENDING`; the number in digits if it has no name
 *
 * @example
 * import { vega } from "tradewire/api";
 *
 * enumName(vega.StopOrder_StatusSchema, stopOrder.status); // "STATUS_PENDING"
 */
export function enumName(desc: DescEnum, value: number): string {
  assertDescriptor(desc, "enum", "StopOrder_StatusSchema");
  return desc.value[value]?.name ?? unknownNames[value - FIRST_UNKNOWN] ?? String(value);
}

/**
 * Returns the number that represents an unknown name of an enum value; {@link enumName} returns its name.
 *
 * @throws {@link ProtocolError} if a text cannot be the name of an enum value, or there are too many unknown names
 */
export function encodeUnknownEnumName(value: JsonValue, field: DescField, type: DescEnum): JsonValue {
  return typeof value === "string" && !enumNumbers(type).has(value) ? numberOfUnknown(value, field) : value;
}

const knownNumbers = new WeakMap<DescEnum, ReadonlyMap<string, number>>();

/** Returns the numbers of an enum's values by their names. */
export function enumNumbers(type: DescEnum): ReadonlyMap<string, number> {
  const numbers = knownNumbers.get(type) ?? new Map(type.values.map(({ name, number }) => [name, number]));
  knownNumbers.set(type, numbers);
  return numbers;
}

/** Returns the name for a number from {@link encodeUnknownEnumName}. */
export function decodeUnknownEnumName(value: JsonValue): JsonValue {
  return typeof value === "number" ? (unknownNames[value - FIRST_UNKNOWN] ?? value) : value;
}

function numberOfUnknown(name: string, field: DescField): number {
  const known = numbersOfUnknown.get(name);
  if (known !== undefined) {
    return known;
  }
  if (!/^[A-Za-z_]\w{0,199}$/.test(name)) {
    throw new ProtocolError(
      `${field.name} must be the name of an enum value (got ${JSON.stringify(name.slice(0, 40))})`,
      {
        code: Code.Internal,
        advice: "The server's response does not match its definition. Report this to the operator of the server.",
      },
    );
  }
  if (unknownNames.length >= MAX_UNKNOWN) {
    throw new ProtocolError(`the server sent more than ${MAX_UNKNOWN} unknown names of enum values`, {
      code: Code.ResourceExhausted,
      advice: "Check the URL: no version of the definitions has that many.",
    });
  }
  const number = FIRST_UNKNOWN + unknownNames.length;
  unknownNames.push(name);
  numbersOfUnknown.set(name, number);
  return number;
}

/**
 * Returns whether JavaScript converts a text to a number although it has not the form of one in JSON, such as `0x10` or ` 5 `.
 */
export function isForeignNumber(text: string, type: ScalarType | undefined): boolean {
  const form = kindOf(type) === "longs" ? INTEGER : NUMBER;
  return !form.test(text) && Number.isFinite(Number(text));
}

const INTEGER = /^-?(0|[1-9]\d*)$/;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/**
 * Throws if an integer was sent in another form than that of JSON, or one of 64 bits as a JSON number that JSON.parse may have
 * rounded.
 *
 * @throws {@link ProtocolError} if it is a number beyond 2^53, or a text that is no decimal number
 */
export function exactInteger(value: JsonValue, { name, scalar }: DescField): JsonValue {
  if (typeof value === "string" && isForeignNumber(value, scalar)) {
    throw new ProtocolError(`${name} must be a decimal integer (got ${JSON.stringify(value.slice(0, 40))})`, {
      code: Code.Internal,
      advice: "The server's response does not match its definition. Report this to the operator of the server.",
    });
  }
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw new ProtocolError(`${name} is a JSON number beyond 2^53, near ${value}, which loses precision`, {
      code: Code.Internal,
      advice: "The server must send 64-bit integers as strings. Report this to the operator of the server.",
    });
  }
  return value;
}

/**
 * Rounds a number to the float that its digits represent. Go and other languages print the fewest digits that identify a
 * float. As a double, these digits are another number, and for the largest float, 3.4028235e38, protobuf-es rejects it.
 */
export function nearestFloat(value: JsonValue): JsonValue {
  const number = typeof value === "string" && value !== "" && value === value.trim() ? Number(value) : value;
  const float = typeof number === "number" ? Math.fround(number) : Number.NaN;
  return Number.isFinite(float) ? float : value;
}

/** Returns a negative zero as text, because JSON.stringify drops the sign of the number. */
export function signedZero(value: JsonValue): JsonValue {
  return Object.is(value, -0) ? "-0" : value;
}
