import { numberForm, textColumn } from "../../data/schema/sql.js";
import type { TableName } from "../../data/schema/table-names.js";
import type { TableColumn } from "../../data/schema/table-schema.js";

/** The database of the views. */
export type ViewDialect = "duckdb" | "postgres";

/** The tables that views are made of, each with its columns that this release does not know. */
export type ViewedTables = ReadonlyMap<TableName, readonly string[]>;

/** A view, by its name, and the query that it stands for. */
export interface View {
  readonly name: string;
  readonly query: string;
}

/** A function that returns the rows of a query. */
export interface TableFunction extends View {
  /** The type of the rows in PostgreSQL. */
  readonly returns: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly type: "bigint" | "text" | "interval" | "boolean";
    readonly byDefault?: string;
  }[];
}

/** A function that views and other functions call, with the statement that creates it. */
export interface HelperFunction {
  readonly name: string;
  readonly create: string;
}

/** Returns a macro of DuckDB. */
export function macro(name: string, parameters: string, value: string): HelperFunction {
  return { name, create: `CREATE OR REPLACE MACRO ${name}(${parameters}) AS ${value}` };
}

/** The decimals of numbers, as expressions. */
export interface Decimals {
  readonly decimals: string;
  /** In DuckDB, the power of ten by which numbers are divided, or NULL if it is no exact `DOUBLE`. */
  readonly scale: string;
  /** In PostgreSQL, the power of ten by which numbers are multiplied. */
  readonly unit: string;
}

/** Returns the decimals of a row of `market_versions`, which is `m` in a query, or of `asset_versions`, `a`. */
export function decimalsOf(kind: "price" | "size" | "asset"): Decimals {
  const name = `${kind === "asset" ? "a" : "m"}.${kind}`;
  return { decimals: `${name}_decimals`, scale: `${name}_scale`, unit: `${name}_unit` };
}

/** Returns the expression of an identifier as hex digits, in lower case. */
export function hexSql(dialect: ViewDialect, value: string): string {
  return dialect === "duckdb" ? `lower(hex(${value}))` : `encode(${value}, 'hex')`;
}

/** Returns the expression of a code's name in a row `t`; the number itself, if this release does not know it. */
export function nameSql(dialect: ViewDialect, { name, code }: TableColumn): string {
  const value = `t.${name}`;
  const cases = Object.entries(code?.names ?? {}).map(([number, text]) => `WHEN ${number} THEN '${text}'`);
  return `CASE ${value} ${cases.join(" ")} ELSE CAST(${value} AS ${dialect === "duckdb" ? "VARCHAR" : "text"}) END`;
}

/** A column of a view. */
export interface ViewColumn {
  readonly name: string;
  readonly value: string;
}

/**
 * Returns the columns of a view for integers that represent decimal numbers: `numeric` in PostgreSQL; in DuckDB, the `DOUBLE` that is
 * nearest to the number, and its exact text. They are NULL where the decimals are unknown.
 */
export function decimalColumns(
  dialect: ViewDialect,
  name: string,
  value: string,
  { decimals, scale, unit }: Decimals,
): ViewColumn[] {
  return dialect === "postgres"
    ? [{ name, value: `${value} * ${unit}` }]
    : [
        { name, value: `tradewire_amount(${value}, ${decimals}, ${scale})` },
        { name: textColumn(name), value: `tradewire_decimal_text(CAST(${value} AS VARCHAR), ${decimals})` },
      ];
}

/** Returns the columns of a view for such a column of a table, which is `t` in a query. It may store numbers of any size, or text. */
export function decimalColumnsOf(dialect: ViewDialect, column: TableColumn, decimals: Decimals): ViewColumn[] {
  const { name, type } = column;
  const isText = type === "text";
  if (dialect === "postgres") {
    return decimalColumns(dialect, name, isText ? numericSql(`t.${name}`) : `t.${name}`, decimals);
  }
  const hasText = numberForm(column) === "double and text";
  if (!isText && !hasText) {
    return decimalColumns(dialect, name, `t.${name}`, decimals);
  }
  const text = hasText ? `t.${textColumn(name)}` : `t.${name}`;
  return [
    { name, value: `tradewire_decimal(${text}, ${decimals.decimals})` },
    { name: textColumn(name), value: `tradewire_decimal_text(${text}, ${decimals.decimals})` },
  ];
}

/** A number that DuckDB adds up exactly with fewer than 38 digits, up to 10^8 times. */
const SUMMABLE = "1e30";

/**
 * Returns the exact sum of an expression. In DuckDB it is NULL if a number, or one of those that it is made of, has more than 30 digits:
 * an overflow would end the query, also of those who ask for other rows.
 */
export function exactSum(dialect: ViewDialect, sumOf: (column: (name: string) => string) => string): string {
  const value = sumOf((name) => name);
  if (dialect === "postgres") {
    return `sum(${value})`;
  }
  const size = `abs(${sumOf((name) => `CAST(${name} AS DOUBLE)`)})`;
  return `CASE WHEN max(${size}) < ${SUMMABLE} THEN sum(CASE WHEN ${size} < ${SUMMABLE} THEN ${value} END) END`;
}

/** Returns columns as the list of a query. */
export function listSql(columns: readonly ViewColumn[]): string {
  return columns.map(({ name, value }) => `${value} AS ${name}`).join(", ");
}

function numericSql(text: string): string {
  return `CASE WHEN length(${text}) <= 1000 AND ${text} ~ '^-?[0-9]+([.][0-9]+)?$' THEN CAST(${text} AS numeric) END`;
}

/**
 * The macros of DuckDB that the views use. A quotient of two integers below 2^53 and 10^22 is the nearest `DOUBLE`, and so is what a text is
 * read as; the quotient takes a tenth of the time.
 */
export const DUCKDB_MACROS: readonly HelperFunction[] = [
  macro(
    "tradewire_padded",
    "value, decimals",
    `lpad(ltrim(split_part(value, '.', 1), '-'), CAST(greatest(length(ltrim(split_part(value, '.', 1), '-')), decimals + 1) AS INTEGER), '0')`,
  ),
  macro(
    "tradewire_decimal_text",
    "value, decimals",
    `CASE
  WHEN value IS NULL OR decimals IS NULL THEN NULL
  WHEN NOT regexp_full_match(value, '-?[0-9]+([.][0-9]+)?') THEN value
  WHEN decimals <= 0 THEN concat(value, CASE WHEN regexp_full_match(value, '-?0+') THEN '' ELSE repeat('0', -decimals) END)
  ELSE concat(
    CASE WHEN starts_with(value, '-') THEN '-' ELSE '' END,
    left(tradewire_padded(value, decimals), -decimals), '.', right(tradewire_padded(value, decimals), decimals),
    split_part(value, '.', 2)
  ) END`,
  ),
  macro(
    "tradewire_decimal",
    "value, decimals",
    `coalesce(
    TRY_CAST(tradewire_decimal_text(value, decimals) AS DOUBLE),
    CASE WHEN decimals IS NOT NULL AND regexp_full_match(value, '-?[0-9]+([.][0-9]+)?')
    THEN CAST(CASE WHEN starts_with(value, '-') THEN '-Infinity' ELSE 'Infinity' END AS DOUBLE) END
  )`,
  ),
  macro(
    "tradewire_amount",
    "value, decimals, scale",
    `CASE WHEN scale IS NOT NULL AND value BETWEEN -9007199254740992 AND 9007199254740992 THEN CAST(value AS DOUBLE) / scale
  ELSE tradewire_decimal(CAST(value AS VARCHAR), decimals) END`,
  ),
];
