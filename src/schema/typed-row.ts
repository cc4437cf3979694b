import type { WireEnums } from "./data/codes.js";
import type { enums } from "./data/enums.js";
import type { facts } from "./data/index.js";
import type { TableName } from "./tables.js";

/** A value of a typed row. */
export type TypedValue = string | bigint | number | boolean | null;

/** A typed row of a table that is not known at compile time. */
export type TypedRecord = Record<string, TypedValue>;

/** The values of PostgreSQL's types; enum types and codes are below. */
interface Values {
  int2: bigint;
  int4: bigint;
  int8: bigint;
  hugeint: bigint;
  numeric: string;
  "numeric(1000,16)": string;
  float8: number;
  bool: boolean;
  text: string;
  bytea: string;
  timestamptz: string;
  jsonb: string;
}

type Enums = typeof enums;

/** A text that newer nodes may send beside the known ones, which editors still offer. */
type OtherText = string & {};

type Value<Column> = Column extends { readonly code: infer Code extends keyof WireEnums }
  ? WireEnums[Code] | bigint
  : Column extends { readonly type: infer Type }
    ? Type extends keyof Values
      ? Values[Type]
      : Type extends keyof Enums
        ? Enums[Type][number] | OtherText
        : never
    : never;

/** A column that not every schema version has. */
type Passing = { readonly since: number } | { readonly until: number };

type RowOf<Columns> = {
  -readonly [Name in keyof Columns as Columns[Name] extends Passing ? never : Name]:
    | Value<Columns[Name]>
    | (Columns[Name] extends { readonly nullable: true } ? null : never);
} & {
  -readonly [Name in keyof Columns as Columns[Name] extends Passing ? Name : never]?: Value<Columns[Name]> | null;
};

type Simplified<T> = { [Name in keyof T]: T[Name] };

/**
 * A typed row of a table. Columns that not every schema version has are optional. Whole numbers are `bigint`, decimals
 * and JSON are their texts, identifiers are lower-case hex, times are ISO 8601 in UTC with six digits of a second, and
 * enums and codes are names.
 *
 * @example
 * const notional = ({ price, size }: TypedRow<"trades">): bigint => price * size;
 */
export type TypedRow<Table extends TableName = TableName> = TableName extends Table
  ? TypedRecord
  : Table extends TableName
    ? Simplified<RowOf<(typeof facts)[Table]["columns"]>>
    : never;
