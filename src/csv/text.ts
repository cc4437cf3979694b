import { isAscii, isUtf8 } from "node:buffer";

// Asked to stream, Node decodes characters beyond ASCII twice as fast as otherwise. Valid text leaves nothing behind in it.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * The text of `bytes`, up to the first bytes that are not UTF-8; `valid` says that there are none.
 * A last character that is not complete is left out without a word. U+FEFF is a character like any other.
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
