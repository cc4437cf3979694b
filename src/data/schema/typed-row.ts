import type { Rows } from "../../../gen/tables/rows.js";
import type { ScalarType } from "./data/facts.js";
import type { TableName } from "./table-names.js";
import type { TableColumn } from "./table-schema.js";
import { TIME } from "./time-text.js";

/** A value of a typed row. */
export type TypedValue = string | bigint | number | boolean | null;

/** A typed row of a table that is not known at compile time. */
export type TypedRecord = Record<string, TypedValue>;

/** A mapped type: editors show its name, and unlike an interface it fits {@link TypedRecord}. */
type TableRow<Table extends TableName> = { [Column in keyof Rows[Table]]: Rows[Table][Column] };

/**
 * A typed row of a table. Columns that some schema versions lack are optional. Whole numbers are `bigint`, decimals and JSON are
 * strings, identifiers are lower-case hex, times are ISO 8601 in UTC with microseconds, and enums and codes are names.
 *
 * @example
 * const notional = ({ price, size }: TypedRow<"trades">): bigint => price * size;
 */
export type TypedRow<Table extends TableName = TableName> = TableName extends Table
  ? TypedRecord
  : Table extends TableName
    ? TableRow<Table>
    : never;

/** Parses the text of a value as `COPY` writes it; `undefined` if the text does not fit the type. */
export type ReadValue = (text: string) => Exclude<TypedValue, null> | undefined;

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
  int2: "a 16-bit integer",
  int4: "a 32-bit integer",
  int8: "a 64-bit integer",
  hugeint: "an integer of at most 1000 digits",
  numeric: "a decimal number",
  "numeric(1000,16)": "a decimal number",
  float8: "a floating-point number",
  bool: "t or f",
  text: "text",
  bytea: "\\x and pairs of lowercase hex digits",
  timestamptz: "a UTC time in the years 1 to 9999, such as 2023-10-19 08:13:00.123456+00",
  jsonb: "JSON",
};

/** Returns the function that parses the values of a column. The column is resolved once per file. */
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

/** Describes the values of a column, for errors. */
export function expectedValue(column: TableColumn): string {
  return column.values === undefined ? EXPECTED[column.type] : "the name of an enum value";
}

/** Returns a parser of integers from `-bound` to `bound - 1`, with at most this many characters. */
function wholeNumber(characters: number, bound: bigint): ReadValue {
  return (text) => {
    if (text.length > characters || !WHOLE.test(text)) {
      return undefined;
    }
    const number = BigInt(text);
    return text.length < characters - 1 || (-bound <= number && number < bound) ? number : undefined;
  };
}
