import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isBytes } from "../../base/input/assert.js";

/** The maximum depth of JSON: that of a Protobuf message. */
export const MAX_DEPTH = 100;

/**
 * Decodes UTF-8.
 *
 * @throws TypeError if the bytes are not UTF-8
 */
export function decodeUtf8(bytes: Uint8Array): string {
  // For a small text, Buffer takes a fraction of the time of TextDecoder. It replaces what is not UTF-8.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  if (text.includes(REPLACEMENT)) {
    return decoder.decode(bytes);
  }
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

const REPLACEMENT = "\uFFFD";
const BYTE_ORDER_MARK = "\uFEFF";

/** Shared, because it has no state between calls. */
const decoder = new TextDecoder("utf-8", { fatal: true });

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Decodes base64 (RFC 4648, section 4): the standard alphabet with padding, and no other characters. */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
    return undefined;
  }
  const bytes = Buffer.from(text, "base64");
  // The unused bits before padding must be zero: only then does the last group encode to the same text.
  const lastGroup = bytes.subarray(Math.max(bytes.length - 1 - ((bytes.length - 1) % 3), 0));
  return text.endsWith(lastGroup.toString("base64")) ? bytes : undefined;
}

/**
 * A replacer for `JSON.stringify`, for your own objects with 64-bit integers, bytes or messages; results of this library
 * need none. 64-bit integers become decimal strings and bytes become base64, as in Protobuf's JSON. Enum values remain
 * numbers; `messageToJson` names them.
 *
 * @param key the key of the value in its object
 * @param value the value
 * @returns a value that JSON can represent
 *
 * @example
 * const { markets } = await client.service(TradingDataService).listMarkets({});
 * console.log(JSON.stringify({ at: process.hrtime.bigint(), markets }, jsonReplacer));
 */
export function jsonReplacer(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === "bigint") {
    return String(value);
  }
  // For a Buffer, `value` is the result of its toJSON(), so the Buffer is read from the object.
  const held: unknown = typeof value === "object" && value !== null ? Reflect.get(Object(this), key) : undefined;
  return isBytes(held) ? Buffer.from(held).toString("base64") : value;
}
