import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  type MessageInitShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { closestName, quoted } from "../errors/error-text.js";
import { RequestError } from "../errors/index.js";
import {
  assertObject,
  invalidTypeError,
  invalidValueError,
  isBytes,
  isIntegerIn,
  isOfEveryObject,
  unknownKeyError,
} from "./assert.js";
import type { InitOf } from "./init.js";

/**
 * Parses the initial values of a message. protobuf-es silently ignores unknown fields, so they are rejected here. Enum
 * values may be names, and 64-bit integers may be numbers.
 *
 * @throws {@link RequestError} if a field does not exist, or a value does not fit its field
 */
export function parseMessageInit<Desc extends DescMessage>(
  desc: Desc,
  init: InitOf<Desc>,
  name?: string,
): MessageInitShape<Desc>;
export function parseMessageInit(desc: DescMessage, init: unknown, name?: string): MessageInitShape<DescMessage>;
export function parseMessageInit(desc: DescMessage, init: unknown, name = "request"): object {
  assertObject(name, init);
  return parseFields(desc, init, name === "request" ? undefined : { name });
}

/** The parsers of the members of each message type, by name. */
const parsers = new WeakMap<DescMessage, ReadonlyMap<string, ParseValue>>();

function parsersOf(desc: DescMessage): ReadonlyMap<string, ParseValue> {
  let known = parsers.get(desc);
  if (known === undefined) {
    known = new Map(desc.members.map((member) => [member.localName, memberParser(member)]));
    parsers.set(desc, known);
  }
  return known;
}

function isOf(desc: DescMessage, init: object): boolean {
  return "$typeName" in init && init.$typeName === desc.typeName;
}

function parseFields(desc: DescMessage, init: object, at: Place | undefined): object {
  const known = parsersOf(desc);
  const isMessage = isOf(desc, init);
  let changed: Record<string, unknown> | undefined;
  for (const name in init) {
    const value: unknown = Reflect.get(init, name);
    if (value === undefined || (isMessage && (name === "$typeName" || name === "$unknown"))) {
      continue;
    }
    const parse = known.get(name);
    if (parse === undefined && isOfEveryObject(init, name)) {
      continue;
    }
    if (parse === undefined) {
      throw unknownField(desc, name, at);
    }
    const parsed = value === null ? value : parse(value, at, name); // protobuf-es treats null as undefined.
    if (parsed !== value) {
      changed ??= {};
      changed[name] = parsed;
    }
  }
  if (isMessage) {
    return messageOf(desc, { ...init, ...changed });
  }
  return changed === undefined ? init : { ...init, ...changed };
}

/** Returns a new message: what looks like one may be a copy of one with initial values, or without some fields. */
function messageOf(desc: DescMessage, { $unknown, ...fields }: { readonly $unknown?: unknown }): object {
  const message = create(desc, { ...fields, $typeName: undefined });
  return $unknown === undefined ? message : Object.assign(message, { $unknown });
}

function memberParser(member: DescField | DescOneof): ParseValue {
  if (member.kind === "oneof") {
    return oneofParser(member);
  }
  switch (member.fieldKind) {
    case "list":
      return listParser(valueParser(member));
    case "map":
      return mapParser(valueParser(member));
    default:
      return valueParser(member);
  }
}

/** Returns the parser of a field's value, or of each value of its list or map. */
function valueParser(field: DescField): ParseValue {
  const { message, enum: values } = field;
  if (values !== undefined) {
    const number = scalarParser(ScalarType.INT32, false); // Negative numbers represent unknown names that a node has sent.
    return (value, at, name) =>
      typeof value === "number" ? number(value, at, name) : parseEnumValue(values, value, () => pathOf(at, name));
  }
  if (message === undefined) {
    return scalarParser(field.scalar ?? ScalarType.STRING, "longAsString" in field && field.longAsString);
  }
  const [wrapped] = message.fields;
  if (field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(message) && wrapped !== undefined) {
    return valueParser(wrapped);
  }
  const isJson = message.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value";
  return (value, at, name) => {
    if (!isObject(value)) {
      throw invalidTypeError(pathOf(at, name), value, "an object");
    }
    if (isJson) {
      return value;
    }
    if ("$typeName" in value && value.$typeName !== message.typeName) {
      throw invalidValueError(pathOf(at, name), value, `a ${message.typeName}, not a ${String(value.$typeName)}`);
    }
    return parseFields(message, value, { outer: at, name });
  };
}

