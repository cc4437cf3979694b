import type { ScalarType } from "./data/facts.js";
import type { TableColumn } from "./table-schema.js";
import type { TypedValue } from "./typed-row.js";

/** Turns the text of a value, as `COPY` writes it, into the value; `undefined` where the text does not fit the type. */
export type ReadValue = (text: string) => Exclude<TypedValue, null> | undefined;

const TIME =
  /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]) (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?\+00$/;
const WHOLE = /^-?\d+$/;
const HUGE = /^-?\d{1,1000}$/;
const DECIMAL = /^(?:-?\d+(?:\.\d+)?|NaN|-?Infinity)$/;
const NUMBER = /^(?:-?\d+(?:\.\d+)?(?:e[-+]\d+)?|NaN|-?Infinity)$/;
const BYTES = /^\\x(?:[0-9a-f]{2})*$/;

const READ: { readonly [type in ScalarType]: ReadValue } = {
  int2: wholeNumber(6, 2n ** 15n),
  int4: wholeNumber(11, 2n ** 31n),
  int8: wholeNumber(20, 2n ** 63n),
  hugeint: (text) => (HUGE.test(text) ? BigInt(text) : undefined),
  numeric: (text) => (DECIMAL.test(text) ? text : undefined),
  "numeric(1000,16)": (text) => (DECIMAL.test(text) ? text : undefined),
  float8: (text) => (NUMBER.test(text) ? Number(text) : undefined),
  bool: (text) => (text === "t" ? true : text === "f" ? false : undefined),
  text: (text) => text,
  bytea: (text) => (BYTES.test(text) ? text.slice(2) : undefined),
  timestamptz: (text) =>
    TIME.test(text) ? `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(6, "0")}Z` : undefined,
  jsonb: (text) => text,
};

const EXPECTED: { readonly [type in ScalarType]: string } = {
  int2: "a whole number of 16 bits",
  int4: "a whole number of 32 bits",
  int8: "a whole number of 64 bits",
  hugeint: "a whole number of at most 1000 digits",
  numeric: "a decimal number",
  "numeric(1000,16)": "a decimal number",
  float8: "a floating-point number",
  bool: "t or f",
  text: "text",
  bytea: "\\x and pairs of lower-case hex digits",
  timestamptz: "a time of the years 1 to 9999 in UTC, such as 2023-10-19 08:13:00.123456+00",
  jsonb: "JSON",
};

/**
 * Choose how the values of a column are read. Made once for a file, it does not look at the column again.
 *
 * @param column of the table
 * @param onUnknown is called with each enum value or code that has no known name, before it is kept as it came
 * @returns the function that reads them
 */
export function valueReader(column: TableColumn, onUnknown: (text: string) => void): ReadValue {
  if (column.values !== undefined) {
    const known = new Set(column.values);
    return (text) => {
      if (!known.has(text)) {
        onUnknown(text);
      }
      return text;
    };
  }
  const read = READ[column.type];
  if (column.code === undefined) {
    return read;
  }
  const names = new Map(Object.entries(column.code.names));
  return (text) => {
    const name = names.get(text);
    if (name !== undefined) {
      return name;
    }
    const number = read(text);
    if (number !== undefined) {
      onUnknown(text);
    }
    return number;
  };
}

/**
 * Say what the values of a column look like, for errors.
 *
 * @param column of the table
 * @returns a noun phrase, such as `a whole number of 16 bits`
 */
export function expectedValue(column: TableColumn): string {
  return column.values === undefined ? EXPECTED[column.type] : "the name of an enum value";
}

/** Reads whole numbers of two's complement: from `-bound` to `bound - 1`, with at most so many characters. */
function wholeNumber(characters: number, bound: bigint): ReadValue {
  return (text) => {
    if (text.length > characters || !WHOLE.test(text)) {
      return undefined;
    }
    const number = BigInt(text);
    return text.length < characters - 1 || (-bound <= number && number < bound) ? number : undefined;
  };
}
