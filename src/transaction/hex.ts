/** Bytes as lower-case hex. */
export function encodeHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

/**
 * The bytes of a text in hex, of either case.
 *
 * @param length how many bytes there have to be
 * @returns `undefined` where the text is not that
 */
export function decodeHex(text: string, length: number): Uint8Array | undefined {
  return text.length === 2 * length && /^[0-9a-f]*$/i.test(text)
    ? Uint8Array.from(Buffer.from(text, "hex"))
    : undefined;
}
