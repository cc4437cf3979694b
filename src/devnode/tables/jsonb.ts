/** A JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

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
  if (isList(value)) {
    return `[${value.map(jsonbText).join(", ")}]`;
  }
  const members = Object.entries(value).map(([key, member]) => [Buffer.from(storableText(key)), member] as const);
  members.sort(([a], [b]) => a.length - b.length || Buffer.compare(a, b));
  return `{${members.map(([key, member]) => `${JSON.stringify(key.toString())}: ${jsonbText(member)}`).join(", ")}}`;
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

/** `Array.isArray` does not tell read-only lists from objects. */
function isList(value: readonly Json[] | { readonly [key: string]: Json }): value is readonly Json[] {
  return Array.isArray(value);
}

/**
 * Write a decimal number without an exponent.
 *
 * @param number such as `1.5e-7` or `2e+21`; PostgreSQL takes the form as `numeric`
 * @returns such as `0.00000015`
 */
export function withoutExponent(number: string): string {
  const [, sign = "", whole = "", fraction = "", exponent] = /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(number) ?? [];
  if (exponent === undefined) {
    return number;
  }
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point >= digits.length) {
    return sign + digits.padEnd(point, "0");
  }
  return point > 0
    ? `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
    : `${sign}0.${"0".repeat(-point)}${digits}`;
}
