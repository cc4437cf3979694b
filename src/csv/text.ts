import { isAscii, isUtf8 } from "node:buffer";

// With `stream: true` Node decodes characters beyond ASCII twice as fast. Valid text leaves no state in the decoder.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Decode UTF-8 up to the first bytes that are not UTF-8. U+FEFF is a character like any other.
 *
 * @param bytes the bytes to decode
 * @returns the text, without an incomplete last character; `valid` says whether all bytes are UTF-8
 */
export function textOf(bytes: Buffer): { readonly text: string; readonly valid: boolean } {
  if (isAscii(bytes)) {
    return { text: bytes.toString("latin1"), valid: true };
  }
  if (isUtf8(bytes)) {
    return { text: decoder.decode(bytes, { stream: true }), valid: true };
  }
  let text = "";
  let good = 0;
  let bad = bytes.length + 1;
  while (good + 1 < bad) {
    const middle = (good + bad) >>> 1;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, middle), {
        stream: true,
      });
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return { text, valid: good === bytes.length };
}
