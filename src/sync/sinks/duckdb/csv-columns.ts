import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { DuckDBConnection } from "@duckdb/node-api";
import { Code } from "../../../base/errors/code.js";
import { quoted } from "../../../base/errors/error-text.js";
import { CanceledError, SinkError, TradewireError } from "../../../base/errors/index.js";
import { fileError, isError } from "../../../base/errors/node-errors.js";
import { temporaryName } from "../../../base/file/temporary-files.js";
import { linkedController } from "../../../base/signal/abort.js";
import { reportUnknown, type UnknownPart } from "../../../data/archive/typed-rows.js";
import type { TableName } from "../../../data/schema/table-names.js";
import { expectedValue } from "../../../data/schema/typed-row.js";
import type { SinkOpening, UnitCsv } from "../../sink.js";
import {
  assertAddable,
  assertAddedCount,
  FROM_BLOCK,
  identifier,
  type SinkColumn,
  sinkColumns,
  targetOf,
  textColumns,
} from "../../sink-columns.js";
import type { Measures, Unit } from "../../unit.js";

/** The mapping of a CSV file's columns to those of a sink's table. */
export interface ColumnPlan {
  readonly table: TableName;
  /** Unknown columns, in the order of the file. */
  readonly added: readonly string[];
  /** The index of the file's column for each column of the sink's table; absent if the file has none. */
  readonly indexes: ReadonlyMap<string, number>;
}

/** How a sink handles unknown columns and enum values. */
export type UnknownRules = Pick<SinkOpening, "onUnknown" | "unknownColumns">;

/**
 * Maps the columns of a unit's CSV file to those of the sink's table.
 *
 * @throws {@link SinkError} if two columns would become one, or a name cannot be a column's name
 */
export function planColumns({ table }: Unit, columns: readonly string[]): ColumnPlan {
  const indexes = new Map<string, number>();
  const added: string[] = [];
  const taken = new Set([FROM_BLOCK, ...textColumns(table)]);
  for (const [index, name] of columns.entries()) {
    const target = targetOf(table, name);
    if (target === undefined) {
      assertAddable(table, name);
      added.push(name);
    }
    const column = target?.name ?? name;
    // Column names are case-insensitive in DuckDB and in many readers of Parquet.
    if (taken.has(column.toLowerCase()) || (target === undefined && isKnown(table, column))) {
      throw sameName(table, name);
    }
    taken.add(column.toLowerCase());
    indexes.set(column, index);
  }
  assertAddedCount(table, added.length);
  return { table, added, indexes };
}

/**
 * Returns the columns that must be added to a table before the rows of a file can be inserted.
 *
 * @throws {@link SinkError} if another column has the name, also in another case, or there would be too many columns
 */
export function missingColumns({ table, added }: ColumnPlan, existing: readonly string[]): string[] {
  const names = new Set(existing);
  const lacking = added.filter((column) => !names.has(column));
  const taken = new Set(existing.map((name) => name.toLowerCase()));
  const twin = lacking.find((column) => taken.has(column.toLowerCase()));
  if (twin !== undefined) {
    throw sameName(table, twin);
  }
  if (lacking.length > 0) {
    assertAddedCount(table, existing.length + lacking.length - sinkColumns(table).length);
  }
  return lacking;
}

function sameName(table: TableName, name: string): SinkError {
  return new SinkError(`the column ${quoted(name)} of ${table} has the same name as another column, apart from case`, {
    code: Code.Unimplemented,
    advice: "Install a newer release, which may know the column.",
  });
}

function isKnown(table: TableName, name: string): boolean {
  return sinkColumns(table).some((column) => column.name.toLowerCase() === name.toLowerCase());
}

/** Returns the query that reads a CSV file as rows of a sink's table, with numbers of any size as text. */
export function rowsSql(plan: ColumnPlan, spooled: SpooledCsv, columns: readonly string[]): string {
  const known = new Map<string, SinkColumn>(sinkColumns(plan.table).map((column) => [column.name, column]));
  const values = columns.map((name) => {
    const index = plan.indexes.get(name);
    const column = known.get(name);
    const value = index === undefined ? `CAST(NULL AS ${duckdbType(column)})` : nonNullValueSql(`c${index}`, column);
    return `${value} AS ${identifier(name)}`;
  });
  return `SELECT ${values.join(", ")} FROM ${readCsvSql(spooled)}`;
}

/**
 * Returns the query that detects a negative zero in a CSV file. In the dictionary of a Parquet file, it would be merged with
 * the positive zero.
 */
