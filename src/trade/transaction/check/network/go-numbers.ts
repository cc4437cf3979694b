/** A decimal number of any precision: `value * 10^exponent`. */
export interface Decimal {
  readonly value: bigint;
  readonly exponent: number;
}

/** Reads a whole number as the network does: decimal digits with an optional sign. */
export function integer(text: string): bigint | undefined {
  return /^[+-]?\d+$/.test(text) ? BigInt(text.replace("+", "")) : undefined;
}

/**
 * The largest exponent of a decimal number. The network takes larger ones, and then works out all of the digits: with
 * `1e10000000` its check takes seconds, with `1e50000000` minutes.
 */
const MAX_EXPONENT = 100_000n;

/** Reads a decimal number as the network does: digits with an optional sign, point and exponent. */
export function decimal(text: string): Decimal | undefined {
  const [, digits = "", exponent = "0"] = /^([^eE]*)(?:[eE](.*))?$/s.exec(text) ?? [];
  const point = digits.indexOf(".");
  const value = integer(digits.replace(".", ""));
  const shift = integer(exponent);
  if (value === undefined || shift === undefined || shift < -MAX_EXPONENT || shift > MAX_EXPONENT) {
    return undefined;
  }
  return { value, exponent: Number(shift) - (point < 0 ? 0 : digits.length - point - 1) };
}

export function compare(first: Decimal, second: Decimal): number {
  const [a, b] = [signOf(first), signOf(second)];
  if (a !== b || a === 0) {
    return a - b;
  }
  const difference = magnitude(first) - magnitude(second);
  if (difference !== 0) {
    return difference * a; // Numbers of any exponent are compared without writing all of their digits.
  }
  const exponent = Math.min(first.exponent, second.exponent);
  const [left, right] = [digitsAt(first, exponent), digitsAt(second, exponent)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Returns the sign of a decimal number: -1, 0 or 1. */
export function signOf({ value }: Decimal): number {
  return value > 0n ? 1 : value < 0n ? -1 : 0;
}

export function whole(value: number): Decimal {
  return { value: BigInt(value), exponent: 0 };
}

function magnitude({ value, exponent }: Decimal): number {
  return String(value < 0n ? -value : value).length + exponent;
}

function digitsAt({ value, exponent }: Decimal, at: number): bigint {
  return value * 10n ** BigInt(exponent - at);
}

/**
 * A floating-point number: decimal, possibly with underscores between digits. The network also accepts hexadecimal numbers, which
 * are refused here.
 */
const FLOAT = /^[+-]?(?:\d(?:_?\d)*(?:\.(?:\d(?:_?\d)*)?)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d){0,9})?$/;

/** Reads a floating-point number of 64 bits as the network does (Go's `strconv.ParseFloat`). */
export function float64(text: string): number | undefined {
  if (/^nan$/i.test(text)) {
    return Number.NaN;
  }
  if (/^[+-]?inf(?:inity)?$/i.test(text)) {
    return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  return FLOAT.test(text) ? Number(text.replaceAll("_", "")) : undefined;
}

/**
 * Returns whether a text is a floating-point number as the network parses one of unlimited size (Go's `big.Float`), and its sign.
 */
export function floatSign(text: string): number | undefined {
  if (!FLOAT.test(text) && !/^[+-]?[iI]nf$/.test(text)) {
    return undefined;
  }
  const [digits = ""] = text.split(/e/i);
  return /[1-9f]/.test(digits) ? (text.startsWith("-") ? -1 : 1) : 0;
}
