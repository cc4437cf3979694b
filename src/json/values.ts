import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** How deep JSON may be nested: as deep as a Protobuf message. */
export const MAX_DEPTH = 100;

/**
 * Decode UTF-8.
 *
 * @param bytes the bytes, with or without a byte order mark
 * @returns the text, without a byte order mark
 * @throws TypeError where the bytes are not UTF-8
 */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** It keeps nothing from one text to the next. */
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Whether a JSON value is an object.
 *
 * @param value the JSON value
 * @returns true for an object that is neither an array nor null
 */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
