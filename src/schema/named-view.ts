import type { SqlDialect } from "./sql.js";
import type { TableSchema } from "./table-schema.js";

/**
 * Make the statement that creates a view of a table, or replaces it, in which codes are replaced by the names that the
 * interface has for them: `1` in `trades.aggressor` is `SIDE_BUY`. A number without a name stays, as text.
 *
 * @param schema the table
 * @param columns the names of the view's columns, in their order, quoted as they need; those that the schema does not
 *   know are taken as they are
 * @param dialect the database
 * @param before what stands before the names of view and table, such as `public.`; nothing by default
 * @returns the statement, without a semicolon; the view is called as the table, with `_named` behind it
 *
 * @example
 * const schema = tableSchema("trades", 116);
 * await database.query(namedViewSql(schema, schema.columns.map(({ name }) => name), "postgres"));
 */
export function namedViewSql(
  { table, columns: known }: TableSchema,
  columns: readonly string[],
  dialect: SqlDialect,
  before = "",
): string {
  const codes = new Map(known.flatMap(({ name, code }) => (code === undefined ? [] : [[name, code.names] as const])));
  const selected = columns.map((column) => {
    const names = codes.get(column);
    if (names === undefined) {
      return `  ${column}`;
    }
    const cases = Object.entries(names).map(([number, name]) => `WHEN ${number} THEN '${name}'`);
    return `  CASE ${column} ${cases.join(" ")} ELSE ${asText(column, dialect)} END AS ${column}`;
  });
  return `CREATE OR REPLACE VIEW ${before}${table}_named AS SELECT\n${selected.join(",\n")}\nFROM ${before}${table}`;
}

function asText(column: string, dialect: SqlDialect): string {
  return dialect === "clickhouse"
    ? `toString(${column})`
    : `CAST(${column} AS ${dialect === "duckdb" ? "VARCHAR" : "text"})`;
}
