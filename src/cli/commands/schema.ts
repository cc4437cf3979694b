import { type Command, InvalidArgumentError, Option } from "commander";
import { RequestError } from "../../errors/index.js";
import { quoted } from "../../errors/quoted.js";
import { rowJsonSchema } from "../../schema/json-schema.js";
import { alterTablesSql, createTableSql, createTypesSql, type SqlDialect } from "../../schema/sql.js";
import { NEWEST_SCHEMA_VERSION, type TableSchema, tableSchema } from "../../schema/table-schema.js";
import { readTable, type TableName, tableNames } from "../../schema/tables.js";
import { rowInterface } from "../../schema/typescript.js";
import { type Partitioning, syncScript } from "../../sync/sinks/postgres/script.js";
import { type CommandContext, indentedJson, json, writeOut } from "../output.js";
import { createTables, type Tables } from "../terminal.js";
import { wholeNumber } from "../whole-number.js";

const SQL_DIALECTS: readonly SqlDialect[] = ["postgres", "duckdb", "clickhouse"];
const DIALECTS = [...SQL_DIALECTS, "json-schema", "typescript"] as const;

interface SchemaOptions {
  readonly table?: readonly TableName[];
  readonly schemaVersion: number;
  readonly dialect?: (typeof DIALECTS)[number];
  readonly from?: number;
  readonly to?: number;
  readonly addedNullable?: boolean;
  readonly forSync?: boolean;
  readonly schema?: string;
  readonly partitionBy?: Partitioning["by"];
  readonly partitionFrom?: string;
  readonly partitionCount?: number;
  readonly json?: boolean;
}

/**
 * Add the command `schema`, which prints the network's tables: as a list, as SQL, or as types of typed rows.
 *
 * @param command the command `schema`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addSchema(command: Command, context: CommandContext): void {
  command
    .addOption(
      new Option("--table <name>", "a table; may be given several times; all by default").argParser(
        (text, before: readonly TableName[] = []) => [...before, readTable(text)],
      ),
    )
    .addOption(
      new Option("--schema-version <number>", "the version of the database schema, as CSV files' names carry it")
        .argParser(wholeNumber)
        .default(NEWEST_SCHEMA_VERSION),
    )
    .addOption(new Option("--dialect <name>", "SQL, or types of typed rows").choices(DIALECTS))
    .addOption(
      new Option("--from <number>", "print what changes tables of this schema version …")
        .argParser(wholeNumber)
        .conflicts("schemaVersion"),
    )
    .addOption(
      new Option("--to <number>", "… into tables of this one; the newest by default")
        .argParser(wholeNumber)
        .conflicts("schemaVersion"),
    )
    .option(
      "--added-nullable",
      "let columns that came after version 1 be NULL, so that tables can hold rows of older versions too",
    )
    .addOption(
      new Option("--for-sync", "print what `tradewire sync` makes in PostgreSQL, and takes as it is").conflicts([
        "schemaVersion",
        "from",
        "to",
        "addedNullable",
        "json",
      ]),
    )
    .option("--schema <name>", "with --for-sync: the schema that holds it, such as --schema of sync")
    .addOption(
      new Option("--partition-by <rule>", "with --for-sync: partition tables by month, or by blocks:COUNT").argParser(
        partitionBy,
      ),
    )
    .option("--partition-from <begin>", "the first month (default: 2023-10) or block (default: 0)")
    .addOption(
      new Option(
        "--partition-count <count>",
        "how many partitions; one more takes all other rows (default: 36)",
      ).argParser(wholeNumber),
    )
    .addOption(new Option("--json", "print one JSON object").conflicts("dialect"))
    .action(async (options: SchemaOptions) => {
      const tables = createTables(context);
      await writeOut(context, schemaText(options, tables.format));
      tables.tellLeftOut();
    });
}

function schemaText(options: SchemaOptions, format: Tables["format"]): string {
  const { dialect, from, to, addedNullable, schemaVersion } = options;
  const tables = options.table ?? tableNames;
  if (options.forSync === true) {
    return forSync(tables, options);
  }
  if (options.schema !== undefined || options.partitionBy !== undefined) {
    throw new RequestError("--schema and --partition-by are for tables of a sync", { advice: "Add --for-sync." });
  }
  const sql = SQL_DIALECTS.find((name) => name === dialect);
  if (sql === undefined && (from !== undefined || to !== undefined || addedNullable === true)) {
    throw new RequestError("--from, --to and --added-nullable are for SQL", {
      advice: `Add --dialect ${SQL_DIALECTS.join(" or --dialect ")}.`,
    });
  }
  if (sql !== undefined && from !== undefined) {
    return script(alterTablesSql(tables, { from, to: to ?? NEWEST_SCHEMA_VERSION }, sql, { addedNullable }));
  }
  if (to !== undefined) {
    throw new RequestError("--to is given without --from", {
      advice: "Give the version that the tables have as --from; --schema-version prints the tables of one version.",
    });
  }
  const schemas = tables.map((name) => tableSchema(name, schemaVersion));
  if (sql !== undefined) {
    return script([
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
  return options.json === true
    ? json({ tables: schemas })
    : schemas.map((schema) => listing(schema, format)).join("\n");
}

/** The most partitions of a table. */
const MAX_PARTITIONS = 10_000;

function forSync(
  tables: readonly TableName[],
  { dialect, schema, partitionBy: by, partitionFrom, partitionCount: count = 36 }: SchemaOptions,
): string {
  if (dialect !== undefined && dialect !== "postgres") {
    throw new RequestError(`--for-sync is for PostgreSQL, and the dialect is ${dialect}`, {
      advice: "Give --dialect postgres, or leave it out.",
    });
  }
  if (count > MAX_PARTITIONS) {
    throw new RequestError(`--partition-count is ${count}`, { advice: `Give no more than ${MAX_PARTITIONS}.` });
  }
  const form = by === "month" ? /^\d{4}-(?:0[1-9]|1[0-2])$/u : /^\d{1,15}$/u;
  const from = partitionFrom ?? (by === "month" ? "2023-10" : "0");
  if (!form.test(from)) {
    throw new RequestError(`--partition-from is ${quoted(from)}`, {
      advice: by === "month" ? "Give a month such as 2023-10." : "Give a block, such as 0.",
    });
  }
  return script(syncScript(tables, { schema, partitioning: by && { by, from, count } }));
}

function partitionBy(text: string): Partitioning["by"] {
  const [, blocks] = /^blocks:([1-9]\d{0,14})$/u.exec(text) ?? [];
  if (text !== "month" && blocks === undefined) {
    throw new InvalidArgumentError("Give month, or blocks:COUNT such as blocks:1000000.");
  }
  return blocks === undefined ? "month" : { blocks: BigInt(blocks) };
}

function script(statements: readonly string[]): string {
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

/** List the columns of a table for a person. */
function listing({ table: name, version, key, columns }: TableSchema, format: Tables["format"]): string {
  const rows = columns.map((column) => [
    column.name,
    column.type,
    column.nullable ? "null" : "",
    column.code?.enum ?? column.holds,
    column.since > 1 ? `${column.since}${column.until === undefined ? "" : `, until ${column.until}`}` : "",
  ]);
  const header = ["column", "type", "null", "holds", "since"];
  return `${name}, schema version ${version}, key ${key.join(", ")}\n${format(header, rows)}`;
}
