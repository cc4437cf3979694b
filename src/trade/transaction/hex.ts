/** Encodes bytes as hex. */
export function encodeHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

export function decodeHex(text: string, length: number): Uint8Array | undefined {
  return text.length === 2 * length && /^[0-9a-f]*$/i.test(text)
    ? Uint8Array.from(Buffer.from(text, "hex"))
    : undefined;
}
