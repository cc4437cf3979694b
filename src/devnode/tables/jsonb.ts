import { numericText, withoutExponent } from "./numeric.js";

const NUMBER = Symbol("number");

/** A number whose digits are kept as they are written. */
interface JsonNumber {
  readonly [NUMBER]: string;
}

/** A JSON value. */
export type Json = string | number | boolean | null | JsonNumber | readonly Json[] | { readonly [key: string]: Json };

/**
 * Write a JSON value as PostgreSQL writes a `jsonb`: the keys of an object by their length in bytes and then by their
 * bytes, a space after each colon and comma, numbers without an exponent. What PostgreSQL cannot hold is left out: the
 * character U+0000, and halves of surrogate pairs, in whose place U+FFFD stands.
 *
 * @param value the value
 * @returns its text
 *
 * @example
 * jsonbText({ bb: 1e-7, a: ["x"] }); // {"a": ["x"], "bb": 0.0000001}
 */
export function jsonbText(value: Json): string {
  if (typeof value === "string") {
    return JSON.stringify(storableText(value));
  }
  if (typeof value === "number") {
    return withoutExponent(String(value));
  }
  if (value === null || typeof value === "boolean") {
    return String(value);
  }
  if (isNumber(value)) {
    return numericText(value[NUMBER]) ?? "0";
  }
  if (isList(value)) {
    return `[${value.map(jsonbText).join(", ")}]`;
  }
  const members = Object.entries(value).map(([key, member]) => [Buffer.from(storableText(key)), member] as const);
  members.sort(([a], [b]) => a.length - b.length || Buffer.compare(a, b));
  return `{${members.map(([key, member]) => `${JSON.stringify(key.toString())}: ${jsonbText(member)}`).join(", ")}}`;
}

/** The strings of JSON, which are passed over, and its numbers. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi;

/**
 * Read JSON, keeping the digits of its numbers.
 *
 * @param text the JSON
 * @returns the value
 * @throws SyntaxError where it is no JSON, or holds a text that PostgreSQL cannot hold
 */
export function parseJson(text: string): Json {
  JSON.parse(text, (_, value) => {
    if (typeof value === "string" && storableText(value) !== value) {
      throw new SyntaxError("a text holds U+0000 or half of a surrogate pair");
    }
    return value;
  });
  // As no text holds U+0000, that can stand before a number.
  const marked = text.replace(TOKENS, (token) => (token.startsWith('"') ? token : `"\\u0000${token}"`));
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith("\0") ? { [NUMBER]: value.slice(1) } : value,
  );
}

/**
 * Leave out of a text what PostgreSQL cannot hold.
 *
 * @param text any text
 * @returns the text without U+0000, and with U+FFFD in place of halves of surrogate pairs
 */
export function storableText(text: string): string {
  return /[\0\ud800-\udfff]/.test(text) ? text.replaceAll("\0", "").replace(/\p{Surrogate}/gu, "\uFFFD") : text;
}

function isNumber(value: JsonNumber | readonly Json[] | { readonly [key: string]: Json }): value is JsonNumber {
  return NUMBER in value;
}

/** `Array.isArray` does not tell read-only lists from objects. */
function isList(value: readonly Json[] | { readonly [key: string]: Json }): value is readonly Json[] {
  return Array.isArray(value);
}
