import { InvalidArgumentError } from "commander";
import { quoted } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { type TableName, tableNames } from "../../data/schema/table-names.js";
import {
  alterTablesSql,
  createTableSql,
  createTypesSql,
  NEWEST_SCHEMA_VERSION,
  rowInterface,
  rowJsonSchema,
  type SqlDialect,
  type TableSchema,
  tableSchema,
} from "../../index.js";
import { type Partitioning, syncScript } from "../../sync/sinks/postgres/postgres-tables.js";
import { viewsScript } from "../../sync/sinks/postgres/postgres-views.js";
import { choice, defineCommand, flag, type OptionValues, parsed, text, withDefault } from "../declarations.js";
import { indentedJson, writeOut } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { parseInteger } from "../parsers.js";
import { tablesOption, viewsOption } from "../shared-options.js";
import { createTables, type Tables } from "../table.js";

const SQL_DIALECTS: readonly SqlDialect[] = ["postgres", "duckdb", "clickhouse"];
const DIALECTS = [...SQL_DIALECTS, "json-schema", "typescript"] as const;

const schemaOptions = {
  table: tablesOption,
  schemaVersion: withDefault(
    parsed("<number>", "version of the database schema, as in the names of CSV files", parseInteger),
    NEWEST_SCHEMA_VERSION,
  ),
  dialect: choice("<name>", "print SQL, or types of typed rows", DIALECTS),
  fromSchemaVersion: parsed(
    "<number>",
    "print SQL that migrates tables from this version to that of --schema-version",
    parseInteger,
  ),
  addedNullable: flag(
    "make columns added after version 1 nullable, so that tables can also hold rows of older versions",
  ),
  forSync: flag("print the tables and views that `tradewire sync` creates in PostgreSQL, so that you can create them", {
    conflicts: ["schemaVersion", "fromSchemaVersion", "addedNullable", "json"],
  }),
  schema: text("<name>", "PostgreSQL schema of the tables (with --for-sync)"),
  views: viewsOption,
  partitionBy: parsed("<rule>", "with --for-sync: partition tables by month, or by blocks:COUNT", partitionBy),
  partitionFrom: text("<begin>", "first month (default: 2023-10) or first block (default: 0)"),
  partitionCount: parsed(
    "<count>",
    "number of partitions; an additional one holds all other rows (default: 36)",
    parseInteger,
  ),
  output: { ...outputOptions.output, conflicts: ["dialect", "forSync"] },
  json: { ...outputOptions.json, conflicts: ["output", "dialect"] },
};

type SchemaOptions = OptionValues<typeof schemaOptions>;

/** Defines the command `schema`, which prints the network's tables: as a list, as SQL, or as types of typed rows. */
export const addSchema = defineCommand(schemaOptions, async (options, context) => {
  const { dialect, forSync } = options;
  checkOptions(options);
  const schemas = () => (options.table ?? tableNames).map((name) => tableSchema(name, options.schemaVersion));
  const report = {
    async table() {
      const tables = createTables(context);
      await writeOut(context, schemaText(options, tables.format));
      tables.printOmissions();
    },
    object: () => ({ tables: schemas() }),
    records: () => schemas().flatMap(({ table, columns }) => columns.map((column) => ({ table, ...column }))),
  };
  const isText = dialect !== undefined || forSync === true;
  await printReport(report, isText ? "table" : outputFormat(options, context), context);
});

function checkOptions({ dialect, forSync, schema, views, partitionBy: by, ...options }: SchemaOptions): void {
  if (forSync === true) {
    return;
  }
  if (schema !== undefined || by !== undefined || views !== undefined) {
    throw new RequestError("--schema, --views and --partition-by need --for-sync", { advice: "Add --for-sync." });
  }
  const isSql = SQL_DIALECTS.some((name) => name === dialect);
  if (!isSql && (options.fromSchemaVersion !== undefined || options.addedNullable === true)) {
    throw new RequestError("--from-schema-version and --added-nullable apply only to SQL", {
      advice: `Add --dialect ${SQL_DIALECTS.join(" or --dialect ")}.`,
    });
  }
}

