import type { JsonObject } from "@bufbuild/protobuf";
import { type ColumnMeaning, requireSchema, type TableColumn, type TableSchema } from "./table-schema.js";

const WHOLE_NUMBER = "^-?[0-9]+$";

const JSON_TYPES: { readonly [holds in Exclude<ColumnMeaning, "enum" | "code">]: JsonObject } = {
  time: { type: "string", format: "date-time" },
  id: { type: "string", pattern: "^([0-9a-f]{2})*$" },
  whole: { type: "string", pattern: WHOLE_NUMBER },
  decimal: { type: "string", pattern: "^(-?[0-9]+(\\.[0-9]+)?|NaN|-?Infinity)$" },
  number: { type: "number" },
  flag: { type: "boolean" },
  text: { type: "string" },
  json: { type: "string", contentMediaType: "application/json" },
};

/**
 * Returns a JSON Schema (draft 2020-12) of a table's typed rows. Integers are strings of digits, since JSON has no exact
 * 64-bit numbers.
 *
 * @param schema the table
 * @returns the schema of an object with all columns of the table and no others
 *
 * @example
 * JSON.stringify(rowJsonSchema(tableSchema("trades", 116)));
 */
export function rowJsonSchema(schema: TableSchema): JsonObject {
  requireSchema(schema);
  const { table, version, columns } = schema;
  return {
    title: table,
    description: `A typed row of the table ${table}, schema version ${version}.`,
    type: "object",
    properties: Object.fromEntries(columns.map((column) => [column.name, columnJsonSchema(column)])),
    required: columns.map(({ name }) => name),
    additionalProperties: false,
  };
}

function columnJsonSchema(column: TableColumn): JsonObject {
  const value = valueJsonSchema(column);
  return column.nullable ? { anyOf: [value, { type: "null" }] } : value;
}

function valueJsonSchema(column: TableColumn): JsonObject {
  switch (column.holds) {
    case "enum":
      return { type: "string", enum: [...column.values] };
    case "code": // A code without a name stays a number.
      return { type: "string", anyOf: [{ enum: Object.values(column.code.names) }, { pattern: WHOLE_NUMBER }] };
    default:
      return JSON_TYPES[column.holds];
  }
}

const TYPESCRIPT_TYPES: { readonly [holds in Exclude<ColumnMeaning, "enum" | "code">]: string } = {
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
 * Returns a TypeScript interface of a table's typed rows. `TypedRow` covers all schema versions; this covers one.
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
      return TYPESCRIPT_TYPES[column.holds];
  }
}
