import type { DescField, JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { ProtocolError } from "../errors/index.js";

/** The largest float; protobuf-es refuses whatever is beyond. */
const LARGEST_FLOAT = 3.4028234663852886e38;

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
 * Round a float that is beyond the largest one in its digits only. The shortest digits that stand for the largest float,
 * as Go and other languages print them, are 3.4028235e38: a little more than the float itself.
 *
 * @param value the value in Protobuf's JSON
 * @returns the largest float, or its negative, where the value rounds to it; any other value unchanged
 */
export function nearestFloat(value: JsonValue): JsonValue {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Math.abs(number) > LARGEST_FLOAT && Number.isFinite(Math.fround(number))
    ? Math.fround(number)
    : value;
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