function listParser(parse: ParseValue): ParseValue {
  return (value, at, name) => {
    if (!Array.isArray(value)) {
      throw invalidValueError(pathOf(at, name), value, "an array");
    }
    const place = { outer: at, name };
    const parsed = value.map((item: unknown, index) => parse(item, place, `[${index}]`));
    return parsed.every((item, index) => item === value[index]) ? value : parsed;
  };
}

function mapParser(parse: ParseValue): ParseValue {
  return (value, at, name) => {
    if (!isObject(value)) {
      throw invalidTypeError(pathOf(at, name), value, "an object");
    }
    const place = { outer: at, name };
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, parse(item, place, key)]));
  };
}

function oneofParser({ fields }: DescOneof): ParseValue {
  const members = new Map(fields.map((field) => [field.localName, valueParser(field)]));
  return (choice, at, name) => {
    if (!isObject(choice)) {
      throw invalidTypeError(
        pathOf(at, name),
        choice,
        `{ case, value }, where case is one of ${[...members.keys()].join(", ")}`,
      );
    }
    const { case: chosen, value, ...others }: { readonly case?: unknown; readonly value?: unknown } = choice;
    for (const other of Object.keys(others)) {
      throw unknownKeyError(pathOf(at, name), other, ["case", "value"]);
    }
    if (chosen === undefined) {
      return choice;
    }
    const member = String(chosen);
    const parse = members.get(member);
    if (parse === undefined) {
      throw unknownKeyError(pathOf(at, name), member, [...members.keys()]);
    }
    if (value === undefined || value === null) {
      throw invalidValueError(pathOf(at, member), value, "a value; use {} for a message without fields");
    }
    const parsed = parse(value, at, member); // Paths are those of Protobuf's JSON, which does not name the oneof.
    return parsed === value ? choice : { case: chosen, value: parsed };
  };
}

function unknownField(desc: DescMessage, name: string, at: Place | undefined): RequestError {
  const where = at === undefined ? "request" : pathOf(at.outer, at.name);
  const oneof = desc.fields.find((field) => field.localName === name)?.oneof;
  if (oneof === undefined) {
    const names = desc.members.map(({ localName }) => localName);
    return unknownKeyError(where, name, names);
  }
  return new RequestError(`field ${quoted(name)} of ${where} belongs to the oneof ${oneof.localName}`, {
    advice: `Write ${oneof.localName}: { case: ${quoted(name)}, value }.`,
  });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Parses the value of a field.
 *
 * @throws {@link RequestError} if it does not fit the field
 */
type ParseValue = (value: unknown, at: Place | undefined, name: string) => unknown;

function scalarParser(type: ScalarType, longAsString: boolean): ParseValue {
  switch (type) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return trueOrFalse;
    case ScalarType.BYTES:
      return bytes;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return number;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return longAsString ? longText : longInteger(-(2n ** 63n), 2n ** 63n - 1n);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return longAsString ? longText : longInteger(0n, 2n ** 64n - 1n);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return integer(0, 2 ** 32 - 1);
    default:
      return integer(-(2 ** 31), 2 ** 31 - 1);
  }
}

const text: ParseValue = (value, at, name) => {
  if (typeof value !== "string") {
    const isNumber = typeof value === "number" || typeof value === "bigint";
    throw invalidValueError(
      pathOf(at, name),
      value,
      isNumber ? `a string, such as ${quoted(String(value))}` : "a string",
    );
  }
  return value;
};

