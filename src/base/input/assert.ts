import { RequestError } from "../errors/error-classes.js";
import { closestName, describeType, quoted, truncate } from "../errors/error-text.js";
import { MAX_TIMER_MS } from "../runtime/index.js";

// Checks of arguments, for callers in plain JavaScript. They run on every call and in entries that do not load Zod, so
// they are plain functions: each costs a small part of a microsecond. What is read once, such as a configuration or the
// options of the local node, has a schema instead (schemas.ts).

/**
 * Throws if an argument is not an object, or has a key that does not exist.
 *
 * @throws {@link RequestError} if the value is not an object, or has an unknown key
 */
export function assertKnownKeys<T extends object>(
  name: string,
  value: T,
  known: { readonly [Key in keyof Required<T>]: true },
): void {
  assertObject(name, value);
  for (const key in value) {
    if (value[key] !== undefined && known[key] !== true && !key.startsWith("$") && !isOfEveryObject(value, key)) {
      throw unknownKeyError(name, key, Object.keys(known));
    }
  }
}

/** Returns whether a key of an object is there only because some package has added it to `Object.prototype`. */
export function isOfEveryObject(value: object, key: string): boolean {
  return key in EVERY_OBJECT && !Object.hasOwn(value, key);
}

const EVERY_OBJECT = {};

export function unknownKeyError(owner: string, key: string, known: readonly string[]): RequestError {
  const kind = owner === "options" ? "option" : "field";
  const near = closestName(key, known);
  const suggestion = near === undefined ? "" : `Did you mean ${near}? `;
  return new RequestError(`unknown ${kind} ${quoted(key)} in ${owner}`, {
    advice: known.length === 0 ? `There are no ${kind}s.` : `${suggestion}Valid ${kind}s: ${known.join(", ")}.`,
  });
}

/**
 * Throws if an argument is not an object.
 *
 * @throws {@link RequestError} if the value is not an object
 */
export function assertObject(name: string, value: unknown): asserts value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalidTypeError(name, value, "an object");
  }
}

/**
 * Throws if an option is not one of its valid values.
 *
 * @throws {@link RequestError} if the value is not one of them
 */
export function assertOneOf<T extends string | boolean>(
  name: string,
  value: T | undefined,
  values: readonly T[],
): void {
  if (value !== undefined && !values.includes(value)) {
    throw invalidValueError(name, value, values.map((each) => formatValue(each)).join(" or "));
  }
}

/**
 * Throws if a value is not a string, or is empty.
 *
 * @throws {@link RequestError} if the value is not a string, or is empty
 */
export function assertText(name: string, value: string, example: string): void {
  if (typeof value !== "string" || value === "") {
    throw invalidValueError(name, value, `a non-empty string such as ${quoted(example)}`);
  }
}

/**
 * Throws if a value is not a string. The string may be secret, or empty.
 *
 * @throws {@link RequestError} if the value is not a string
 */
export function assertString(name: string, value: unknown): asserts value is string {
  if (typeof value !== "string") {
    throw new RequestError(`must be a string (got ${describeType(value)})`, { option: name });
  }
}

/**
 * Throws if an option is neither a function nor undefined.
 *
 * @throws {@link RequestError} if the value is neither
 */
export function assertFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== "function") {
    throw invalidTypeError(name, value, "a function");
  }
}

/**
 * Throws if a value is not an array.
 *
 * @throws {@link RequestError} if the value is not an array
 */
export function assertArray(name: string, value: unknown, expected: string): void {
  if (!Array.isArray(value)) {
    throw invalidTypeError(name, value, expected);
  }
}

/**
 * Throws if a value cannot be iterated, for example as a stream.
 *
 * @throws {@link RequestError} if the value cannot be iterated
 */
export function assertIterable(name: string, value: unknown, expected: string): void {
  const isIterable =
    typeof value === "object" && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);
  if (!isIterable) {
    throw invalidTypeError(name, value, expected);
  }
}

/**
 * Throws if a value is not a Protobuf descriptor of a kind.
 *
 * @throws {@link RequestError} if the value is a descriptor of another kind, or not a descriptor
 */
export function assertDescriptor(
  desc: { readonly kind?: string } | undefined,
  kind: "enum" | "message" | "rpc" | "service",
  example: string,
): void {
  if (desc?.kind !== kind) {
    const name = kind === "rpc" ? "method" : kind;
    throw invalidTypeError(name, desc, `${kind === "enum" ? "an" : "a"} ${name} descriptor, such as ${example}`);
  }
}

/**
 * Returns the signal of an option.
 *
 * @throws {@link RequestError} if the value is not an `AbortSignal`
 */