function schemaText(options: SchemaOptions, format: Tables["format"]): string {
  const { dialect, fromSchemaVersion: from, addedNullable, schemaVersion } = options;
  const tables = options.table ?? tableNames;
  if (options.forSync === true) {
    return syncTablesSql(tables, options);
  }
  const sql = SQL_DIALECTS.find((name) => name === dialect);
  if (sql !== undefined && from !== undefined) {
    return sqlScript(alterTablesSql(tables, { from, to: schemaVersion }, sql, { addedNullable }));
  }
  const schemas = tables.map((name) => tableSchema(name, schemaVersion));
  if (sql !== undefined) {
    return sqlScript([
      ...createTypesSql(schemas, sql),
      ...schemas.map((schema) => createTableSql(schema, sql, { addedNullable })),
    ]);
  }
  if (dialect === "json-schema") {
    return jsonSchemaText(schemas);
  }
  if (dialect === "typescript") {
    return schemas.map(rowInterface).join("\n");
  }
  return schemas.map((schema) => columnList(schema, format)).join("\n");
}

/** The maximum number of partitions of a table. */
const MAX_PARTITIONS = 10_000;

function syncTablesSql(
  tables: readonly TableName[],
  { dialect, schema, views, partitionBy: by, partitionFrom, partitionCount: count = 36 }: SchemaOptions,
): string {
  if (dialect !== undefined && dialect !== "postgres") {
    throw new RequestError(`--for-sync applies only to PostgreSQL, but the dialect is ${dialect}`, {
      advice: "Use --dialect postgres, or remove --dialect.",
    });
  }
  if (count > MAX_PARTITIONS) {
    throw new RequestError(`--partition-count must be at most ${MAX_PARTITIONS} (got ${count})`);
  }
  const form = by === "month" ? /^\d{4}-(?:0[1-9]|1[0-2])$/u : /^\d{1,15}$/u;
  const from = partitionFrom ?? (by === "month" ? "2023-10" : "0");
  if (!form.test(from)) {
    const expected = by === "month" ? "a month, such as 2023-10" : "a block, such as 0";
    throw new RequestError(`--partition-from must be ${expected} (got ${quoted(from)})`);
  }
  return sqlScript([
    ...syncScript(tables, { schema, partitioning: by && { by, from, count } }),
    ...(views === "none" ? [] : viewsScript(tables, schema)),
  ]);
}

function partitionBy(text: string): Partitioning["by"] {
  const [, blocks] = /^blocks:([1-9]\d{0,14})$/u.exec(text) ?? [];
  if (text !== "month" && blocks === undefined) {
    throw new InvalidArgumentError("Use month, or blocks:COUNT such as blocks:1000000.");
  }
  return blocks === undefined ? "month" : { blocks: BigInt(blocks) };
}

function sqlScript(statements: readonly string[]): string {
  return statements
    .map((statement, index) => `${index > 0 && statement.includes("\n") ? "\n" : ""}${statement};\n`)
    .join("");
}

function jsonSchemaText(schemas: readonly TableSchema[]): string {
  const $schema = "https://json-schema.org/draft/2020-12/schema";
  const rows = schemas.map((schema) => rowJsonSchema(schema));
  const [only] = rows;
  return indentedJson(
    only !== undefined && rows.length === 1
      ? { $schema, ...only }
      : { $schema, $defs: Object.fromEntries(schemas.map(({ table: name }, index) => [name, rows[index] ?? {}])) },
  );
}

function columnList({ table: name, version, key, columns }: TableSchema, format: Tables["format"]): string {
  const rows = columns.map((column) => [
    column.name,
    column.type,
    column.nullable ? "null" : "",
    column.code?.enum ?? column.holds,
    column.since > 1 ? `${column.since}${column.until === undefined ? "" : `, until ${column.until}`}` : "",
    column.description,
  ]);
  const header = ["column", "type", "null", "holds", "since", "description"];
  return `${name}, schema version ${version}, key ${key.join(", ")}\n${format(header, rows)}`;
}
