import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { Condition_Operator, PropertyKey_Type } from "../../../../gen/client/vega/data/v1/spec_pb.js";
import type { Condition, Filter } from "../../../../gen/vega/data/v1/spec_pb.js";
import type { EthCallSpec } from "../../../../gen/vega/data_source_pb.js";
import { isJsonObject } from "../../../json/json-values.js";
import { Bytes } from "../../../runtime/bytes.js";
import { decimal, integer } from "./go-numbers.js";
import type { Field, NetworkProblems } from "./network-rules.js";

const INVALID_ABI = "is not a valid ethereum abi definition";
const INVALID_TRIGGER = "ethereum call trigger not valid";
const INVALID_ARGUMENTS = "ethereum call arguments not valid";
const INVALID_FILTERS = "ethereum call filters not valid";

/**
 * Checks a call of an Ethereum contract (`core/datasource/external/ethcall`).
 *
 * @param call the call
 * @param at its field
 */
export function* ethereumCallProblems(call: EthCallSpec, at: Field): NetworkProblems {
  // The network goes on with an empty call where it cannot read this one, so the interface is reported too.
  if (call.trigger?.trigger.case === undefined) {
    yield at.field("trigger").problem(INVALID_TRIGGER);
    yield at.field("abi").problem(INVALID_ABI);
    return;
  }
  const args = call.args.map(jsonOf);
  if (args.includes(undefined)) {
    yield at.field("args").problem(INVALID_ARGUMENTS);
    yield at.field("abi").problem(INVALID_ABI);
    return;
  }
  const functions = readAbi(call.abi);
  if (functions === undefined) {
    yield at.field("abi").problem(INVALID_ABI);
    return;
  }
  const types = functions.get(call.method);
  if (types?.length !== args.length || !types.every((type, index) => isArgument(args[index], type))) {
    yield at.field("args", "callargs").problem(INVALID_ARGUMENTS);
  } else if (!areFilters(call.filters)) {
    yield at.field("filters").problem(INVALID_FILTERS);
  }
}

/** Returns an argument's JSON; `undefined` if it has none. */
function jsonOf({ kind }: Value): JsonValue | undefined {
  switch (kind.case) {
    case "nullValue":
      return null;
    case "numberValue":
      return Number.isFinite(kind.value) ? kind.value : undefined;
    case "stringValue":
    case "boolValue":
      return kind.value;
    case "listValue": {
      const items = kind.value.values.map(jsonOf).filter((item) => item !== undefined);
      return items.length === kind.value.values.length ? items : undefined;
    }
    case "structValue": {
      const entries = Object.entries(kind.value.fields).map(([name, value]) => [name, jsonOf(value)] as const);
      const known = entries.filter((entry): entry is [string, JsonValue] => entry[1] !== undefined);
      return known.length === entries.length ? Object.fromEntries(known) : undefined;
    }
    default:
      return undefined;
  }
}

/** Returns whether a value is an argument of a type. Text of 32 bytes as hex digits represents those bytes. */
function isArgument(value: JsonValue | undefined, type: AbiType): boolean {
  const isHexText = typeof value === "string" && /^0x[0-9a-f]{64}$/i.test(value);
  const given = isHexText ? Bytes.from(value.slice(2), "hex").toString("base64") : value;
  return isFixed32(type) ? isByteText(given) && given !== "" : isOfType(given, type);
}

/** Whether a type is of 32 bytes, whose arguments are read from base64 at the top. */
const isFixed32 = (type: AbiType) =>
  (type.kind === "fixedBytes" && type.size === 32) ||
  (type.kind === "list" && type.size === 32 && isByte(type.item) && type.item.kind === "integer");

const isByte = (type: AbiType) => type.kind === "integer" && type.bits === 8 && !type.isSigned;

/** Returns whether a value is bytes: in base64, or as a list of numbers. The network does not accept an empty list as bytes. */
function isByteText(value: JsonValue | undefined): boolean {
  return typeof value === "string"
    ? /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value.replace(/[\r\n]/g, ""))
    : Array.isArray(value) && value.length > 0 && value.every((item) => item === null || isInteger(item, 8, false));
}

function isOfType(value: JsonValue | undefined, type: AbiType): boolean {
  switch (type.kind) {
    case "integer":
      return value === null || isInteger(value, type.bits, type.isSigned);
    case "boolean":
    case "string":
      return value === null || typeof value === type.kind;
    case "address":
      return typeof value === "string" && /^0x[0-9a-f]{40}$/i.test(value);
    case "bytes":
      return value === null || (Array.isArray(value) && value.length === 0) || isByteText(value);
    case "fixedBytes":
      return value === null || isItems(value, { kind: "integer", bits: 8, isSigned: false }, type.size);
    case "list":
      return (
        value === null ||
        (typeof value === "string" && type.size === undefined && isByte(type.item) && isByteText(value)) ||
        isItems(value, type.item, type.size)
      );
    case "tuple":
      return (
        value !== undefined &&
        (value === null || isJsonObject(value)) &&
        [...type.fields].every(([name, field]) => isSet(value?.[name], field))
      );
  }
}

