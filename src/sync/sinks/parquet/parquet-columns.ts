import { Code } from "@connectrpc/connect";
import { quoted } from "../../../errors/error-text.js";
import { SinkError } from "../../../errors/index.js";
import type { TableName } from "../../../schema/table-names.js";
import { literal } from "../duckdb/csv-columns.js";
import { identifier, type SinkColumn, sinkColumns } from "../sink-columns.js";

/** The type of amounts: the widest exact number that DuckDB, Polars, Arrow and Spark all read from Parquet. */
const AMOUNT = "DECIMAL(38,0)";

/**
 * Whole numbers that anyone can make as large as 2^256 - 1, which has 78 digits: the network records them as they were
 * sent, also with an order, a commitment or a market that it then rejects, and shows the prices of resting orders and of
 * oracles in its market data. All other whole numbers come from balances, from trades, which are paid for, or from sums
 * of 64-bit sizes.
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

/** How a column of numbers that are text in CSV is kept: as an exact number, or as a `DOUBLE` beside the exact text. */
export type NumberForm = "amount" | "double and text";

/**
 * Tell how the numbers of a column are kept in Parquet. The form depends on the column alone, so that it is the same in
 * every file.
 *
 * @param table such as `trades`
 * @param column of the table
 * @returns the form; `undefined` for columns whose type is that of the sink of DuckDB
 */
export function numberForm(table: TableName, { name, type }: SinkColumn): NumberForm | undefined {
  if (type === "hugeint") {
    return ANY_SIZE.has(`${table}.${name}`) ? "double and text" : "amount";
  }
  return type.startsWith("numeric") ? "double and text" : undefined;
}

/** Name the column that has the exact text of a number, such as `price_text`. */
export function textColumn(name: string): string {
  return `${name}_text`;
}

/**
 * Check that columns which this release does not know do not have the name of a text column.
 *
 * @param table the table
 * @param added their names
 * @throws {@link SinkError} where one has
 */
export function checkTextColumns(table: TableName, added: readonly string[]): void {
  const taken = new Set(textNames(table));
  const twin = added.find((name) => taken.has(name.toLowerCase()));
  if (twin !== undefined) {
    throw new SinkError(
      `the column ${quoted(twin)} of ${table}, which is not known, has the name of one of the sink's`,
      {
        code: Code.Unimplemented,
        advice: "Install a newer release, which may know the column.",
      },
    );
  }
}

/**
 * Leave out the text columns of a file, which a CSV file does not have.
 *
 * @param table the table
 * @param names the columns of a Parquet file
 * @returns those that come from a CSV file
 */
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
 * Make the query that gives numbers their types in Parquet. A value that does not fit its type ends the query with an
 * error that names it.
 *
 * @param table the table
 * @param names the columns of `rows`, in which numbers are text
 * @param rows the query
 * @returns the query, and the names of its columns: each text column stands behind that of its number
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

function amountSql(name: string): string {
  const value = identifier(name);
  const wrong = `error(concat(${literal(`the column ${name} has `)}, left(${value}, 100), ${literal(
    `, which has more than the 38 digits of ${AMOUNT}. DuckDB and PostgreSQL take it as it is`,
  )}))`;
  return `coalesce(TRY_CAST(${value} AS ${AMOUNT}), CASE WHEN ${value} IS NOT NULL THEN ${wrong} END)`;
}

/** What is beyond a `DOUBLE` is infinite there: it stays larger than all others, or smaller. */
function doubleSql(value: string): string {
  const beyond = `CASE WHEN starts_with(${value}, '-') THEN '-Infinity' ELSE 'Infinity' END`;
  return `CASE WHEN ${value} IS NOT NULL THEN coalesce(TRY_CAST(${value} AS DOUBLE), CAST(${beyond} AS DOUBLE)) END`;
}
