import { codeNames } from "../../../gen/names/codes.js";
import { RequestError } from "../../base/errors/index.js";
import { formatValue, invalidTypeError } from "../../base/input/assert.js";
import { enums, type WireEnum } from "./data/enums.js";
import type { ColumnFacts, EnumType, NumberUnit, RowOwner, ScalarType, TableFacts } from "./data/facts.js";
import { facts } from "./data/index.js";
import { isTableName, type TableName, tableNames } from "./table-names.js";

/**
 * The PostgreSQL type of a column. `hugeint` is the network's own: `numeric(1000,0)`. Enum types have their own names.
 */
export type ColumnType = ScalarType | EnumType;

/** The meaning of a column's values. */
export type ColumnMeaning =
  /** A point in time, to the microsecond. */
  | "time"
  /** An identifier, hash or key: bytes. */
  | "id"
  /** A whole number: a price, an amount, a height, a count. */
  | "whole"
  /** A number with decimals, stored exactly. */
  | "decimal"
  /** A floating-point number. */
  | "number"
  | "flag"
  | "text"
  | "json"
  /** One of the values of a PostgreSQL enum type. */
  | "enum"
  /** A number that represents an enum value on the wire. */
  | "code";

interface AnyColumn {
  readonly name: string;
  /** The meaning and unit of the values, such as `Price of the trade, in the market's price decimals`. */
  readonly description: string;
  /** Whose decimals the number has: `1234` with 2 decimals is 12.34. Absent if it is not such a number. */
  readonly unit?: NumberUnit;
  /** Whose row it is: that of the market or the party that the identifier names. Absent from other identifiers. */
  readonly owner?: RowOwner;
  /** Whether anyone can set the number to up to 78 digits; other whole numbers of a known network have at most 38. */
  readonly anySize?: true;
  /** Whether the column may be NULL. */
  readonly nullable: boolean;
  /** The first schema version that has the column. */
  readonly since: number;
  /** The last schema version that has the column, if later ones lack it. */
  readonly until?: number;
  /** The name that the column had before the version `since`. */
  readonly was?: string;
}

interface EnumColumn extends AnyColumn {
  readonly type: EnumType;
  readonly holds: "enum";
  /** The values of the type, in their order. */
  readonly values: readonly string[];
  readonly code?: undefined;
}

/** A column of numbers that represent the values of an enum of the API. */
interface CodeColumn extends AnyColumn {
  readonly type: ScalarType;
  readonly holds: "code";
  readonly values?: undefined;
  /** The enum of the API and its names by number. */
  readonly code: { readonly enum: WireEnum; readonly names: Readonly<Record<number, string>> };
}

interface PlainColumn extends AnyColumn {
  readonly type: ScalarType;
  readonly holds: Exclude<ColumnMeaning, "enum" | "code">;
  readonly values?: undefined;
  readonly code?: undefined;
}

/** A column of an export table. */
export type TableColumn = EnumColumn | CodeColumn | PlainColumn;

/** An export table as one version of the database schema has it. */
export interface TableSchema {
  readonly table: TableName;
  readonly version: number;
  /** The names of the primary key's columns, in their order. The rows of a segment are sorted by it. */
  readonly key: readonly string[];
  /** The columns in order, which is that of the CSV files. */
  readonly columns: readonly TableColumn[];
}

/** The first version of the database schema. */
export const FIRST_SCHEMA_VERSION = 1;

/** The newest known version of the database schema, the last one of v0.78. */
export const NEWEST_SCHEMA_VERSION = 116;

const MEANINGS: { readonly [type in ScalarType]: PlainColumn["holds"] } = {
  int2: "whole",
  int4: "whole",
  int8: "whole",
  hugeint: "whole",
  numeric: "decimal",
  "numeric(1000,16)": "decimal",
  float8: "number",
  bool: "flag",
  text: "text",
  bytea: "id",
  timestamptz: "time",
  jsonb: "json",
};

