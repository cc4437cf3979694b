import { RequestError } from "../../base/errors/index.js";
import { assertArray, assertKnownKeys, assertObject } from "../../base/input/assert.js";
import type { ScalarType } from "./data/facts.js";
import type { TableName } from "./table-names.js";
import {
  FIRST_SCHEMA_VERSION,
  requireSchema,
  type TableColumn,
  type TableSchema,
  tableSchema,
} from "./table-schema.js";

/** The SQL dialect of a database. */
export type SqlDialect = "postgres" | "duckdb" | "clickhouse";

/** How SQL is generated. */
export interface SqlOptions {
  /**
   * Whether columns that were added after the first schema version may be NULL, so that a table can also store rows of
   * versions that lack them. By default they are as in the network's tables.
   */
  readonly addedNullable?: boolean | undefined;
  /** Whether a new table has no primary key, for example because it is filled first; false by default. */
  readonly withoutKey?: boolean | undefined;
  /** Definitions of additional columns of a new table, after its own; none by default. */
  readonly further?: readonly string[] | undefined;
  /** The database schema of tables and types, quoted for SQL; by default, the search path's schema. */
  readonly within?: string | undefined;
}

/** The type of amounts: the widest exact number type that DuckDB, Parquet, Polars, Arrow and Spark all support. */
export const AMOUNT = "DECIMAL(38,0)";

/**
 * The types of columns. None of them loses a digit: if a database has no exact number as large as `numeric(1000,0)`, or no
 * decimals of any size, the column contains the number as text, or another column does: see {@link numberForm}.
 */
const TYPES: { readonly [dialect in SqlDialect]: { readonly [type in ScalarType]: string } } = {
  postgres: {
    int2: "int2",
    int4: "int4",
    int8: "int8",
    hugeint: "hugeint",
    numeric: "numeric",
    "numeric(1000,16)": "numeric(1000,16)",
    float8: "float8",
    bool: "bool",
    text: "text",
    bytea: "bytea",
    timestamptz: "timestamptz",
    jsonb: "jsonb",
  },
  duckdb: {
    int2: "SMALLINT",
    int4: "INTEGER",
    int8: "BIGINT",
    hugeint: AMOUNT,
    numeric: "DOUBLE",
    "numeric(1000,16)": "DOUBLE",
    float8: "DOUBLE",
    bool: "BOOLEAN",
    text: "VARCHAR",
    bytea: "BLOB",
    timestamptz: "TIMESTAMPTZ",
    jsonb: "JSON",
  },
  clickhouse: {
    int2: "Int16",
    int4: "Int32",
    int8: "Int64",
    hugeint: "String",
    numeric: "String",
    "numeric(1000,16)": "String",
    float8: "Float64",
    bool: "Bool",
    text: "String",
    bytea: "String",
    timestamptz: "DateTime64(6, 'UTC')",
    jsonb: "String",
  },
};

/**
 * Returns the statements that create the types of tables: the domain `hugeint` and enum types in PostgreSQL, enum
 * types in DuckDB, none in ClickHouse.
 *
 * @param schemas the tables; a type that several use is created once
 * @param dialect the database
 * @param options the schema to create them in
 * @returns the statements, without semicolons
 *
 * @example
 * for (const statement of createTypesSql([tableSchema("trades", 116)], "postgres")) await database.query(statement);
 */
export function createTypesSql(
  schemas: readonly TableSchema[],
  dialect: SqlDialect,
  options: Pick<SqlOptions, "within"> = {},
): string[] {
  assertArray("schemas", schemas, "an array of results of tableSchema()");
  schemas.forEach(requireSchema);
  const statements = schemas.flatMap(({ columns }) =>
    columns.flatMap(({ type, values }) => {
      if (values !== undefined && dialect !== "clickhouse") {
        const list = values.map((value) => `\n  '${value}'`).join(",");
        return [`CREATE TYPE ${placed(type, options)} AS ENUM (${list}\n)`];
      }
      return type === "hugeint" && dialect === "postgres"
        ? [`CREATE DOMAIN ${placed(type, options)} AS numeric(1000,0)`]
        : [];
    }),
  );
  return [...new Set(statements)];
}

/**
 * Returns the statement that creates a table, with its primary key. Codes stay numbers, as in the network's own tables. In
 * ClickHouse the table is a `ReplacingMergeTree` ordered by the key, so that duplicate rows are merged.
 *
 * @param schema the table; its types must exist: {@link createTypesSql}
 * @param dialect the database
 * @param options which columns may be NULL, and additional columns
 * @returns the statement, without a semicolon
 *
 * @example
 * await database.query(createTableSql(tableSchema("blocks", 116), "postgres"));
 */
export function createTableSql(schema: TableSchema, dialect: SqlDialect, options: SqlOptions = {}): string {
  requireSchema(schema);
  assertObject("options", options);
  const { withoutKey = false, further = [] } = options;
  const own = schema.columns.flatMap((column) => {
    const rest = dialect !== "clickhouse" && isRequired(column, options) ? " NOT NULL" : "";
    return storedColumns(column, dialect, options).map(({ name, type }) => `${name} ${type}${rest}`);
  });
  const key = schema.key.join(", ");
  const primaryKey = dialect === "clickhouse" || withoutKey ? [] : [`PRIMARY KEY (${key})`];
  const parts = [...own, ...further, ...primaryKey].map((part) => `  ${part}`).join(",\n");
  const order = withoutKey ? "tuple()" : `(${key})`;
  const engine = dialect === "clickhouse" ? `\nENGINE = ReplacingMergeTree\nORDER BY ${order}` : "";
  return `CREATE TABLE ${placed(schema.table, options)} (\n${parts}\n)${engine}`;
}

