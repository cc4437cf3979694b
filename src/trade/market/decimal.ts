import { quoted } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { invalidValueError, requireInteger } from "../../base/input/assert.js";

/** What a whole number of the network counts: prices and sizes of a market, and amounts of an asset. */
export type UnitKind = "asset" | "price" | "size";

declare const unit: unique symbol;

/**
 * A whole number in units of the last decimal place of a market's prices, of its sizes, or of an asset. At run time, it is a
 * `bigint`. For the compiler it is not, so that numbers of different kinds are neither added nor compared: `valueOf()` returns
 * the `bigint`.
 */
export interface Units<Kind extends UnitKind> {
  readonly [unit]: Kind;
  valueOf(): bigint;
  toString(): string;
}

/**
 * The maximum number of decimals, and of zeros before the decimal point with a minus. The network accepts markets with fewer
 * than 150, sizes with -6 to 6 (v0.78.0, `checkNewMarketChanges` in commands/proposal_submission.go), and ERC-20 tokens
 * with up to 255.
 */
export const MAX_DECIMALS = 255;

/** The maximum length of a number, in characters. A price or an amount has up to 78 digits before it is scaled. */
const MAX_LENGTH = 1000;

/** Digits, and a fraction. */
const DECIMAL = /^(?<sign>-?)(?<integer>\d+)(?:\.(?<fraction>\d+))?$/;

/** A whole number as the network sends it. */
const INTEGER = /^-?\d+$/;

/** The rules for a decimal number, besides its decimals. */
export interface DecimalRules {
  /** The name of the number, for errors, such as `price`. */
  readonly option: string;
  /** The owner of the decimals, for errors, such as `market 1f0a…`. */
  readonly owner?: string | undefined;
  /** The number must be a multiple of this, in units. 1 by default. */
  readonly tick?: bigint | undefined;
  /** Whether the number may be negative. */
  readonly isSigned: boolean;
}

/**
 * Converts a decimal number to units of its last decimal place, as the network counts prices, sizes and amounts. It never
 * rounds.
 *
 * @param text the number, such as `1.2345`: digits, with a minus sign and a fraction if needed, and no exponent
 * @param decimals the number of decimal places, -255 to 255; with -2, the units are hundreds
 * @returns the number in units
 * @throws {@link RequestError} if the text is not such a number, or would need rounding; the error contains the nearest valid
 *   numbers
 *
 * @example
 * parseDecimal("1.2345", 5); // 123450n
 */
export function parseDecimal(text: string, decimals: number): bigint {
  requireInteger("decimals", decimals, -MAX_DECIMALS, MAX_DECIMALS);
  return parseByRules(text, decimals, { option: "text", isSigned: true });
}

/**
 * Converts units of a last decimal place to a decimal number, without trailing zeros.
 *
 * @param units the number in units, as the network sends it or a listing returns it: a `bigint`, or a whole number in text
 * @param decimals the number of decimal places, -255 to 255
 * @returns the number, such as `1.2345`; {@link parseDecimal} returns the same units for it
 * @throws {@link RequestError} if `units` is not a whole number of up to 1000 digits
 *
 * @example
 * formatDecimal(123450n, 5); // "1.2345"
 */
export function formatDecimal(units: bigint | string | Units<UnitKind>, decimals: number): string {
  requireInteger("decimals", decimals, -MAX_DECIMALS, MAX_DECIMALS);
  return formatField("units", units, decimals);
}

/**
 * Converts units to a decimal number, as {@link formatDecimal} does.
 *
 * @throws {@link RequestError} if the units are not a whole number
 */
export function formatField(field: string, units: unknown, decimals: number): string {
  const value = parseUnits(units);
  if (value === undefined) {
    throw invalidValueError(field, units, "a bigint, or a string of digits");
  }
  const scaled = decimals < 0 ? value * 10n ** BigInt(-decimals) : value;
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(Math.max(decimals, 0) + 1, "0");
  const point = digits.length - Math.max(decimals, 0);
  const fraction = digits.slice(point).replace(/0+$/, "");
  return `${scaled < 0n ? "-" : ""}${digits.slice(0, point)}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Returns a number in units; `undefined` if it is not a whole number. */
export function parseUnits(units: unknown): bigint | undefined {
  return typeof units === "bigint" || isShortMatch(units, INTEGER) ? BigInt(units) : undefined;
}

/**
 * Converts a decimal number to units, as {@link parseDecimal} does.
 *
 * @throws {@link RequestError} if the number violates a rule
 */
export function parseByRules(text: string, decimals: number, rules: DecimalRules): bigint {
  const { option, isSigned, tick = 1n } = rules;
  const parts = isShortMatch(text, DECIMAL) ? DECIMAL.exec(text)?.groups : undefined;
  if (parts === undefined) {
    throw invalidValueError(
      option,
      text,
      `a decimal number as a string, such as ${quoted(formatDecimal(12345n, decimals))}`,
    );
  }
  const { sign = "", integer = "", fraction = "" } = parts;
  if (sign === "-" && !isSigned) {
    throw new RequestError(`must not be negative (got ${quoted(text)})`, { option });
  }
  // As a fraction of whole numbers, the number is exact.
  const given = BigInt(`${integer}${fraction}`);
  const exponent = decimals - fraction.length;
  const scale = 10n ** BigInt(Math.abs(exponent));
  const [numerator, denominator] = exponent < 0 ? [given, scale] : [given * scale, 1n];
  const step = denominator * tick;
  if (numerator % step === 0n) {
    const units = numerator / denominator;
    return sign === "-" ? -units : units;
  }
  const below = (numerator / step) * tick;
  throw inexactError(text, decimals, rules, sign === "-" ? [-below - tick, -below] : [below, below + tick]);
}

function inexactError(
  text: string,
  decimals: number,
  { option, owner, tick = 1n, isSigned }: DecimalRules,
  nearest: readonly [below: bigint, above: bigint],
): RequestError {
  const step = formatDecimal(tick, decimals);
  const of = owner === undefined ? "" : ` of ${owner}`;
  const expected =
    tick === 1n
      ? `must have at most ${decimals} decimals${of}${decimals < 0 ? `, in steps of ${step}` : ""}`
      : `must be a multiple of ${step}, the tick size${of} with ${decimals} decimals`;
  const [below, above] = nearest.map((units) => formatDecimal(units, decimals));
  const advice =
    nearest[0] === 0n && !isSigned // No price and no size is 0.
      ? `Use at least ${above}.`
      : `Use ${below}, the nearest below, or ${above}, the nearest above.`;
  return new RequestError(`${expected} (got ${quoted(text)})`, { option, advice });
}

function isShortMatch(text: unknown, pattern: RegExp): text is string {
  return typeof text === "string" && text.length <= MAX_LENGTH && pattern.test(text);
}