/** Returns whether a value is a list of items of a type. Items beyond the type's size are ignored. */
function isItems(value: JsonValue | undefined, item: AbiType, size: number | undefined): boolean {
  if (!Array.isArray(value)) {
    return false;
  }
  const items = size === undefined ? value : value.slice(0, size);
  return items.every((one) => isSet(one, item)) && (items.length === (size ?? items.length) || isSet(undefined, item));
}

/** Like {@link isOfType}, of a value inside another: one that is not set is zero, if the type has a zero value. */
function isSet(value: JsonValue | undefined, type: AbiType): boolean {
  if (value !== undefined && value !== null) {
    return isOfType(value, type);
  }
  // Integers of unusual sizes have no zero value: the network's library would fail on one that is not set.
  return type.kind !== "integer" || [8, 16, 32, 64].includes(type.bits);
}

function isInteger(value: JsonValue | undefined, bits: number, isSigned: boolean): boolean {
  if (typeof value !== "number" || !/^-?\d+$/.test(String(value))) {
    return false;
  }
  if (![8, 16, 32, 64].includes(bits)) {
    return true; // The network keeps others as numbers of any size.
  }
  const whole = BigInt(value);
  return (isSigned ? BigInt.asIntN(bits, whole) : BigInt.asUintN(bits, whole)) === whole;
}

/** The types of properties that a filter compares. */
const TYPES: readonly PropertyKey_Type[] = [
  PropertyKey_Type.INTEGER,
  PropertyKey_Type.STRING,
  PropertyKey_Type.BOOLEAN,
  PropertyKey_Type.DECIMAL,
  PropertyKey_Type.TIMESTAMP,
];

/** Returns whether filters can be made of a definition (`core/datasource/common/filters.go`). */
function areFilters(filters: readonly Filter[]): boolean {
  const names = new Set<string>();
  return filters.every(({ key, conditions }) => {
    const { name = "", type = PropertyKey_Type.UNSPECIFIED } = key ?? {};
    const isNew = !names.has(name);
    names.add(name);
    return isNew && TYPES.includes(type) && conditions.every((condition) => isCondition(condition, type));
  });
}

const ORDERED: readonly Condition_Operator[] = [
  Condition_Operator.EQUALS,
  Condition_Operator.GREATER_THAN,
  Condition_Operator.GREATER_THAN_OR_EQUAL,
  Condition_Operator.LESS_THAN,
  Condition_Operator.LESS_THAN_OR_EQUAL,
];

function isCondition({ value, operator }: Condition, type: PropertyKey_Type): boolean {
  switch (type) {
    case PropertyKey_Type.INTEGER: {
      const number = integer(value);
      return number !== undefined && number < 2n ** 256n && number > -(2n ** 256n);
    }
    case PropertyKey_Type.DECIMAL:
      return decimal(value) !== undefined && ORDERED.includes(operator);
    case PropertyKey_Type.BOOLEAN:
      return /^(?:1|t|T|TRUE|true|True|0|f|F|FALSE|false|False)$/.test(value) && operator === Condition_Operator.EQUALS;
    case PropertyKey_Type.STRING:
      return operator === Condition_Operator.EQUALS;
    case PropertyKey_Type.TIMESTAMP: {
      const time = integer(value);
      const isLess = operator === Condition_Operator.LESS_THAN || operator === Condition_Operator.LESS_THAN_OR_EQUAL;
      return time !== undefined && time >= 0n && time < 2n ** 63n && ORDERED.includes(operator) && !isLess;
    }
    default:
      return false;
  }
}

/** A type of a contract's interface. */
export type AbiType =
  | { readonly kind: "integer"; readonly bits: number; readonly isSigned: boolean }
  | { readonly kind: "boolean" | "string" | "bytes" | "address" }
  | { readonly kind: "fixedBytes"; readonly size: number }
  | { readonly kind: "list"; readonly item: AbiType; readonly size: number | undefined }
  | { readonly kind: "tuple"; readonly fields: ReadonlyMap<string, AbiType> };

/** The types of the inputs of a contract's functions, by the name of the function. */
export type Functions = ReadonlyMap<string, readonly AbiType[]>;

const KINDS = ["constructor", "function", "fallback", "receive", "event", "error"];

/**
 * Reads the interface of a contract (an ABI in JSON) as the network's Ethereum library does.
 *
 * @param text the interface
 * @returns its functions; `undefined` if it is not valid
 */
