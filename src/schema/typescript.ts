import type { ColumnMeaning, TableColumn, TableSchema } from "./table-schema.js";
import { requireSchema } from "./table-schema.js";

const VALUES: { readonly [holds in Exclude<ColumnMeaning, "enum" | "code">]: string } = {
  time: "string",
  id: "string",
  whole: "bigint",
  decimal: "string",
  number: "number",
  flag: "boolean",
  text: "string",
  json: "string",
};

/**
 * Make a TypeScript interface of a table's typed rows. `TypedRow` covers all schema versions; this covers one.
 *
 * @param schema the table
 * @returns the source of the interface, such as `MarketDataRow` for `market_data`
 *
 * @example
 * rowInterface(tableSchema("blocks", 116));
 */
export function rowInterface(schema: TableSchema): string {
  requireSchema(schema);
  const { table, version, columns } = schema;
  const name = table.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const members = columns.map(
    (column) => `  ${column.name}: ${valueType(column)}${column.nullable ? " | null" : ""};\n`,
  );
  return `/** A typed row of the table ${table}, schema version ${version}. */\nexport interface ${name}Row {\n${members.join("")}}\n`;
}

function valueType(column: TableColumn): string {
  switch (column.holds) {
    case "enum":
      return [...column.values.map((value) => `"${value}"`), "(string & {})"].join(" | ");
    case "code":
      return [...Object.values(column.code.names).map((value) => `"${value}"`), "bigint"].join(" | ");
    default:
      return VALUES[column.holds];
  }
}
