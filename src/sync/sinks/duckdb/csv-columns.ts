import { Code } from "@connectrpc/connect";
import { reportUnknown, type UnknownPart } from "../../../archive/typed-rows.js";
import { quoted } from "../../../errors/error-text.js";
import { SinkError } from "../../../errors/index.js";
import type { TableName } from "../../../schema/table-names.js";
import { expectedValue } from "../../../schema/typed-row.js";
import type { SinkOpening } from "../../sink.js";
import type { Unit } from "../../unit.js";
import {
  checkAddedCount,
  checkAddedName,
  FROM_BLOCK,
  identifier,
  type SinkColumn,
  sinkColumns,
  targetOf,
} from "../sink-columns.js";
import type { SpooledCsv } from "./spooled-csv.js";

/** How the columns of a CSV file become those of a sink's table. */
export interface ColumnPlan {
  readonly table: TableName;
  /** Columns that are not known, in the order of the file. */
  readonly added: readonly string[];
  /** For each column of the sink's table, the place of the column of the file; absent where the file has none. */
  readonly places: ReadonlyMap<string, number>;
}

/** What is not known, and what is done about it. */
export type UnknownRules = Pick<SinkOpening, "onUnknown" | "unknownColumns">;

/**
 * Find out where the columns of a unit's CSV file go.
 *
 * @param unit the unit
 * @param columns the names in the file's header row
 * @returns the plan
 * @throws {@link SinkError} where two columns would become one, or a name cannot be that of a column
 */
export function planColumns({ table }: Unit, columns: readonly string[]): ColumnPlan {
  const places = new Map<string, number>();
  const added: string[] = [];
  const taken = new Set([FROM_BLOCK]);
  for (const [index, name] of columns.entries()) {
    const target = targetOf(table, name);
    if (target === undefined) {
      checkAddedName(table, name);
      added.push(name);
    }
    const column = target?.name ?? name;
    // DuckDB, and much that reads Parquet, does not tell upper from lower case.
    if (taken.has(column.toLowerCase()) || (target === undefined && isKnown(table, column))) {
      throw sameName(table, name);
    }
    taken.add(column.toLowerCase());
    places.set(column, index);
  }
  checkAddedCount(table, added.length);
  return { table, added, places };
}

/**
 * Find out which columns a table is to get before the rows of a file fit in.
 *
 * @param plan where the columns of the file go
 * @param there the columns that the table has
 * @returns those of the file that it lacks
 * @throws {@link SinkError} where one has the name of another one but for the case, or there would be too many
 */
export function missingColumns({ table, added }: ColumnPlan, there: readonly string[]): string[] {
  const names = new Set(there);
  const lacking = added.filter((column) => !names.has(column));
  const taken = new Set(there.map((name) => name.toLowerCase()));
  const twin = lacking.find((column) => taken.has(column.toLowerCase()));
  if (twin !== undefined) {
    throw sameName(table, twin);
  }
  if (lacking.length > 0) {
    checkAddedCount(table, there.length + lacking.length - sinkColumns(table).length);
  }
  return lacking;
}

function sameName(table: TableName, name: string): SinkError {
  return new SinkError(`the column ${quoted(name)} of ${table} has the name of another one, but for the case`, {
    code: Code.Unimplemented,
    advice: "Install a newer release, which may know the column.",
  });
}

function isKnown(table: TableName, name: string): boolean {
  return sinkColumns(table).some((column) => column.name.toLowerCase() === name.toLowerCase());
}

/**
 * Make the query that reads a CSV file as rows of a sink's table.
 *
 * @param plan where the columns go
 * @param spooled the file
 * @param columns the names of the table's columns, in their order; NULL stands for those that the file lacks
 * @param huge the type of huge whole numbers
 * @returns the query, without {@link FROM_BLOCK}
 */
