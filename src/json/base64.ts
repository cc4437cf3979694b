/**
 * Decode base64 (RFC 4648, section 4): the standard alphabet with padding, and no other characters.
 *
 * @param text the base64
 * @returns the bytes, or undefined where the text is not such base64
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
    return undefined;
  }
  const bytes = Buffer.from(text, "base64");
  // The unused bits before padding must be zero: only then does the last group encode to the same text.
  const lastGroup = bytes.subarray(Math.max(bytes.length - 1 - ((bytes.length - 1) % 3), 0));
  return text.endsWith(lastGroup.toString("base64")) ? bytes : undefined;
}
