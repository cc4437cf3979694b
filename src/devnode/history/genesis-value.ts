import type { TableColumn } from "../../schema/table-schema.js";
import { isoNanoseconds } from "../iso-time.js";
import { parseJson } from "../tables/jsonb.js";
import { numericText } from "../tables/numeric.js";
import { fittingText, type Value } from "../tables/values.js";

/** A value of a row of one's own: of a kind that its column takes, or the text that PostgreSQL has for it. */
export type GenesisValue = string | number | bigint | boolean | Date | null;

/**
 * Write a value of one's own as PostgreSQL's COPY does.
 *
 * @param column the column
 * @param value a time as `Date`, as bigint Unix nanoseconds, or as text with a date and a time (UTC where it has no
 *   zone); an identifier as hex digits; a number as number, bigint or text; JSON as text; a code as number or by the name
 *   that it stands for; an enum's value by its name
 * @returns the text; `undefined` where the value does not fit the column
 */
export function genesisText(column: TableColumn, value: unknown): string | undefined {
  if (SPECIAL[column.type]?.test(String(value)) === true) {
    return String(value);
  }
  const meant = isGenesisValue(value) ? meantBy(column, value) : undefined;
  if (meant === null) {
    return column.holds === "json" ? "null" : undefined;
  }
  return meant === undefined ? undefined : fittingText(column, meant);
}

/** What PostgreSQL's types have beside numbers, as COPY writes it; a `numeric` of a precision has no infinity. */
const SPECIAL: { readonly [type in TableColumn["type"]]?: RegExp } = {
  float8: /^(?:NaN|-?Infinity)$/,
  numeric: /^(?:NaN|-?Infinity)$/,
  "numeric(1000,16)": /^NaN$/,
};

function isGenesisValue(value: unknown): value is NonNullable<GenesisValue> {
  return ["string", "number", "bigint", "boolean"].includes(typeof value) || value instanceof Date;
}

/** What a column of each kind is called in an error. */
export const EXPECTED: { readonly [holds in TableColumn["holds"]]: string } = {
  time: "a time, such as 2023-10-19T08:00:01Z",
  id: "bytes in hex digits",
  whole: "a whole number that the column can hold",
  decimal: "a number",
  number: "a number",
  flag: "true or false",
  text: "a text without U+0000 and halves of surrogate pairs",
  json: "a text of JSON",
  enum: "one of the type's names",
  code: "a number, or a name that one stands for",
};

function meantBy(column: TableColumn, value: NonNullable<GenesisValue>): Value {
  switch (column.holds) {
    case "time":
      return nanoseconds(value);
    case "id":
      return typeof value === "string" ? value.replace(/^(?:\\x|0x)/, "") : undefined;
    case "whole":
      return isWhole(value) ? value : undefined;
    case "code":
      return isWhole(value) ? value : codeOf(column, value);
    case "decimal":
    case "number":
      return value instanceof Date || typeof value === "boolean" ? undefined : value;
    case "flag":
      return value === "t" || value === "true" ? true : value === "f" || value === "false" ? false : kind(value);
    case "text":
      return typeof value === "string" && !/[\0\p{Surrogate}]/u.test(value) ? value : undefined;
    case "json":
      return parsed(value);
    case "enum":
      return kind(value);
  }
}

const kind = (value: NonNullable<GenesisValue>): Value => (value instanceof Date ? undefined : value);

function isWhole(value: NonNullable<GenesisValue>): value is string | number | bigint {
  const text = typeof value === "boolean" || value instanceof Date ? "" : String(value);
  return /^-?\d+(?:\.0*)?$/.test(numericText(text) ?? "");
}

function codeOf({ code }: TableColumn, value: NonNullable<GenesisValue>): string | undefined {
  return Object.entries(code?.names ?? {}).find(([, name]) => name === value)?.[0];
}

function parsed(value: NonNullable<GenesisValue>): Value {
  try {
    return typeof value === "string" ? parseJson(value) : undefined;
  } catch {
    return undefined;
  }
}

const CLOCK = /[ T]\d\d:\d\d:\d\d/;

/** The Unix nanoseconds of a time. */
function nanoseconds(value: NonNullable<GenesisValue>): bigint | undefined {
  if (typeof value === "bigint") {
    return value;
  }
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? undefined : BigInt(value.getTime()) * 1_000_000n;
  }
  return typeof value === "string" && CLOCK.test(value) ? isoNanoseconds(value) : undefined;
}
