import type { DescField, JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { ProtocolError } from "../errors/index.js";

/**
 * Refuse an integer of 64 bits that came as a JSON number and that JSON.parse may have rounded.
 *
 * @param value the value in Protobuf's JSON
 * @param field the field, for the error
 * @returns the value
 * @throws {@link ProtocolError} where it is a number beyond 2^53
 */
export function exactLong(value: JsonValue, { name }: DescField): JsonValue {
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw new ProtocolError(`${name} is a JSON number beyond 2^53, near ${value}, which cannot be read exactly`, {
      code: Code.Internal,
      advice: "The node must write integers of 64 bits as text; report it to who runs the node.",
    });
  }
  return value;
}

/**
 * Take a float for what its digits stand for. Go and other languages print the fewest digits that tell it from other
 * floats: as a double these are another number, and for the largest float, 3.4028235e38, one that protobuf-es refuses.
 *
 * @param value the value in Protobuf's JSON
 * @returns the float that is nearest to a number; any other value unchanged, and a number beyond all floats
 */
export function nearestFloat(value: JsonValue): JsonValue {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  const float = typeof number === "number" ? Math.fround(number) : Number.NaN;
  return Number.isFinite(float) ? float : value;
}

/**
 * Keep the sign of a negative zero, which JSON.stringify would drop: as text it is kept.
 *
 * @param value the value in Protobuf's JSON
 * @returns `"-0"` for negative zero; any other value unchanged
 */
export function signedZero(value: JsonValue): JsonValue {
  return Object.is(value, -0) ? "-0" : value;
}
