import { type DescField, type DescMessage, type DescOneof, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { requireObject, unknownName } from "../errors/check-values.js";
import { RequestError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { enumNumber } from "./enum-number.js";
import { misfit, type Place, pathOf } from "./misfit.js";
import { type Read, scalarReader } from "./scalar.js";

/**
 * Check the initial values of a message, where plain JavaScript may give anything: protobuf-es leaves out what it does
 * not know. Values of enums may be given by their names, and 64-bit integers as numbers.
 *
 * @param desc the message's type
 * @param init its initial values, or a message of the type, which is not looked into
 * @param name what it is in errors, such as `orderSubmission`
 * @returns the initial values as protobuf-es takes them: the same object where nothing stands for something else
 * @throws {@link RequestError} where a field does not exist, or a value does not fit its field
 */
export function readInit<T>(desc: DescMessage, init: T, name = "request"): T {
  requireObject(name, init);
  return isOf(desc, init) ? init : readFields(desc, init, name === "request" ? undefined : { name });
}

/** The readers of a message type's members, by their names. */
const readers = new WeakMap<DescMessage, ReadonlyMap<string, Read>>();

function readersOf(desc: DescMessage): ReadonlyMap<string, Read> {
  let known = readers.get(desc);
  if (known === undefined) {
    known = new Map(desc.members.map((member) => [member.localName, memberReader(member)]));
    readers.set(desc, known);
  }
  return known;
}

function isOf(desc: DescMessage, init: object): boolean {
  return "$typeName" in init && init.$typeName === desc.typeName;
}

function readFields<T extends object>(desc: DescMessage, init: T, at: Place | undefined): T {
  const known = readersOf(desc);
  let changed: Record<string, unknown> | undefined;
  for (const name in init) {
    const value: unknown = init[name];
    if (value === undefined) {
      continue;
    }
    const read = known.get(name);
    if (read === undefined) {
      throw unknownField(desc, name, at);
    }
    const taken = value === null ? value : read(value, at, name); // For protobuf-es, null stands for nothing.
    if (taken !== value) {
      changed ??= {};
      changed[name] = taken;
    }
  }
  return changed === undefined ? init : { ...init, ...changed };
}

function memberReader(member: DescField | DescOneof): Read {
  if (member.kind === "oneof") {
    return oneofReader(member);
  }
  switch (member.fieldKind) {
    case "list":
      return listReader(valueReader(member));
    case "map":
      return mapReader(valueReader(member));
    default:
      return valueReader(member);
  }
}

/** Makes what reads the values of a field, or of the list or map in it. */
function valueReader(field: DescField): Read {
  const { message, enum: values } = field;
  if (values !== undefined) {
    const number = scalarReader(ScalarType.INT32, false); // Negative ones stand for names that a node has sent.
    return (value, at, name) =>
      typeof value === "number" ? number(value, at, name) : enumNumber(values, value, () => pathOf(at, name));
  }
  if (message === undefined) {
    return scalarReader(field.scalar ?? ScalarType.STRING, "longAsString" in field && field.longAsString);
  }
  const [wrapped] = message.fields;
  if (field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(message) && wrapped !== undefined) {
    return valueReader(wrapped);
  }
  const isJson = message.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value";
  return (value, at, name) => {
    if (!isObject(value)) {
      throw misfit(pathOf(at, name), value, "an object");
    }
    if (isJson || isOf(message, value)) {
      return value;
    }
    if ("$typeName" in value) {
      throw misfit(pathOf(at, name), value, `a ${message.typeName}, not a ${String(value.$typeName)}`);
    }
    return readFields(message, value, { outer: at, name });
  };
}

function listReader(read: Read): Read {
  return (value, at, name) => {
    if (!Array.isArray(value)) {
      throw misfit(pathOf(at, name), value, "a list");
    }
    const place = { outer: at, name };
    const taken = value.map((item: unknown, index) => read(item, place, `[${index}]`));
    return taken.every((item, index) => item === value[index]) ? value : taken;
  };
}

function mapReader(read: Read): Read {
  return (value, at, name) => {
    if (!isObject(value)) {
      throw misfit(pathOf(at, name), value, "an object");
    }
    const place = { outer: at, name };
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, read(item, place, key)]));
  };
}

function oneofReader({ fields }: DescOneof): Read {
  const members = new Map(fields.map((field) => [field.localName, valueReader(field)]));
  return (given, at, name) => {
    if (!isObject(given)) {
      throw misfit(pathOf(at, name), given, `one of ${[...members.keys()].join(", ")}, as { case, value }`);
    }
    const { case: chosen, value, ...others }: { readonly case?: unknown; readonly value?: unknown } = given;
    for (const other in others) {
      throw unknownName(pathOf(at, name), other, ["case", "value"]);
    }
    if (chosen === undefined) {
      return given;
    }
    const member = String(chosen);
    const read = members.get(member);
    if (read === undefined) {
      throw unknownName(pathOf(at, name), member, [...members.keys()]);
    }
    if (value === undefined || value === null) {
      throw misfit(pathOf(at, member), value, "its value; an object of no fields is {}");
    }
    const taken = read(value, at, member); // Paths are those of Protobuf's JSON, which has no name for the choice.
    return taken === value ? given : { case: chosen, value: taken };
  };
}

function unknownField(desc: DescMessage, name: string, at: Place | undefined): RequestError {
  const where = at === undefined ? "the request" : pathOf(at.outer, at.name);
  const oneof = desc.fields.find((field) => field.localName === name)?.oneof;
  if (oneof === undefined) {
    const names = desc.members.map(({ localName }) => localName);
    return unknownName(where, name, names);
  }
  return new RequestError(`${where} has ${quoted(name)}, which is one of a choice, ${oneof.localName}`, {
    advice: `Give ${oneof.localName}: { case: ${quoted(name)}, value }.`,
  });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
