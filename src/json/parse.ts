import type { JsonValue } from "@bufbuild/protobuf";
import { requireFewJsonElements } from "./element-limit.js";
import { setSize } from "./message-size.js";
import { decodeUtf8 } from "./values.js";

/**
 * Parses JSON that came from a node.
 *
 * @param bytes the JSON, in UTF-8
 * @returns its value; that of an object or list has its size stored
 * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` if it has more elements than an answer may have
 * @throws SyntaxError or TypeError if it is not JSON in UTF-8
 */
export function parseJson(bytes: Uint8Array): JsonValue {
  const size = requireFewJsonElements(bytes);
  const json: JsonValue = JSON.parse(decodeUtf8(bytes));
  if (typeof json === "object" && json !== null) {
    setSize(json, size);
  }
  return json;
}
