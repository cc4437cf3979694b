import { min } from "../../base/bigints.js";

/** Number of decimals in a fixed-point number: a factor, share or network parameter as an integer times {@link ONE}. */
export const FIXED_POINT_DECIMALS = 18;

/** The fixed-point number 1. */
export const ONE: bigint = 10n ** BigInt(FIXED_POINT_DECIMALS);

/** Largest signed 64-bit number, which is the limit of sizes and positions in messages. */
export const MAX_INT64: bigint = 2n ** 63n - 1n;

const MAX_UINT64 = 2n ** 64n - 1n;

/**
 * Parses a decimal number as an integer with a fixed number of decimals. Further decimals are dropped.
 *
 * @example parseFixedPoint("1.25", 3) // 1250n
 */
export function parseFixedPoint(text: string, decimals: number = FIXED_POINT_DECIMALS): bigint {
  const [, sign, integer = "", fraction = ""] = /^(-?)(\d*)(?:\.(\d*))?$/.exec(text) ?? [];
  const digits = BigInt(integer + fraction.slice(0, decimals).padEnd(decimals, "0"));
  return sign === "-" ? -digits : digits;
}

export function isBelow(a: string, b: string): boolean {
  return parseFixedPoint(a) < parseFixedPoint(b);
}

export function divideRounded(dividend: bigint, divisor: bigint): bigint {
  const half = divisor / 2n;
  return (dividend < 0n ? dividend - half : dividend + half) / divisor;
}

export function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}

/** Multiplies by a power of ten and rounds down (towards minus infinity). */
export function timesPowerOfTen(value: bigint, exponent: number): bigint {
  if (exponent >= 0) {
    return value * 10n ** BigInt(exponent);
  }
  const divisor = 10n ** BigInt(-exponent);
  return (value - (((value % divisor) + divisor) % divisor)) / divisor;
}

export function abs(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** Limits a volume to what an unsigned 64-bit field holds. */
export function clampUint64(value: bigint): bigint {
  return min(value, MAX_UINT64);
}

/** Truncates Unix nanoseconds to whole microseconds, the precision that nodes store. */
export function truncateToMicroseconds(time: bigint): bigint {
  return time - (time % 1000n);
}