export function negativeZerosSql({ table, indexes }: ColumnPlan, spooled: SpooledCsv): string | undefined {
  const found = sinkColumns(table).flatMap(({ name, type }) => {
    const index = type === "float8" ? indexes.get(name) : undefined;
    return index === undefined ? [] : [`regexp_full_match(c${index}, '-0([.]0+)?')`];
  });
  return found.length === 0 ? undefined : `SELECT 1 FROM ${readCsvSql(spooled)} WHERE ${found.join(" OR ")} LIMIT 1`;
}

/** Returns a value, or fails if it is NULL in a column that allows none: the columns of a Parquet file cannot enforce that. */
function nonNullValueSql(text: string, column: SinkColumn | undefined): string {
  const value = valueSql(text, column);
  return column === undefined || column.nullable
    ? value
    : `coalesce(${value}, error(${literal(`the column ${column.name} must not be NULL`)}))`;
}

/**
 * Reports the unknown columns of a unit.
 *
 * @throws {@link SinkError} if unknown columns fail the unit
 */
export function reportAddedColumns(unit: Unit, { added }: ColumnPlan, rules: UnknownRules): void {
  for (const column of added) {
    reportUnknownPart(unit, rules, column);
  }
}

/**
 * Reports an unknown column or enum value.
 *
 * @throws {@link SinkError} if unknown columns fail the unit
 */
function reportUnknownPart(
  unit: Unit,
  { onUnknown, unknownColumns }: UnknownRules,
  column: string,
  value?: string,
): void {
  const { table } = unit;
  if (unknownColumns === "fail") {
    const what = value === undefined ? "" : `the value ${quoted(value)} in `;
    throw new SinkError(`${unitName(unit)}: ${what}the column ${quoted(column)} is unknown`, {
      code: Code.FailedPrecondition,
      advice: "Install a newer release, which may know it, or let the sync store it as text.",
    });
  }
  const unknown: UnknownPart = { file: unitName(unit), table, column };
  reportUnknown(onUnknown, unknown)(column, value);
}

export function unitName({ table, fromBlock, toBlock }: Unit): string {
  return `${table} of blocks ${fromBlock} to ${toBlock}`;
}

/**
 * Reports the unknown enum values of a unit.
 *
 * @param from the relation and the condition that select its rows
 * @throws {@link SinkError} if unknown columns fail the unit
 */
export async function reportUnknownValues(
  connection: DuckDBConnection,
  unit: Unit,
  rules: UnknownRules,
  from: string,
): Promise<void> {
  const query = unknownValuesSql(unit.table, from);
  const found = query === undefined ? [] : (await connection.runAndReadAll(query)).getRows();
  for (const [column, value] of found) {
    reportUnknownPart(unit, rules, String(column), String(value));
  }
}

/** The maximum number of unknown values that are reported for each column. */
const MAX_VALUES = 10;

function unknownValuesSql(table: TableName, from: string): string | undefined {
  const queries = sinkColumns(table).flatMap(({ name, values }) => {
    const list = values?.map((value) => `'${value}'`).join(", ");
    return list === undefined
      ? []
      : [`(SELECT DISTINCT '${name}', ${name} FROM ${from} AND ${name} NOT IN (${list}) LIMIT ${MAX_VALUES})`];
  });
  return queries.length === 0 ? undefined : queries.join(" UNION ALL ");
}

/** The maximum row size that DuckDB reads by default. With a higher limit, each reader allocates buffers of that size. */
const LONG_LINE = 2_000_000;
/** The maximum row size. It is above the limit of the CSV parser, which has validated the rows. */
const MAX_LINE = 80 * 1024 * 1024;

/** The valid texts of each type. DuckDB accepts more and converts it: it parses `1.5` as an integer. */
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

/** DuckDB's types of values that are not stored as text. */
const CASTS: { readonly [type: string]: string } = {
  int2: "SMALLINT",
  int4: "INTEGER",
  int8: "BIGINT",
  float8: "DOUBLE",
  bool: "BOOLEAN",
  timestamptz: "TIMESTAMPTZ",
  jsonb: "JSON",
};

/** Returns the type of a value, which is text if it is a number of any size. */
function duckdbType(column: SinkColumn | undefined): string {
  return column?.type === "bytea" ? "BLOB" : (CASTS[column?.type ?? ""] ?? "VARCHAR");
}

