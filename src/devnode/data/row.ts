import { type DescEnum, type DescMessage, fromJsonString, type MessageShape } from "@bufbuild/protobuf";
import { types } from "@electric-sql/pglite";

/**
 * A row of a table: identifiers as hex, times as Unix nanoseconds, amounts, decimals and JSON as text, and else
 * PGlite's types.
 */
export type Row = Readonly<Record<string, unknown>>;

/** How PGlite reads columns whose own types lose digits, or are not what messages hold. */
export const columnParsers: Readonly<Record<number, (text: string) => unknown>> = {
  [types.BYTEA]: (text) => text.replace(/^\\x/, ""),
  [types.JSONB]: (text) => text,
  [types.TIMESTAMPTZ]: nanoseconds,
};

/** The time that PostgreSQL writes for UTC, such as `2023-10-19 08:00:01.007919+00`, in Unix nanoseconds. */
function nanoseconds(text: string): bigint | undefined {
  const [, date = "", time = "", fraction = ""] = /^(\S+) ([\d:]+)(?:\.(\d+))?\+00$/.exec(text) ?? [];
  const milliseconds = Date.parse(`${date}T${time}Z`);
  // Infinity is no time that a message can hold.
  return Number.isNaN(milliseconds) ? undefined : BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** Reads the columns of a row as fields of a message. NULL gives the field's default. */
export interface RowReader {
  text(name: string): string;
  number(name: string): number;
  /** A whole number, or a time in Unix nanoseconds. */
  integer(name: string): bigint;
  flag(name: string): boolean;
  /** The value of an enum that is kept by its name or by its number. */
  enumeration(schema: DescEnum, name: string): number;
  /** A message that is kept as JSON. */
  json<O extends DescMessage>(schema: O, name: string): MessageShape<O>;
  /** Give members only where a column is not NULL. */
  given<T extends object>(name: string, members: () => T): T | Record<string, never>;
}

/**
 * Read a row of a table.
 *
 * @param row the row
 * @returns functions that read one column each
 */
export function readRow(row: Row): RowReader {
  const text = (name: string) => String(row[name] ?? "");
  return {
    text,
    number: (name) => Number(row[name] ?? 0),
    integer: (name) => BigInt(text(name)),
    flag: (name) => row[name] === true,
    enumeration: (schema, name) =>
      schema.values.find((value) => value.name === row[name])?.number ?? Number(row[name] ?? 0),
    json: (schema, name) => fromJsonString(schema, text(name) || "{}", { ignoreUnknownFields: true }),
    given: (name, members) => (row[name] === null || row[name] === undefined ? {} : members()),
  };
}
