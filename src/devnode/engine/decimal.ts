/**
 * Read a decimal number as a whole one.
 *
 * @param text the number, such as "0.0002", ".5" or "-12"
 * @param decimals how many decimals are kept; further ones are cut off
 * @returns the number times 10 to the power of `decimals`; 0 where the text is no number
 * @example parseDecimal("1.25", 3) // 1250n
 */
export function parseDecimal(text: string, decimals: number): bigint {
  const [, sign, whole = "", fraction = ""] = /^(-?)(\d*)(?:\.(\d*))?$/.exec(text) ?? [];
  const digits = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"));
  return sign === "-" ? -digits : digits;
}

/**
 * Divide whole numbers, rounding half away from zero.
 *
 * @param dividend the dividend
 * @param divisor the divisor, above 0
 * @returns the nearest whole number
 */
export function divideRounded(dividend: bigint, divisor: bigint): bigint {
  const half = divisor / 2n;
  return (dividend < 0n ? dividend - half : dividend + half) / divisor;
}

/**
 * Divide whole numbers, rounding up.
 *
 * @param dividend the dividend, 0 or above
 * @param divisor the divisor, above 0
 * @returns the least whole number that is not below the quotient
 */
export function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}

/**
 * Multiply by a power of ten, rounding down (towards minus infinity).
 *
 * @param value the number
 * @param exponent the power; where it is below 0, the number is divided
 * @returns the whole number
 */
export function timesPowerOfTen(value: bigint, exponent: number): bigint {
  if (exponent >= 0) {
    return value * 10n ** BigInt(exponent);
  }
  const divisor = 10n ** BigInt(-exponent);
  return (value - (((value % divisor) + divisor) % divisor)) / divisor;
}

/** The larger of two numbers. */
export function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** The smaller of two numbers. */
export function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** The largest number that messages hold in 64 bits with a sign. */
export const MAX_INT64: bigint = 2n ** 63n - 1n;

/** A time in Unix nanoseconds, cut to whole microseconds, in which nodes keep times. */
export function wholeMicroseconds(time: bigint): bigint {
  return time - (time % 1000n);
}

/** A number without its sign. */
export function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** A volume as a message can hold it: 64 bits without a sign. */
export function asUint64(value: bigint): bigint {
  return smaller(value, 2n ** 64n - 1n);
}
