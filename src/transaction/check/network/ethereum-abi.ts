import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../json/values.js";

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

/** Tells whether an entry's flags are valid, and it is not the second of those that a contract has one of. */
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
