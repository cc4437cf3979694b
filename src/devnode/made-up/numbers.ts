import { hash } from "node:crypto";

/** The hex digits of an identifier that hold its number. */
const NUMBER_DIGITS = 12;

/**
 * Make an identifier or a hash.
 *
 * @param content a text such as `market:0`, or bytes
 * @returns its SHA-256, 64 hex digits
 */
export function hashOf(content: string | Uint8Array): string {
  return hash("sha256", content);
}

/**
 * Make an identifier that can be turned back into its number: a hash, whose last digits are the number.
 *
 * @param kind what it identifies, such as `order`
 * @param number from 0
 * @returns 64 hex digits
 */
export function numberedId(kind: string, number: number): string {
  return hashOf(`${kind}:${number}`).slice(NUMBER_DIGITS) + number.toString(16).padStart(NUMBER_DIGITS, "0");
}

/**
 * Find the number of an identifier that {@link numberedId} made.
 *
 * @param kind what it identifies
 * @param id any text
 * @returns the number; `undefined` where the text is no such identifier
 */
export function numberOf(kind: string, id: string): number | undefined {
  const number = Number.parseInt(id.slice(-NUMBER_DIGITS), 16);
  return Number.isSafeInteger(number) && numberedId(kind, number) === id ? number : undefined;
}

/**
 * Give a scattered whole number that is the same on every start.
 *
 * @param low the smallest number
 * @param spread how many numbers there are from `low` on
 * @param seed what the number depends on, from 0
 * @returns the number
 */
export function scatter(low: number, spread: number, seed: number): number {
  return low + ((seed * 7919 + 104_729) % spread);
}

/**
 * Write a number of units of the last decimal as a decimal number.
 *
 * @param units such as 1234
 * @param places the number of decimals, at least 1
 * @returns such as `12.34` for 2 decimals
 */
export function decimal(units: number, places: number): string {
  const digits = String(units).padStart(places + 1, "0");
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

/**
 * Choose one of several values, in turn.
 *
 * @param values at least one
 * @param number from 0; what is behind its decimal point does not count
 * @returns the value
 */
export function pick<T>(values: readonly [T, ...T[]], number: number): T {
  return values[Math.floor(number) % values.length] ?? values[0];
}
