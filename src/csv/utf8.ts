import { isUtf8 } from "node:buffer";
import { textOf } from "./text.js";

/** Checks that a text which passes is UTF-8. */
export interface Utf8Check {
  /**
   * Check the next bytes.
   *
   * @param bytes the bytes, split anywhere
   * @returns how many of them stand before the first that cannot be right: all where there is none
   */
  push(bytes: Buffer): number;
  /** Whether no character has begun and not ended. */
  readonly whole: boolean;
}

/**
 * Start to check a text. A character that is split is put together; all else is checked where it is.
 *
 * @returns the check
 */
export function createUtf8Check(): Utf8Check {
  let begun = Buffer.alloc(0);
  return {
    get whole() {
      return begun.length === 0;
    },
    push(bytes) {
      const missing = begun.length === 0 ? 0 : lengthOf(begun[0]) - begun.length;
      const added = bytes.subarray(0, missing);
      if (!added.every(isWithin)) {
        return 0;
      }
      begun = Buffer.concat([begun, added]);
      if (added.length < missing) {
        return bytes.length;
      }
      if (!isUtf8(begun)) {
        return 0;
      }
      const rest = bytes.subarray(missing);
      const whole = rest.subarray(0, rest.length - lengthOfBegun(rest));
      if (!isUtf8(whole)) {
        return missing + Buffer.byteLength(textOf(whole).text);
      }
      begun = Buffer.from(rest.subarray(whole.length));
      return bytes.length;
    },
  };
}

/** How many bytes at the end are of a character that goes on behind them. */
function lengthOfBegun(bytes: Buffer): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length++) {
    const byte = bytes[bytes.length - length] ?? 0;
    if (!isWithin(byte)) {
      return lengthOf(byte) > length ? length : 0;
    }
  }
  return 0;
}

/** Whether a byte stands in a character behind its first byte. */
function isWithin(byte: number): boolean {
  return byte >> 6 === 0b10;
}

/** How many bytes a character has, by its first one. */
function lengthOf(first = 0): number {
  if (first < 0xc0) {
    return 1;
  }
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}