export function rowsSql(plan: ColumnPlan, spooled: SpooledCsv, columns: readonly string[], huge: HugeType): string {
  const known = new Map<string, SinkColumn>(sinkColumns(plan.table).map((column) => [column.name, column]));
  const values = columns.map((name) => {
    const place = plan.places.get(name);
    const column = known.get(name);
    const value =
      place === undefined ? `CAST(NULL AS ${duckdbType(column, huge)})` : nonNullValueSql(`c${place}`, column, huge);
    return `${value} AS ${identifier(name)}`;
  });
  return `SELECT ${values.join(", ")} FROM ${readCsvSql(spooled)}`;
}

/**
 * Make the query that finds whether a CSV file has a zero with a sign. In the dictionary of a Parquet file it would be one
 * with the other zero.
 *
 * @param plan where the columns go
 * @param spooled the file
 * @returns the query, which has a row where there is one; `undefined` where the table has no column for such a value
 */
export function negativeZerosSql({ table, places }: ColumnPlan, spooled: SpooledCsv): string | undefined {
  const found = sinkColumns(table).flatMap(({ name, type }) => {
    const place = type === "float8" ? places.get(name) : undefined;
    return place === undefined ? [] : [`regexp_full_match(c${place}, '-0([.]0+)?')`];
  });
  return found.length === 0 ? undefined : `SELECT 1 FROM ${readCsvSql(spooled)} WHERE ${found.join(" OR ")} LIMIT 1`;
}

/** A Parquet file has no columns that refuse NULL by themselves. */
function nonNullValueSql(text: string, column: SinkColumn | undefined, huge: HugeType): string {
  const value = valueSql(text, column, huge);
  return column === undefined || column.nullable
    ? value
    : `coalesce(${value}, error(${literal(`the column ${column.name} has NULL, which it never holds`)}))`;
}

/**
 * Tell of columns that are not known.
 *
 * @param unit the unit
 * @param plan what its file has
 * @param rules who is told, and whether the unit fails
 * @throws {@link SinkError} where it is to fail
 */
export function reportAddedColumns(unit: Unit, { added }: ColumnPlan, rules: UnknownRules): void {
  for (const column of added) {
    reportUnknownPart(unit, rules, column);
  }
}

/**
 * Tell of a column or an enum value that is not known.
 *
 * @param unit the unit that has it
 * @param rules who is told, and whether the unit fails
 * @param column the column's name
 * @param value the enum value
 * @throws {@link SinkError} where the unit is to fail
 */
export function reportUnknownPart(
  unit: Unit,
  { onUnknown, unknownColumns }: UnknownRules,
  column: string,
  value?: string,
): void {
  const { table } = unit;
  if (unknownColumns === "fail") {
    const what = value === undefined ? "" : `the value ${quoted(value)} in `;
    throw new SinkError(`${unitName(unit)}: ${what}the column ${quoted(column)} is not known`, {
      code: Code.FailedPrecondition,
      advice: "Install a newer release, which may know it, or let it be kept as text.",
    });
  }
  const unknown: UnknownPart = { file: unitName(unit), table, column };
  reportUnknown(onUnknown, unknown)(column, value);
}

/** Name a unit for people. */
export function unitName({ table, fromBlock, toBlock }: Unit): string {
  return `${table} of blocks ${fromBlock} to ${toBlock}`;
}

/** The most enum values of a column that are told. */
const MAX_VALUES = 10;

/**
 * Make the query that finds enum values that are not known.
 *
 * @param table the table
 * @param from the rows: what stands behind FROM
 * @returns the query, with the columns' names and the values; `undefined` where the table has no such column
 */
export function unknownValuesSql(table: TableName, from: string): string | undefined {
  const queries = sinkColumns(table).flatMap(({ name, values }) => {
    const list = values?.map((value) => `'${value}'`).join(", ");
    return list === undefined
      ? []
      : [`(SELECT DISTINCT '${name}', ${name} FROM ${from} AND ${name} NOT IN (${list}) LIMIT ${MAX_VALUES})`];
  });
  return queries.length === 0 ? undefined : queries.join(" UNION ALL ");
}

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
