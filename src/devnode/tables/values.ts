import type { TableColumn } from "../../schema/table-schema.js";
import { type Json, jsonbText, storableText } from "./jsonb.js";
import { float8Text, numericText } from "./numeric.js";
import { timeText } from "./time.js";

/**
 * What an event says for a column: identifiers as hex digits, times as Unix nanoseconds, amounts as decimal texts, values
 * of enums by their names, codes by their numbers; `undefined` where it says nothing.
 */
export type Value = string | bigint | number | boolean | Json | undefined;

/** Texts of the values of a type that stand where an event says nothing and the column takes no NULL. */
const ZERO = {
  time: timeText(0n),
  id: "\\x",
  whole: "0",
  decimal: "0",
  number: "0",
  code: "0",
  flag: "f",
  text: "",
  json: "{}",
} as const;

/** The bits of whole numbers. The others are `hugeint`, which has up to 1000 digits. */
const BITS: { readonly [type: string]: number } = { int2: 16, int4: 32, int8: 64 };
const HUGEINT = /^-?\d{1,1000}$/;

/**
 * Write what an event says for a column as PostgreSQL's COPY does. A value that does not fit the column's type counts as
 * one that the event does not say.
 *
 * @param column the column
 * @param value the value
 * @returns the text; `null` for NULL, where the column takes it
 */
export function columnText(column: TableColumn, value: Value): string | null {
  const text = value === undefined || value === null ? undefined : fittingText(column, value);
  if (text !== undefined) {
    return text;
  }
  if (column.nullable) {
    return null;
  }
  return column.holds === "enum" ? (column.values?.[0] ?? "") : ZERO[column.holds];
}

/**
 * Write a value as PostgreSQL's COPY does.
 *
 * @param column the column
 * @param value the value, of the kind that {@link Value} says
 * @returns the text; `undefined` where the value does not fit the column's type
 */
export function fittingText({ type, holds, values }: TableColumn, value: NonNullable<Value>): string | undefined {
  switch (holds) {
    case "time":
      return typeof value === "bigint" ? timeText(value) : undefined;
    case "id":
      return typeof value === "string" && /^(?:[0-9a-f]{2})*$/i.test(value) ? `\\x${value.toLowerCase()}` : undefined;
    case "whole":
    case "code":
      return wholeText(type, String(value));
    case "decimal":
      return numericText(String(value), type === "numeric(1000,16)" ? 16 : undefined);
    case "number":
      return floatText(value);
    case "flag":
      return typeof value === "boolean" ? (value ? "t" : "f") : undefined;
    case "text":
      return typeof value === "string" ? storableText(value) : undefined;
    case "json":
      return typeof value === "bigint" ? undefined : jsonbText(value);
    case "enum":
      return typeof value === "string" && values?.includes(value) ? value : undefined;
  }
}

/** Most numbers need no second look: they are written so already, and any column holds them. */
const PLAIN = /^(?:0|[1-9]\d{0,3})$/;
const PLAIN_WIDE = /^(?:0|[1-9]\d{0,17})$/;

function wholeText(type: TableColumn["type"], value: string): string | undefined {
  if ((type === "int2" || type === "int4" ? PLAIN : PLAIN_WIDE).test(value)) {
    return value;
  }
  const text = numericText(value, 0);
  const bits = BITS[type];
  if (text === undefined || bits === undefined) {
    return text !== undefined && HUGEINT.test(text) ? text : undefined;
  }
  return BigInt.asIntN(bits, BigInt(text)) === BigInt(text) ? text : undefined;
}

function floatText(value: NonNullable<Value>): string | undefined {
  const number = typeof value === "string" && value.trim() === "" ? Number.NaN : Number(value);
  return Number.isFinite(number) ? float8Text(number) : undefined;
}
