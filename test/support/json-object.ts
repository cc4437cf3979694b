import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Whether a JSON value is an object, and no array. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
