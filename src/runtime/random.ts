import { current } from "./runtime.js";

/**
 * Draws a random number, for waits and choices; not for what has to be unpredictable.
 *
 * @returns a number from 0 to below 1
 */
export function randomFraction(): number {
  return current.randomFraction();
}

/**
 * Fills an array with unpredictable random bytes.
 *
 * @param bytes the array
 * @returns the same array
 */
export function fillRandom<T extends Uint8Array>(bytes: T): T {
  current.fillRandom(bytes);
  return bytes;
}

/**
 * Draws unpredictable random bytes.
 *
 * @param size how many
 * @returns the bytes
 */
export function randomBytes(size: number): Buffer {
  return fillRandom(Buffer.alloc(size));
}

/**
 * Draws a random UUID (version 4 of RFC 9562).
 *
 * @returns its text, in lower case
 */
export function randomUUID(): string {
  const bytes = randomBytes(16);
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x40;
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