const trueOrFalse: ParseValue = (value, at, name) => {
  if (typeof value !== "boolean") {
    throw invalidValueError(pathOf(at, name), value, "true or false");
  }
  return value;
};

const bytes: ParseValue = (value, at, name) => {
  if (!isBytes(value) && !Array.isArray(value)) {
    throw invalidTypeError(pathOf(at, name), value, "a Uint8Array");
  }
  return value instanceof Uint8Array || Array.isArray(value) ? value : Uint8Array.from(value); // protobuf-es knows its own realm.
};

const number: ParseValue = (value, at, name) => {
  if (typeof value !== "number") {
    throw invalidValueError(pathOf(at, name), value, `a number${meant(value)}`);
  }
  return value;
};

/** A 64-bit integer in a field of strings. protobuf-es validates it when it serializes the message. */
const longText: ParseValue = (value) =>
  typeof value === "bigint" || typeof value === "number" ? String(value) : value;

function integer(min: number, max: number): ParseValue {
  return (value, at, name) => {
    if (!isIntegerIn(value, min, max)) {
      throw invalidValueError(pathOf(at, name), value, `a whole number${meant(value) || ` from ${min} to ${max}`}`);
    }
    return value;
  };
}

function longInteger(min: bigint, max: bigint): ParseValue {
  return (value, at, name) => {
    const long = typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
    if (typeof long !== "bigint" || long < min || long > max) {
      const number = meant(value);
      const expected = `a whole number${number === "" ? ` from ${min} to ${max}` : `${number}n`}`;
      throw invalidValueError(pathOf(at, name), value, expected);
    }
    return long;
  };
}

/** Returns the number that a string contains, for the error. */
function meant(value: unknown): string {
  return typeof value === "string" && /^-?\d{1,20}$/.test(value) ? `, such as ${value}` : "";
}

/** The numbers of each enum's values, by their full names and by their names without the prefix, also in upper case. */
const numbers = new WeakMap<DescEnum, ReadonlyMap<string, number>>();

/**
 * Parses an enum value. Accepts names in any case, and numbers that the definitions lack, because a newer node may know them.
 *
 * @throws {@link RequestError} if the name is unknown, or the number is not an integer from 0 to 2^31 - 1
 */
export function parseEnumValue(desc: DescEnum, value: unknown, path: string | (() => string)): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 31) {
    return value;
  }
  const known = numbersOf(desc);
  const number = typeof value === "string" ? (known.get(value) ?? known.get(value.toUpperCase())) : undefined;
  if (number === undefined) {
    throw unknownEnumValueError(desc, value, typeof path === "string" ? path : path());
  }
  return number;
}

function numbersOf(desc: DescEnum): ReadonlyMap<string, number> {
  let known = numbers.get(desc);
  if (known === undefined) {
    const names = desc.values.flatMap(({ name, localName, number }) => [
      [name, number] as const,
      [localName, number] as const,
    ]);
    known = new Map([...names.map(([name, number]) => [name.toUpperCase(), number] as const), ...names]);
    numbers.set(desc, known);
  }
  return known;
}

function unknownEnumValueError(desc: DescEnum, value: unknown, path: string): RequestError {
  const names = desc.values.map(({ localName }) => localName);
  const near = typeof value === "string" ? closestName(value, [...numbersOf(desc).keys()]) : undefined;
  const advice = `${near === undefined ? "" : `Did you mean ${near}? `}Valid values: ${names.join(", ")}.`;
  return invalidValueError(path, value, `a value of ${desc.typeName}`, advice);
}

/** The place of a message in a request: its name, and the place of the message that contains it. */
interface Place {
  readonly outer?: Place | undefined;
  readonly name: string;
}

function pathOf(at: Place | undefined, name: string): string {
  return at === undefined ? name : `${pathOf(at.outer, at.name)}${name.startsWith("[") ? "" : "."}${name}`;
}
