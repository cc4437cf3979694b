import { isBytes } from "./input/assert.js";

// `JSON.stringify` throws on 64-bit integers. Results therefore have a `toJSON`, which nobody sees who does not look for it.

/**
 * Makes `JSON.stringify` write a result, and every part of it: 64-bit integers as decimal strings and bytes as base64, as in
 * Protobuf's JSON. What has methods is no result, and stays as it is.
 */
export function withJson<T>(result: T): T {
  if (isObject(result) && !("toJSON" in result) && (Array.isArray(result) || isPlain(result))) {
    const values: readonly unknown[] = Object.values(result);
    if (values.some(needsJson) && Object.isExtensible(result)) {
      Object.defineProperty(result, "toJSON", { value: toJSON, configurable: true });
    }
    values.forEach(withJson);
  }
  return result;
}

/** The prototype of frequent results, such as events and rows: setting it costs a tenth of what a property costs. */
const RESULT = Object.create(Object.prototype, { constructor: { value: Object }, toJSON: { value: toJSON } });

/** Makes `JSON.stringify` write a result that was just made, as {@link withJson} does, but not parts of it by themselves. */
export function asResult<T extends object>(result: T): T {
  return Object.setPrototypeOf(result, RESULT);
}

function toJSON(this: object): unknown {
  return Array.isArray(this)
    ? this.map(jsonOf)
    : Object.fromEntries(Object.entries(this).map(([name, value]) => [name, jsonOf(value)]));
}

function jsonOf(value: unknown): unknown {
  if (typeof value === "bigint") {
    return String(value);
  }
  if (!isObject(value)) {
    return value;
  }
  if (isBytes(value)) {
    return Buffer.from(value).toString("base64");
  }
  const own: unknown = Reflect.get(value, "toJSON");
  return typeof own === "function" ? value : toJSON.call(value); // JSON.stringify calls it.
}

const needsJson = (value: unknown) => typeof value === "bigint" || isBytes(value);

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Returns whether a value is data: a plain object or a message, without functions. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === Object.prototype || "$typeName" in value) &&
    Reflect.ownKeys(value).every((name) => typeof name === "string" && typeof Reflect.get(value, name) !== "function")
  );
}
