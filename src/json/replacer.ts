import { base64Encode } from "@bufbuild/protobuf/wire";

/**
 * What `JSON.stringify` needs for all that this library gives: 64-bit integers become decimal texts and bytes base64, as
 * in Protobuf's JSON. Enum values stay numbers; `messageToJson` names them.
 *
 * @param key the key of the value, in what holds it
 * @param value the value
 * @returns what JSON can hold
 *
 * @example
 * const saved = await client.exportNetworkHistory(request).saveTo("archives/");
 * console.log(JSON.stringify(saved, jsonReplacer)); // fromBlock is "1"
 */
export function jsonReplacer(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === "bigint") {
    return String(value);
  }
  // A Buffer comes here as what its own toJSON() has made of it.
  const held: unknown = typeof value === "object" && value !== null ? Reflect.get(Object(this), key) : undefined;
  return held instanceof Uint8Array ? base64Encode(held) : value;
}
