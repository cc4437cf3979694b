import { expectedValue } from "../../../schema/values.js";
import type { SinkColumn } from "../columns.js";
import type { SpooledCsv } from "./spool.js";

/** The longest row that DuckDB reads by default. For longer ones, each reader has buffers as large as the limit of a row. */
const LONG_LINE = 2_000_000;
/** The longest row. It is above the limit that the CSV is checked against on its way. */
const MAX_LINE = 80 * 1024 * 1024;

/** What texts of a type look like. DuckDB takes much more, and makes something of it: `1.5` is a whole number to it. */
const FORMS: { readonly [type: string]: string } = {
  int2: "-?[0-9]+",
  int4: "-?[0-9]+",
  int8: "-?[0-9]+",
  hugeint: "-?[0-9]+",
  numeric: "-?[0-9]+([.][0-9]+)?|NaN|-?Infinity",
  "numeric(1000,16)": "-?[0-9]+([.][0-9]+)?|NaN|-?Infinity",
  float8: "-?[0-9]+([.][0-9]+)?(e[-+][0-9]+)?|NaN|-?Infinity",
  bool: "[tf]",
  timestamptz: "[0-9]{4,6}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?[+]00|-?infinity",
};

/** DuckDB's types of values that are not kept as text. */
const CASTS: { readonly [type: string]: string } = {
  int2: "SMALLINT",
  int4: "INTEGER",
  int8: "BIGINT",
  float8: "DOUBLE",
  bool: "BOOLEAN",
  timestamptz: "TIMESTAMPTZ",
  jsonb: "JSON",
};

/** The type that huge whole numbers get; Parquet has none for them. */
export type HugeType = "BIGNUM" | "VARCHAR";

/**
 * Name DuckDB's type of a column.
 *
 * @param column of a sink's table; `undefined` for one that is not known
 * @param huge the type of huge whole numbers
 * @returns the type; decimals of any size, enum values and what is not known are text
 */
export function duckdbType(column: SinkColumn | undefined, huge: HugeType): string {
  if (column?.type === "hugeint") {
    return huge;
  }
  return column?.type === "bytea" ? "BLOB" : (CASTS[column?.type ?? ""] ?? "VARCHAR");
}

/**
 * Make the expression that reads the text of a value. Where the text does not fit the type, the statement fails.
 *
 * @param text an expression: the text or NULL
 * @param column the column that takes the value; `undefined` for one that is not known, which is text
 * @param huge the type of huge whole numbers
 * @returns the expression
 */
export function valueSql(text: string, column: SinkColumn | undefined, huge: HugeType): string {
  if (column === undefined || column.values !== undefined || column.type === "text") {
    return text;
  }
  const type = duckdbType(column, huge);
  const wrong = `error(concat(${literal(`the column ${column.name} has `)}, to_json(left(${text}, 60)), ${literal(
    `, which is not ${expectedValue(column)}`,
  )}))`;
  const form = FORMS[column.type];
  const fits = form && `regexp_full_match(${text}, '${form}')`;
  if (type === "VARCHAR") {
    return fits === undefined ? text : `CASE WHEN NOT ${fits} THEN ${wrong} ELSE ${text} END`;
  }
  const value =
    column.type === "bytea"
      ? // What is no hex digit, unhex refuses itself.
        `CASE WHEN starts_with(${text}, '\\x') AND strlen(${text}) % 2 = 0 THEN unhex(substr(${text}, 3)) END`
      : type === "BIGNUM"
        ? // Beside whole numbers, this type takes no more than decimals, whose fractions it drops.
          `CASE WHEN NOT contains(${text}, '.') THEN TRY_CAST(${text} AS BIGNUM) END`
        : fits === undefined
          ? `TRY_CAST(${text} AS ${type})`
          : `CASE WHEN ${fits} THEN TRY_CAST(${text} AS ${type}) END`;
  return `coalesce(${value}, CASE WHEN ${text} IS NOT NULL THEN ${wrong} END)`;
}

/**
 * Make the call that reads a CSV file: all fields as text, `c0`, `c1` and so on. NULL is told from the empty text.
 * DuckDB reads by several threads only where no line break stands in quotes: it may take one for the end of a row.
 *
 * @param spooled the file
 * @returns the call, for a FROM clause
 */
export function readCsvSql({ path, columns, measures, plainLines, longestLine }: SpooledCsv): string {
  const fields = columns.map((_, index) => `c${index}: 'VARCHAR'`).join(", ");
  // Where line breaks stand in quotes, a row may have many lines.
  const longest = plainLines ? longestLine : Number(measures.bytes);
  const options = [
    "header = true, auto_detect = false, delim = ',', quote = '\"', escape = '\"', nullstr = ''",
    "allow_quoted_nulls = false, null_padding = false, strict_mode = true",
    `parallel = ${plainLines}`,
    `columns = {${fields}}`,
    ...(longest < LONG_LINE ? [] : [`max_line_size = ${MAX_LINE}, buffer_size = ${MAX_LINE}`]),
  ];
  return `read_csv(${literal(path)}, ${options.join(", ")})`;
}

/**
 * Write a text as a literal of SQL.
 *
 * @param text the text
 * @returns the text in quotes
 */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
