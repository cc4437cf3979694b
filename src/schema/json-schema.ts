import type { JsonObject } from "@bufbuild/protobuf";
import type { ColumnMeaning, TableColumn, TableSchema } from "./table-schema.js";
import { requireSchema } from "./table-schema.js";

const WHOLE_NUMBER = "^-?[0-9]+$";

const VALUES: { readonly [holds in Exclude<ColumnMeaning, "enum" | "code">]: JsonObject } = {
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
 * Make a JSON Schema (draft 2020-12) of a table's typed rows. Whole numbers are texts of digits, as JSON has no exact
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
    case "code": // A number that has no name stays a number.
      return { type: "string", anyOf: [{ enum: Object.values(column.code.names) }, { pattern: WHOLE_NUMBER }] };
    default:
      return VALUES[column.holds];
  }
}
