import { Code } from "@connectrpc/connect";
import { reportUnknown, type UnknownPart } from "../../../archive/unknown-part.js";
import { SinkError } from "../../../errors/index.js";
import { quoted } from "../../../errors/quoted.js";
import type { TableName } from "../../../schema/tables.js";
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
} from "../columns.js";
import { duckdbType, type HugeType, literal, readCsvSql, valueSql } from "./csv-sql.js";
import type { SpooledCsv } from "./spool.js";

/** How the columns of a CSV file become those of a sink's table. */
export interface ReadPlan {
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
export function readPlan({ table }: Unit, columns: readonly string[]): ReadPlan {
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
export function lackingColumns({ table, added }: ReadPlan, there: readonly string[]): string[] {
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
export function rowsSql(plan: ReadPlan, spooled: SpooledCsv, columns: readonly string[], huge: HugeType): string {
  const known = new Map<string, SinkColumn>(sinkColumns(plan.table).map((column) => [column.name, column]));
  const values = columns.map((name) => {
    const place = plan.places.get(name);
    const column = known.get(name);
    const value =
      place === undefined ? `CAST(NULL AS ${duckdbType(column, huge)})` : heldValueSql(`c${place}`, column, huge);
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
export function negativeZerosSql({ table, places }: ReadPlan, spooled: SpooledCsv): string | undefined {
  const found = sinkColumns(table).flatMap(({ name, type }) => {
    const place = type === "float8" ? places.get(name) : undefined;
    return place === undefined ? [] : [`regexp_full_match(c${place}, '-0([.]0+)?')`];
  });
  return found.length === 0 ? undefined : `SELECT 1 FROM ${readCsvSql(spooled)} WHERE ${found.join(" OR ")} LIMIT 1`;
}

/** A Parquet file has no columns that refuse NULL by themselves. */
function heldValueSql(text: string, column: SinkColumn | undefined, huge: HugeType): string {
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
export function tellAdded(unit: Unit, { added }: ReadPlan, rules: UnknownRules): void {
  for (const column of added) {
    tellUnknown(unit, rules, column);
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
export function tellUnknown(
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
