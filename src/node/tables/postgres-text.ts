import type { TableColumn } from "../../data/schema/table-schema.js";

/**
 * The value of a column: identifiers as hex digits, times as Unix nanoseconds, amounts as decimal texts, enum values by
 * name, codes by number; `undefined` if there is no value.
 */
export type Value = string | bigint | number | boolean | Json | undefined;

/** 9999-12-31 23:59:59.999999 UTC, in microseconds: the last time with a year of four digits, later than nodes accept. */
const LAST = 253_402_300_799_999_999n;
/** 0001-01-01 00:00:00 UTC, in microseconds. */
const FIRST = -62_135_596_800_000_000n;

/** Formats a time as PostgreSQL formats a `timestamptz` in UTC. */
export function timeText(nanoseconds: bigint): string {
  const floor = nanoseconds / 1000n - (nanoseconds % 1000n < 0n ? 1n : 0n);
  const microseconds = floor < FIRST ? FIRST : floor > LAST ? LAST : floor;
  const remainder = microseconds % 1_000_000n;
  const fraction = remainder < 0n ? remainder + 1_000_000n : remainder;
  const seconds = Number((microseconds - fraction) / 1_000_000n);
  const text = new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
  return `${text}${fraction === 0n ? "" : `.${String(fraction).padStart(6, "0").replace(/0+$/, "")}`}+00`;
}

/** The text of each type's default, for columns without a value that are not nullable. */
const DEFAULT_TEXT = {
  time: timeText(0n),
  id: "\\x",
  whole: "0",
  decimal: "0",
  number: "0",
  code: "0",
  flag: "f",
  text: "",
  json: "{}",
} as const;

/** The number of bits of integer types. The only other one is `hugeint`, which has up to 1000 digits. */
const BITS: { readonly [type: string]: number } = { int2: 16, int4: 32, int8: 64 };
const HUGEINT = /^-?\d{1,1000}$/;

/**
 * Formats the value of a column as PostgreSQL's COPY does. A value that does not fit the column's type counts as missing.
 */
export function columnText(column: TableColumn, value: Value): string | null {
  const text = value === undefined || value === null ? undefined : fittingText(column, value);
  if (text !== undefined) {
    return text;
  }
  if (column.nullable) {
    return null;
  }
  return column.holds === "enum" ? (column.values?.[0] ?? "") : DEFAULT_TEXT[column.holds];
}

/** Formats a value as PostgreSQL's COPY does. */
export function fittingText({ type, holds, values }: TableColumn, value: NonNullable<Value>): string | undefined {
  switch (holds) {
    case "time":
      return typeof value === "bigint" ? timeText(value) : undefined;
    case "id":
      return typeof value === "string" && /^(?:[0-9a-f]{2})*$/i.test(value) ? `\\x${value.toLowerCase()}` : undefined;
    case "whole":
    case "code":
      return integerText(type, String(value));
    case "decimal":
      return numericText(String(value), type === "numeric(1000,16)" ? 16 : undefined);
    case "number":
      return floatText(value);
    case "flag":
      return typeof value === "boolean" ? (value ? "t" : "f") : undefined;
    case "text":
      return typeof value === "string" ? storableText(value) : undefined;
    case "json":
      return typeof value === "bigint" ? undefined : jsonbText(value);
    case "enum":
      return typeof value === "string" && values?.includes(value) ? value : undefined;
  }
}

/** Fast path: numbers in canonical form that fit any column of their type. */
const PLAIN = /^(?:0|[1-9]\d{0,3})$/;
const PLAIN_WIDE = /^(?:0|[1-9]\d{0,17})$/;

function integerText(type: TableColumn["type"], value: string): string | undefined {
  if ((type === "int2" || type === "int4" ? PLAIN : PLAIN_WIDE).test(value)) {
    return value;
  }
  const text = numericText(value, 0);
  const bits = BITS[type];
  if (text === undefined || bits === undefined) {
    return text !== undefined && HUGEINT.test(text) ? text : undefined;
  }
  return BigInt.asIntN(bits, BigInt(text)) === BigInt(text) ? text : undefined;
}

function floatText(value: NonNullable<Value>): string | undefined {
  const number = typeof value === "string" && value.trim() === "" ? Number.NaN : Number(value);
  return Number.isFinite(number) ? float8Text(number) : undefined;
}

/** The input format of PostgreSQL's `numeric`, except for NaN and infinity. */
const NUMERIC = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?\s*$/i;

/**
 * Formats a number as PostgreSQL formats a `numeric`: no sign for zero, no leading zeros, all decimals.
 *
 * @example
 * numericText("007.50"); // "7.50"
 * numericText("0.00125", 4); // "0.0013"
 */