export function readAbi(text: string): Functions | undefined {
  const entries = parseJson(text);
  if (entries === null) {
    return new Map();
  }
  if (!Array.isArray(entries)) {
    return undefined;
  }
  const functions = new Map<string, readonly AbiType[]>();
  const seen = new Set<string>();
  for (const entry of entries) {
    const type = isJsonObject(entry) ? textOf(entry, "type") : undefined;
    if (!isJsonObject(entry) || type === undefined || !KINDS.includes(type)) {
      return undefined;
    }
    const name = textOf(entry, "name");
    const inputs = argumentsOf(entry, "inputs");
    const outputs = argumentsOf(entry, "outputs");
    if (name === undefined || inputs === undefined || outputs === undefined || !isAllowed(entry, type, seen)) {
      return undefined;
    }
    seen.add(type);
    if (type === "function") {
      functions.set(freeName(name, functions), inputs);
    }
  }
  return functions;
}

function parseJson(text: string): JsonValue | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** Returns whether an entry's flags are valid, and it is not the second of those that a contract has one of. */
function isAllowed(entry: JsonObject, type: string, seen: ReadonlySet<string>): boolean {
  const mutability = textOf(entry, "stateMutability");
  const flags = ["constant", "payable", "anonymous"].map((name) => entry[name] ?? false);
  if (mutability === undefined || flags.some((flag) => typeof flag !== "boolean")) {
    return false;
  }
  const isSecond = (type === "fallback" || type === "receive") && seen.has(type);
  return !isSecond && (type !== "receive" || mutability === "payable");
}

/** Returns a function's name; a number is appended to one that is overloaded. */
function freeName(name: string, functions: Functions): string {
  let free = name;
  for (let index = 0; functions.has(free); index += 1) {
    free = `${name}${index}`;
  }
  return free;
}

function textOf(entry: JsonObject, name: string): string | undefined {
  const value = entry[name] ?? "";
  return typeof value === "string" ? value : undefined;
}

function argumentsOf(entry: JsonObject, name: string): readonly AbiType[] | undefined {
  const list = entry[name] ?? [];
  const types = Array.isArray(list)
    ? list.map((argument) => (isJsonObject(argument) ? typeOf(argument) : undefined))
    : [undefined];
  const known = types.filter((type) => type !== undefined);
  return known.length === types.length ? known : undefined;
}

function typeOf(argument: JsonObject): AbiType | undefined {
  const type = textOf(argument, "type");
  const isSound = textOf(argument, "name") !== undefined && textOf(argument, "internalType") !== undefined;
  const components = argument["components"] ?? [];
  if (type === undefined || !isSound || !Array.isArray(components)) {
    return undefined;
  }
  return readType(type, components);
}

/** Reads the name of a type, such as `uint256[3][]`. */
function readType(name: string, components: readonly JsonValue[]): AbiType | undefined {
  const bracket = name.lastIndexOf("[");
  if (name.split("[").length !== name.split("]").length) {
    return undefined;
  }
  if (bracket >= 0) {
    const item = readType(name.slice(0, bracket), components);
    const [size, second] = name.slice(bracket).match(/\d+/g) ?? [];
    return item === undefined || second !== undefined
      ? undefined
      : { kind: "list", item, size: size === undefined ? undefined : Number(size) };
  }
  const [found = "", word = "", digits = "", , fraction] = /([a-zA-Z]+)((\d+)(x\d+)?)?/.exec(name) ?? [];
  const size = Number(digits);
  if (fraction !== undefined || found === "int" || found === "uint") {
    return undefined;
  }
  switch (word) {
    case "int":
    case "uint":
      return { kind: "integer", bits: size, isSigned: word === "int" };
    case "bool":
      return { kind: "boolean" };
    case "address":
    case "string":
      return { kind: word };
    case "bytes":
      return size === 0 ? { kind: "bytes" } : size > 32 ? undefined : { kind: "fixedBytes", size };
    case "function":
      return { kind: "fixedBytes", size: 24 };
    case "tuple":
      return readTuple(components);
    default:
      return undefined;
  }
}

function readTuple(components: readonly JsonValue[]): AbiType | undefined {
  const fields = new Map<string, AbiType>();
  for (const component of components) {
    const name = isJsonObject(component) ? (textOf(component, "name") ?? "") : "";
    const type = isJsonObject(component) ? typeOf(component) : undefined;
    const fieldName = name
      .split("_")
      .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
      .join("");
    if (type === undefined || !/^\p{L}[\p{L}\p{Nd}]*$/u.test(fieldName)) {
      return undefined;
    }
    fields.set(name, type);
  }
  return { kind: "tuple", fields };
}
