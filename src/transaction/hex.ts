/**
 * Encodes bytes as hex.
 *
 * @param bytes the bytes
 * @returns two hex digits per byte, in lower case
 */
export function encodeHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

/**
 * Decodes hex digits of either case.
 *
 * @param text the hex digits
 * @param length the number of bytes
 * @returns the bytes; `undefined` if the text is not exactly so many hex digits
 */
export function decodeHex(text: string, length: number): Uint8Array | undefined {
  return text.length === 2 * length && /^[0-9a-f]*$/i.test(text)
    ? Uint8Array.from(Buffer.from(text, "hex"))
    : undefined;
}