export function numericText(text: string, scale?: number): string | undefined {
  if (!NUMERIC.test(text)) {
    return undefined;
  }
  const plain = withoutExponent(
    text
      .trim()
      .replace(/^\+/, "")
      .replace(/^(-?)\./, "$10.")
      .replace(/\.(?=e|$)/i, ""),
  );
  const negative = plain.startsWith("-");
  const [whole = "", fraction = ""] = plain.replace("-", "").split(".");
  const [rounded, decimals] = scale === undefined ? [BigInt(whole || "0"), fraction] : round(whole, fraction, scale);
  const digits = `${rounded}${decimals === "" ? "" : `.${decimals}`}`;
  return negative && /[1-9]/.test(digits) ? `-${digits}` : digits;
}

function round(whole: string, fraction: string, scale: number): [whole: bigint, decimals: string] {
  const kept = BigInt(`0${whole}${fraction.slice(0, scale).padEnd(scale, "0")}`);
  const units = (fraction[scale] ?? "0") >= "5" ? kept + 1n : kept;
  const digits = String(units).padStart(scale + 1, "0");
  return scale === 0 ? [units, ""] : [BigInt(digits.slice(0, -scale)), digits.slice(-scale)];
}

/**
 * Formats a floating-point number as PostgreSQL formats a `float8`: the shortest text that parses to the same number, with an
 * exponent of at least two digits below 1e-4 and from 1e15 on. Beyond 2^53 PostgreSQL sometimes writes one more digit.
 */
export function float8Text(number: number): string {
  if (!Number.isFinite(number)) {
    return String(number);
  }
  if (Object.is(number, -0)) {
    return "-0";
  }
  const [digits = "", exponent = "0"] = number.toExponential().split("e");
  const power = Number(exponent);
  if (number !== 0 && (power < -4 || power >= 15)) {
    return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  return withoutExponent(String(number));
}

/** Formats a decimal number without an exponent. */
function withoutExponent(number: string): string {
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

const NUMBER = Symbol("number");

/** A JSON number that retains its digits as written. */
interface JsonNumber {
  readonly [NUMBER]: string;
}

export type Json = string | number | boolean | null | JsonNumber | readonly Json[] | { readonly [key: string]: Json };

/**
 * Formats a JSON value as PostgreSQL formats a `jsonb`: keys sorted by length in bytes and then by bytes, a space after each
 * colon and comma, numbers without an exponent. PostgreSQL cannot store U+0000, which is removed, and unpaired surrogates,
 * which are replaced by U+FFFD.
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

/** Matches the strings of JSON, which are skipped, and its numbers. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi;

/**
 * Parses JSON, retaining the digits of its numbers.
 *
 * @throws SyntaxError if the text is not JSON, or contains a string that PostgreSQL cannot store
 */
export function parseJson(text: string): Json {
  JSON.parse(text, (_, value) => {
    if (typeof value === "string" && storableText(value) !== value) {
      throw new SyntaxError("a text contains U+0000 or an unpaired surrogate");
    }
    return value;
  });
  // No string contains U+0000 at this point, so that it can mark numbers.
  const marked = text.replace(TOKENS, (token) => (token.startsWith('"') ? token : `"\\u0000${token}"`));
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith("\0") ? { [NUMBER]: value.slice(1) } : value,
  );
}

function storableText(text: string): string {
  return /[\0\ud800-\udfff]/.test(text) ? text.replaceAll("\0", "").replace(/\p{Surrogate}/gu, "\uFFFD") : text;
}

function isNumber(value: JsonNumber | readonly Json[] | { readonly [key: string]: Json }): value is JsonNumber {
  return NUMBER in value;
}

/** `Array.isArray` does not narrow read-only arrays. */
function isList(value: readonly Json[] | { readonly [key: string]: Json }): value is readonly Json[] {
  return Array.isArray(value);
}

const ISO = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d(?::?\d\d)?)?)?$/;

/** Parses a time in ISO 8601, or in PostgreSQL's format. */
export function isoNanoseconds(text: string): bigint | undefined {
  const [, day = "", clock = "00:00", fraction = "", zone = "Z"] = ISO.exec(text) ?? [];
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone.replace(/^([+-]\d\d)(\d\d)$/, "$1:$2");
  const milliseconds = Date.parse(`${day}T${clock}${offset}`);
  return Number.isNaN(milliseconds) || !isDay(day)
    ? undefined
    : BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** Reports whether a day exists. JavaScript parses February 30 as March 2. */
const isDay = (day: string) => new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