/** Returns the expression that parses a value. If the text does not fit the type, the statement fails. */
function valueSql(text: string, column: SinkColumn | undefined): string {
  if (column === undefined || column.values !== undefined || column.type === "text") {
    return text;
  }
  const type = duckdbType(column);
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
      ? // unhex itself rejects characters that are not hex digits.
        `CASE WHEN starts_with(${text}, '\\x') AND strlen(${text}) % 2 = 0 THEN unhex(substr(${text}, 3)) END`
      : fits === undefined
        ? `TRY_CAST(${text} AS ${type})`
        : `CASE WHEN ${fits} THEN TRY_CAST(${text} AS ${type}) END`;
  return `coalesce(${value}, CASE WHEN ${text} IS NOT NULL THEN ${wrong} END)`;
}

/**
 * Returns the call that reads a CSV file with all fields as text, named `c0`, `c1` and so on. NULL and the empty string are
 * kept apart. DuckDB reads the file in parallel only if no field contains a line break, which it may mistake for the
 * end of a row.
 */
function readCsvSql({ path, columns, measures, plainLines, longestLine }: SpooledCsv): string {
  const fields = columns.map((_, index) => `c${index}: 'VARCHAR'`).join(", ");
  // If fields contain line breaks, a row may have many lines.
  const longest = plainLines ? longestLine : Number(measures.bytes);
  const options = [
    "header = true, auto_detect = false, delim = ',', quote = '\"', escape = '\"', nullstr = ''",
    "allow_quoted_nulls = false, null_padding = false, strict_mode = true",
    `parallel = ${plainLines}`,
    `columns = {${fields}}`,
    ...(longest < LONG_LINE ? [] : [`max_line_size = ${MAX_LINE}, buffer_size = ${MAX_LINE}`]),
  ];
  return `read_csv(${fileLiteral(path)}, ${options.join(", ")})`;
}

/** Returns a text as an SQL literal. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * Returns the path of one file as an SQL literal for the functions that read files, which take a path for a pattern.
 */
export function fileLiteral(path: string): string {
  return literal(path.replaceAll(/[*?[]/gu, "[$&]"));
}

/** The maximum number of bytes that wait to be written, besides the last chunk. */
const WRITE_SIZE = 1024 * 1024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** The complete and validated CSV file of a unit, in a temporary file. */
export interface SpooledCsv {
  readonly path: string;
  readonly columns: readonly string[];
  readonly measures: Measures;
  /** Whether every line break ends a row, and none is in a quoted field. */
  readonly plainLines: boolean;
  /** The size of the longest line in bytes, without its line break. */
  readonly longestLine: number;
}

/**
 * Writes the CSV file of a unit to a temporary file, and deletes it after use. DuckDB reads the file only after its content has
 * ended without an error.
 *
 * @throws {@link FileError} if the file cannot be written; {@link CanceledError}; errors of the content and of `use`
 */
export async function withSpooled<T>(
  folder: string,
  csv: UnitCsv,
  signal: AbortSignal,
  use: (spooled: SpooledCsv) => Promise<T>,
): Promise<T> {
  const path = join(folder, await temporaryName());
  const lines = { count: 0, longest: 0, last: 0 };
  let hasReturns = false;
  async function* measured(): AsyncGenerator<Uint8Array> {
    for await (const chunk of csv.content) {
      measureLines(chunk, lines);
      hasReturns ||= chunk.includes(CARRIAGE_RETURN);
      yield chunk;
    }
  }
  const controller = linkedController(signal);
  try {
    const writing = createWriteStream(path, { flags: "wx", highWaterMark: WRITE_SIZE });
    await pipeline(measured, writing, { signal: controller.signal }).catch((reason: unknown) => {
      if (reason instanceof TradewireError) {
        throw reason;
      }
      if (signal.aborted) {
        throw new CanceledError({ cause: reason });
      }
      throw isFileFailure(reason) ? fileError(reason, path) : reason;
    });
    const measures = csv.measures();
    const plainLines = !hasReturns && BigInt(lines.count) === measures.rows + 1n;
    return await use({ path, columns: csv.columns, measures, plainLines, longestLine: lines.longest });
  } finally {
    controller.abort(); // Removes its listener from the caller's signal.
    await rm(path, { force: true }).catch(() => undefined); // The next sync deletes it.
  }
}

/** Updates the line statistics with a chunk: the number of complete lines, and the sizes of the longest and the last line. */
function measureLines(chunk: Uint8Array, lines: { count: number; longest: number; last: number }): void {
  let from = 0;
  for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
    lines.count += 1;
    lines.longest = Math.max(lines.longest, lines.last + at - from);
    lines.last = 0;
    from = at + 1;
  }
  lines.last += chunk.length - from;
}

function isFileFailure(reason: unknown): boolean {
  return isError(reason) && "syscall" in reason;
}