/**
 * Describes an export table as a version of the database schema has it. The columns are those of
 * deployed v0.78 networks.
 *
 * @param table such as `trades`
 * @param version the version of the database schema, from {@link FIRST_SCHEMA_VERSION} to {@link NEWEST_SCHEMA_VERSION}; it is
 * part of a CSV file's name
 * @returns the columns in the order of the CSV files, and the primary key
 * @throws {@link RequestError} if the table or the version does not exist. Newer versions have so far kept the columns
 *   and added more: use {@link NEWEST_SCHEMA_VERSION} for the known ones
 *
 * @example
 * const { columns, key } = tableSchema("trades", NEWEST_SCHEMA_VERSION);
 * for (const { name, type, holds } of columns) console.log(name, type, holds);
 */
export function tableSchema(table: TableName, version: number | bigint): TableSchema {
  const { key } = factsOf(table);
  const number = checkedVersion(version);
  const columns = columnsEver(table).filter(({ since, until = number }) => since <= number && number <= until);
  return { table, version: number, key, columns };
}

/**
 * Lists the columns that a table has or had in any version of the database schema. A column name has the same type in
 * all versions.
 *
 * @throws {@link RequestError} if the table does not exist
 */
export function columnsEver(table: TableName): TableColumn[] {
  return Object.entries(factsOf(table).columns).map(([name, column]) => tableColumn(name, column));
}

/** Returns the names of the columns that say whose row it is; none if the table has no such column. */
export function ownerColumns(table: TableName, owner: RowOwner): string[] {
  return columnsEver(table).flatMap((column) => (column.owner === owner ? [column.name] : []));
}

/**
 * Lists the versions of the database schema that changed a table.
 *
 * @param table such as `trades`
 * @returns the versions, ascending; the first is {@link FIRST_SCHEMA_VERSION}
 * @throws {@link RequestError} if the table does not exist
 *
 * @example
 * schemaVersions("trades"); // [1, 31, 116]
 */
export function schemaVersions(table: TableName): number[] {
  const changes = Object.values(factsOf(table).columns).flatMap(({ since = FIRST_SCHEMA_VERSION, until }) =>
    until === undefined ? [since] : [since, until + 1],
  );
  return [...new Set(changes)].sort((a, b) => a - b);
}

/**
 * Validates the description of a table.
 *
 * @throws {@link RequestError} if it is invalid
 */
export function requireSchema(schema: Partial<TableSchema> | undefined): void {
  if (!Array.isArray(schema?.columns) || typeof schema.table !== "string") {
    throw invalidTypeError(
      "schema",
      schema,
      'a result of tableSchema(), such as tableSchema("trades", NEWEST_SCHEMA_VERSION)',
    );
  }
}

function factsOf(table: TableName): TableFacts {
  if (!isTableName(table)) {
    throw new RequestError(`unknown table ${formatValue(table)}`, {
      advice: `Valid tables: ${tableNames.join(", ")}.`,
    });
  }
  return facts[table];
}

function checkedVersion(version: number | bigint): number {
  const number = Number(version);
  if (!Number.isInteger(number) || number < FIRST_SCHEMA_VERSION) {
    throw new RequestError(`unknown schema version ${formatValue(version)}`, {
      advice: `Use a whole number from ${FIRST_SCHEMA_VERSION} to ${NEWEST_SCHEMA_VERSION}.`,
    });
  }
  if (number > NEWEST_SCHEMA_VERSION) {
    throw new RequestError(
      `schema version ${version} is newer than the newest known version ${NEWEST_SCHEMA_VERSION}`,
      {
        advice: `Install a newer release of tradewire, or use ${NEWEST_SCHEMA_VERSION} (NEWEST_SCHEMA_VERSION): newer versions usually keep its columns and add more.`,
      },
    );
  }
  return number;
}

function tableColumn(
  name: string,
  { type, description, code, nullable, since = FIRST_SCHEMA_VERSION, ...rest }: ColumnFacts,
): TableColumn {
  const more = { description, nullable: nullable === true, since, ...rest };
  if (isEnumType(type)) {
    return { name, type, holds: "enum", ...more, values: enums[type] };
  }
  if (code === undefined) {
    return { name, type, holds: MEANINGS[type], ...more };
  }
  return { name, type, holds: "code", ...more, code: { enum: code, names: { ...codeNames[code] } } };
}

function isEnumType(type: ColumnType): type is EnumType {
  return Object.hasOwn(enums, type);
}