export function parseSignal(signal: AbortSignal | undefined): AbortSignal {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalidTypeError("signal", signal, "an AbortSignal");
  }
  return signal ?? new AbortController().signal;
}

/**
 * Returns a positive integer.
 *
 * @throws {@link RequestError} if the value is not an integer from 1 to `max`
 */
export function parsePositiveInteger(name: string, value: number, max: number): number {
  return requireInteger(name, value, 1, max);
}

/**
 * Returns an integer.
 *
 * @param unit what the error says after "a whole number", such as `of milliseconds `
 * @throws {@link RequestError} if the value is not an integer from `min` to `max`
 */
export function requireInteger(name: string, value: number, min: number, max: number, unit = ""): number {
  if (!isIntegerIn(value, min, max)) {
    throw invalidValueError(name, value, `a whole number ${unit}from ${min} to ${max}`);
  }
  return value;
}

/**
 * Returns a number of milliseconds, which a timer can wait.
 *
 * @throws {@link RequestError} if the value is not an integer from `min` to `max`
 */
export function requireMs(name: string, value: number, min = 1, max = MAX_TIMER_MS): number {
  return requireInteger(name, value, min, max, "of milliseconds ");
}

export function isIntegerIn(value: unknown, min: number, max: number): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max;
}

/**
 * Returns the bytes of a chunk of a byte stream. Streams of `node:fs` yield strings if they were opened with an
 * encoding.
 *
 * @throws {@link RequestError} if the chunk is not bytes
 */
export function parseChunk(name: string, chunk: unknown): Buffer {
  if (!ArrayBuffer.isView(chunk)) {
    throw new RequestError(`${name} must contain bytes (got ${describeType(chunk)})`, {
      advice: "Open the stream without an encoding.",
    });
  }
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

/** The maximum length of a chain's identifier, as in the network's consensus layer. */
const MAX_CHAIN_ID_LENGTH = 50;

/**
 * Returns whether a text has the form of a chain's identifier: 1 to 50 characters of `A-Z a-z 0-9 . _ -`. Signed messages,
 * file names and terminals contain it unescaped.
 */
export function isChainId(text: string): boolean {
  return text.length <= MAX_CHAIN_ID_LENGTH && /^[A-Za-z0-9._-]+$/.test(text);
}

/**
 * Throws if a text does not have the form of a chain's identifier.
 *
 * @throws {@link RequestError} if {@link isChainId} returns false
 */
export function assertChainId(name: string, text: string): void {
  if (typeof text !== "string" || !isChainId(text)) {
    throw invalidValueError(name, text, `1 to ${MAX_CHAIN_ID_LENGTH} characters of A-Z a-z 0-9 . _ -`);
  }
}

export function invalidValueError(name: string, value: unknown, expected: string, advice?: string): RequestError {
  return new RequestError(`must be ${expected} (got ${formatValue(value)})`, { advice, option: name });
}

/**
 * Returns the error of an option whose value has a wrong type: where an object, a function, an array or a signer belongs. It
 * does not show a string, which may be a secret in a wrong place.
 */
export function invalidTypeError(name: string, value: unknown, expected: string): RequestError {
  return new RequestError(`must be ${expected} (got ${formatWrongType(value)})`, { option: name });
}

/** Formats a value of a wrong type for an error, like {@link formatValue} but without the text of a string. */
export const formatWrongType = (value: unknown) =>
  typeof value === "string" ? describeType(value) : formatValue(value);

/** Formats a value for an error, on one line. */
export function formatValue(value: unknown): string {
  if (typeof value === "string" || value instanceof Date) {
    return quoted(String(value));
  }
  switch (typeof value) {
    case "number":
    case "boolean":
    case "bigint":
      return truncate(String(value), MAX_DIGITS);
    case "object":
      return ["Object", "Array", "Null"].includes(kindOf(value)) ? describeType(value) : withArticle(kindOf(value));
    default:
      return describeType(value);
  }
}

const withArticle = (kind: string) => `${/^[AEIOU]/.test(kind) ? "an" : "a"} ${kind}`;

/** The maximum number of digits that errors show of a number. */
const MAX_DIGITS = 80;

/** Returns the kind of a value, such as `Object`, `Map` or `Null`. */
export const kindOf = (value: unknown) => Object.prototype.toString.call(value).slice("[object ".length, -1);

/**
 * Returns whether a value is bytes, including those of another realm: in Jest's environments and in contexts of `node:vm`, they are
 * not instances of the local `Uint8Array`.
 */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === "[object Uint8Array]";
}