/**
 * Returns the statements that change tables from one version of the database schema to a later one: types first, then
 * renamed and added columns. Without `addedNullable`, a database refuses to add a column that must not be NULL to a
 * table that has rows: only the network knows the values of those rows.
 *
 * @param tables the tables
 * @param versions the current and the target version
 * @param dialect the database
 * @param options which columns may be NULL
 * @returns the statements in order, without semicolons; none if nothing changes
 * @throws {@link RequestError} if a version is unknown, or the target is earlier than the current version
 *
 * @example
 * alterTablesSql(["orders"], { from: 1, to: 116 }, "postgres", { addedNullable: true });
 */
export function alterTablesSql(
  tables: readonly TableName[],
  versions: { readonly from: number | bigint; readonly to: number | bigint },
  dialect: SqlDialect,
  options: SqlOptions = {},
): string[] {
  assertArray("tables", tables, "an array of table names");
  assertKnownKeys("versions", versions, { from: true, to: true });
  const { from, to } = versions;
  const before = tables.map((table) => tableSchema(table, from));
  const after = tables.map((table) => tableSchema(table, to));
  if (from > to) {
    throw new RequestError(`the schema cannot be migrated from version ${from} to the older version ${to}`, {
      advice: "Set from to the version of the existing tables, and to to the same or a newer version.",
    });
  }
  const existing = new Set(createTypesSql(before, dialect, options));
  const types = createTypesSql(after, dialect, options).filter((statement) => !existing.has(statement));
  const changes = after.flatMap(({ table, columns }, index) => {
    const names = new Set(before[index]?.columns.map(({ name }) => name));
    return columns
      .filter(({ name }) => !names.has(name))
      .flatMap((column) => changeSql(table, column, names, dialect, options));
  });
  return [...types, ...changes];
}

function changeSql(
  table: TableName,
  column: TableColumn,
  before: ReadonlySet<string>,
  dialect: SqlDialect,
  options: SqlOptions,
): string[] {
  const { was } = column;
  const change = `ALTER TABLE ${placed(table, options)}`;
  if (was !== undefined && before.has(was)) {
    return [`${change} RENAME COLUMN ${was} TO ${column.name}`];
  }
  return storedColumns(column, dialect, options).flatMap(({ name, type }) => {
    const add = `${change} ADD COLUMN ${name} ${type}`;
    if (dialect === "clickhouse" || !isRequired(column, options)) {
      return [add];
    }
    // DuckDB cannot add a column with a constraint.
    return dialect === "duckdb" ? [add, `${change} ALTER COLUMN ${name} SET NOT NULL`] : [`${add} NOT NULL`];
  });
}

/**
 * Returns how DuckDB and Parquet store a number that may not fit their other types: as an exact number with up to 38 digits, or as a
 * `DOUBLE` with the exact text in another column. It depends only on the column, so that it is the same in every file.
 */
export function numberForm({ type, anySize }: TableColumn): "amount" | "double and text" | undefined {
  if (type === "hugeint") {
    return anySize === true ? "double and text" : "amount";
  }
  return type === "numeric" || type === "numeric(1000,16)" ? "double and text" : undefined;
}

/** Returns the name of the column that stores the exact text of a number, such as `price_text`. */
export function textColumn(name: string): string {
  return `${name}_text`;
}

/** Returns the columns that store a column in a database, with their types. */
export function storedColumns(
  column: TableColumn,
  dialect: SqlDialect,
  options: Pick<SqlOptions, "within" | "addedNullable"> = {},
): { readonly name: string; readonly type: string }[] {
  const { name } = column;
  return dialect === "duckdb" && numberForm(column) === "double and text"
    ? [
        { name, type: "DOUBLE" },
        { name: textColumn(name), type: "VARCHAR" },
      ]
    : [{ name, type: columnType(column, dialect, options) }];
}

function placed(name: string, { within }: Pick<SqlOptions, "within">): string {
  return within === undefined ? name : `${within}.${name}`;
}

function isRequired({ nullable, since }: TableColumn, { addedNullable = false }: SqlOptions): boolean {
  return !nullable && !(addedNullable && since > FIRST_SCHEMA_VERSION);
}

export function columnType(column: TableColumn, dialect: SqlDialect, options: SqlOptions): string {
  if (dialect !== "clickhouse") {
    const type = column.values === undefined ? TYPES[dialect][column.type] : column.type;
    return column.values !== undefined || type === "hugeint" ? placed(type, options) : type;
  }
  const type = column.values === undefined ? TYPES.clickhouse[column.type] : "String";
  const value = isRequired(column, options) ? type : `Nullable(${type})`;
  return column.values === undefined ? value : `LowCardinality(${value})`;
}
