/**
 * Decode base64 as RFC 4648, section 4, has it: the standard alphabet, padded, nothing else between.
 *
 * @returns the bytes, or `undefined` where the text is not such base64
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, "base64");
  // Node decodes leniently; what does not encode to the same text was not strict.
  return bytes.toString("base64") === text ? bytes : undefined;
}
