import { Code } from "../../../base/errors/code.js";
import { quoted } from "../../../base/errors/error-text.js";
import { SinkError } from "../../../base/errors/index.js";
import type { TableName } from "../../../data/schema/table-names.js";
import { identifier, type SinkColumn, sinkColumns } from "../sink-columns.js";
import { type ColumnPlan, duckdbType, literal, rowsSql, type SpooledCsv } from "./csv-columns.js";

/** The type of amounts: the widest exact number type that DuckDB, Parquet, Polars, Arrow and Spark all support. */
const AMOUNT = "DECIMAL(38,0)";

/**
 * Columns of integers that any user can set to values of up to 2^256 - 1, which has 78 digits. The network records them as they
 * were sent, even if it rejects the order, the commitment or the market, and its market data contain the prices of resting
 * orders and of oracles. All other integers come from balances, from trades, which are paid for, or from sums of 64-bit sizes.
 */
const ANY_SIZE: ReadonlySet<string> = new Set([
  "orders.price",
  "orders.pegged_offset",
  "liquidity_provisions.commitment_amount",
  "markets.tick_size",
  ...[
    "mark_price",
    "best_bid_price",
    "best_offer_price",
    "best_static_bid_price",
    "best_static_offer_price",
    "mid_price",
    "static_mid_price",
    "indicative_price",
  ].map((name) => `market_data.${name}`),
]);

/** How numbers that are text in CSV are stored: as an exact number, or as a `DOUBLE` with the exact text in another column. */
type NumberForm = "amount" | "double and text";

/**
 * Returns how the numbers of a column are stored. It depends only on the column, so that it is the same in every file.
 */
function numberForm(table: TableName, { name, type }: SinkColumn): NumberForm | undefined {
  if (type === "hugeint") {
    return ANY_SIZE.has(`${table}.${name}`) ? "double and text" : "amount";
  }
  return type.startsWith("numeric") ? "double and text" : undefined;
}

/** Returns the name of the column that stores the exact text of a number, such as `price_text`. */
function textColumn(name: string): string {
  return `${name}_text`;
}

/**
 * Asserts that no unknown column has the name of a text column.
 *
 * @throws {@link SinkError} if one has
 */
export function assertNoTextColumns(table: TableName, added: readonly string[]): void {
  const taken = new Set(textNames(table));
  const twin = added.find((name) => taken.has(name.toLowerCase()));
  if (twin !== undefined) {
    throw new SinkError(`the unknown column ${quoted(twin)} of ${table} has the name of a column that the sink adds`, {
      code: Code.Unimplemented,
      advice: "Install a newer release, which may know the column.",
    });
  }
}

/** Returns the columns that store a column, with their types in DuckDB. */
export function storedColumns(
  table: TableName,
  column: SinkColumn,
): { readonly name: string; readonly type: string }[] {
  const { name } = column;
  switch (numberForm(table, column)) {
    case "amount":
      return [{ name, type: AMOUNT }];
    case "double and text":
      return [
        { name, type: "DOUBLE" },
        { name: textColumn(name), type: "VARCHAR" },
      ];
    default:
      return [{ name, type: duckdbType(column) }];
  }
}

/** Returns the columns of a table or a file without its text columns, which CSV files do not have. */
export function withoutText(table: TableName, names: readonly string[]): string[] {
  const texts = new Set(textNames(table));
  return names.filter((name) => !texts.has(name));
}

function textNames(table: TableName): string[] {
  return sinkColumns(table)
    .filter((column) => numberForm(table, column) === "double and text")
    .map(({ name }) => textColumn(name));
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
  const typed = names.flatMap((name): [string, string][] => {
    const column = known.get(name);
    const value = identifier(name);
    switch (column && numberForm(table, column)) {
      case "amount":
        return [[name, amountSql(name)]];
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

/** DuckDB needs 18 µs to cast a text to a `DECIMAL` of this size, and less than 1 µs by way of a `HUGEINT`. */
function amountSql(name: string): string {
  const value = identifier(name);
  const wrong = `error(concat(${literal(`the column ${name} has `)}, left(${value}, 100), ${literal(
    `, which has more than the 38 digits of ${AMOUNT}. DuckDB and PostgreSQL can store it`,
  )}))`;
  return `coalesce(TRY_CAST(TRY_CAST(${value} AS HUGEINT) AS ${AMOUNT}), CASE WHEN ${value} IS NOT NULL THEN ${wrong} END)`;
}

/** Returns a number as a `DOUBLE`. A number out of its range becomes infinite, which preserves the order. */
function doubleSql(value: string): string {
  const beyond = `CASE WHEN starts_with(${value}, '-') THEN '-Infinity' ELSE 'Infinity' END`;
  return `CASE WHEN ${value} IS NOT NULL THEN coalesce(TRY_CAST(${value} AS DOUBLE), CAST(${beyond} AS DOUBLE)) END`;
}
