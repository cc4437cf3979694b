import { ScalarType } from "@bufbuild/protobuf";
import { quoted } from "../errors/quoted.js";
import { misfit, type Place, pathOf } from "./misfit.js";

/**
 * Reads the value of a field.
 *
 * @param value the value
 * @param at the place of the message that has the field
 * @param name of the field
 * @returns the value as protobuf-es takes it
 * @throws {@link RequestError} where it does not fit the field
 */
export type Read = (value: unknown, at: Place | undefined, name: string) => unknown;

/**
 * Make what reads the values of a scalar type.
 *
 * @param type the type
 * @param longAsString whether integers of 64 bits are texts in the field
 * @returns the reader
 */
export function scalarReader(type: ScalarType, longAsString: boolean): Read {
  switch (type) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return trueOrFalse;
    case ScalarType.BYTES:
      return bytes;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return number;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return longAsString ? longText : wholeLong(-(2n ** 63n), 2n ** 63n - 1n);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return longAsString ? longText : wholeLong(0n, 2n ** 64n - 1n);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return whole(0, 2 ** 32 - 1);
    default:
      return whole(-(2 ** 31), 2 ** 31 - 1);
  }
}

const text: Read = (value, at, name) => {
  if (typeof value !== "string") {
    const isNumber = typeof value === "number" || typeof value === "bigint";
    throw misfit(pathOf(at, name), value, isNumber ? `a text, ${quoted(String(value))}` : "a text");
  }
  return value;
};

const trueOrFalse: Read = (value, at, name) => {
  if (typeof value !== "boolean") {
    throw misfit(pathOf(at, name), value, "true or false");
  }
  return value;
};

const bytes: Read = (value, at, name) => {
  if (!(value instanceof Uint8Array) && !Array.isArray(value)) {
    throw misfit(pathOf(at, name), value, "a Uint8Array");
  }
  return value;
};

const number: Read = (value, at, name) => {
  if (typeof value !== "number") {
    throw misfit(pathOf(at, name), value, `a number${meant(value)}`);
  }
  return value;
};

/** A 64-bit integer in a field of texts: protobuf-es checks it when it is written. */
const longText: Read = (value) => (typeof value === "bigint" || typeof value === "number" ? String(value) : value);

function whole(least: number, most: number): Read {
  return (value, at, name) => {
    if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) {
      throw misfit(pathOf(at, name), value, `a whole number${meant(value) || ` from ${least} to ${most}`}`);
    }
    return value;
  };
}

function wholeLong(least: bigint, most: bigint): Read {
  return (value, at, name) => {
    const long = typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
    if (typeof long !== "bigint" || long < least || long > most) {
      const number = meant(value);
      throw misfit(
        pathOf(at, name),
        value,
        `a whole number${number === "" ? ` from ${least} to ${most}` : `${number}n`}`,
      );
    }
    return long;
  };
}

/** The number that a text stands for, to be named as what belongs there. */
function meant(value: unknown): string {
  return typeof value === "string" && /^-?\d{1,20}$/.test(value) ? `, ${value}` : "";
}
