import { AMOUNT, numberForm, textColumn } from "../../../data/schema/sql.js";
import type { TableName } from "../../../data/schema/table-names.js";
import { identifier, sinkColumns, sinkSchema, textColumns } from "../../sink-columns.js";
import { type ColumnPlan, literal, rowsSql, type SpooledCsv } from "./csv-columns.js";

/** Returns the columns of a table or a file without its text columns, which CSV files do not have. */
export function withoutText(table: TableName, names: readonly string[]): string[] {
  const texts = new Set(textColumns(table));
  return names.filter((name) => !texts.has(name));
}

/**
 * Returns the query that converts numbers from text to the types that store them. If a value does not fit its type, the query fails with an
 * error that quotes it.
 */
export function typedSql(
  table: TableName,
  names: readonly string[],
  rows: string,
): { readonly query: string; readonly names: readonly string[] } {
  const known = new Map(sinkColumns(table).map((column) => [column.name, column]));
  const row = keySql(table);
  const typed = names.flatMap((name): [string, string][] => {
    const column = known.get(name);
    const value = identifier(name);
    switch (column && numberForm(column)) {
      case "amount":
        return [[name, amountSql(name, row)]];
      case "double and text":
        return [
          [name, doubleSql(value)],
          [textColumn(name), value],
        ];
      default:
        return [[name, value]];
    }
  });
  const values = typed.map(([name, value]) => `${value} AS ${identifier(name)}`);
  return { query: `SELECT ${values.join(", ")} FROM (${rows})`, names: typed.map(([name]) => name) };
}

/**
 * Returns the query that reads a CSV file as its rows are stored, and the list of the same values of what holds the rows: NULL for the
 * columns that it lacks.
 *
 * @param there the columns of what holds the rows, without its text columns
 */
export function comparedSql(
  plan: ColumnPlan,
  spooled: SpooledCsv,
  there: readonly string[],
): { readonly fresh: string; readonly values: string } {
  const more = plan.added.filter((column) => !there.includes(column));
  const columns = [...there, ...more];
  const { query, names } = typedSql(plan.table, columns, rowsSql(plan, spooled, columns));
  const values = names.map((name) =>
    more.includes(name) ? `CAST(NULL AS VARCHAR) AS ${identifier(name)}` : identifier(name),
  );
  return { fresh: query, values: values.join(", ") };
}

/**
 * DuckDB needs 18 µs to cast a text to a `DECIMAL` of this size, and less than 1 µs by way of a `HUGEINT`.
 *
 * @param row names the row, for the error
 */
function amountSql(name: string, row: string): string {
  const value = identifier(name);
  const wrong = `error(concat(${literal(`the column ${name} has `)}, left(${value}, 100), ${literal(
    `, which has more than the 38 digits of ${AMOUNT}, in the row with `,
  )}, ${row}, ${literal(". PostgreSQL can store it")}))`;
  return `coalesce(TRY_CAST(TRY_CAST(${value} AS HUGEINT) AS ${AMOUNT}), CASE WHEN ${value} IS NOT NULL THEN ${wrong} END)`;
}

/** Returns the arguments of `concat` that name a row by its primary key. */
function keySql(table: TableName): string {
  const { key, columns } = sinkSchema(table);
  const values = key.map((name) => {
    const isId = columns.some((column) => column.name === name && column.holds === "id");
    return isId ? `lower(hex(${name}))` : name;
  });
  return key.map((name, index) => `${literal(`${index === 0 ? "" : " and "}${name} `)}, ${values[index]}`).join(", ");
}

/** Returns a number as a `DOUBLE`. A number out of its range becomes infinite, which preserves the order. */
function doubleSql(value: string): string {
  const beyond = `CASE WHEN starts_with(${value}, '-') THEN '-Infinity' ELSE 'Infinity' END`;
  return `CASE WHEN ${value} IS NOT NULL THEN coalesce(TRY_CAST(${value} AS DOUBLE), CAST(${beyond} AS DOUBLE)) END`;
}
