import type { PoolClient } from "pg";
import { Code } from "../../../base/errors/code.js";
import { SinkError } from "../../../base/errors/index.js";
import { findUntrusted, type TrustedSchema } from "../../../base/postgres.js";
import type { TableName } from "../../../data/schema/table-names.js";

/**
 * The search path of all statements: only PostgreSQL's own functions and operators. All other names are qualified with their
 * schema. Otherwise PostgreSQL would call another role's function in a schema of the path if its argument types match better.
 */
export const SEARCH_PATH = "pg_catalog, pg_temp";

/**
 * Asserts that all objects that a sync uses belong to trusted roles. The owner of a table, and anyone who can create a trigger on
 * it, can run code as the sync's role whenever the sync changes the table.
 *
 * @throws {@link SinkError} `PERMISSION_DENIED` if an object belongs to another role, or there is a rule
 */
export async function assertTrusted(
  client: Pick<PoolClient, "query">,
  number: string,
  trusted: TrustedSchema,
): Promise<void> {
  const found = await findUntrusted((text, values) => client.query(text, [...values]), number, trusted);
  if (found === undefined) {
    return;
  }
  throw new SinkError(`${found.what}, so a sync could run code of another role with its own privileges`, {
    code: Code.PermissionDenied,
    advice: found.isRule
      ? "Drop the rule: the tables of a sync must not have rules."
      : "Sync into a schema that your role created, or change the owner. If you fully trust the role, use --trust-owner (trustedOwners in the library).",
  });
}

/** The content of the sink's schema. */
export interface Catalog {
  /** The columns of each table, in order. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, { readonly nullable: boolean }>>;
  /** Tables that have a primary key. */
  readonly keyed: ReadonlySet<string>;
  readonly indexes: ReadonlySet<string>;
  /** The columns by which tables are partitioned. */
  readonly partitioned: ReadonlyMap<string, readonly string[]>;
  /** Domains and enum types, with the values of the enum types. */
  readonly types: ReadonlyMap<string, readonly string[]>;
}

const COLUMNS = `
  SELECT c.relname AS table, a.attname AS column, NOT a.attnotnull AS nullable
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  WHERE c.relnamespace = $1::oid AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY c.oid, a.attnum`;
const INDEXES = `
  SELECT t.relname AS table, i.relname AS index, x.indisprimary AS primary
  FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
  WHERE t.relnamespace = $1::oid`;
const PARTITIONED = `
  SELECT c.relname AS table, json_agg(a.attname::text ORDER BY a.attnum) AS columns
  FROM pg_partitioned_table p JOIN pg_class c ON c.oid = p.partrelid
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (p.partattrs::int2[])
  WHERE c.relnamespace = $1::oid GROUP BY c.relname`;
const TYPES = `
  SELECT t.typname AS type, coalesce(json_agg(e.enumlabel::text ORDER BY e.enumsortorder)
    FILTER (WHERE e.enumlabel IS NOT NULL), '[]') AS values
  FROM pg_type t LEFT JOIN pg_enum e ON e.enumtypid = t.oid
  WHERE t.typnamespace = $1::oid AND t.typtype IN ('d', 'e') GROUP BY t.typname`;

export async function readCatalog(client: PoolClient, schema: string): Promise<Catalog> {
  const columns = await client.query<{ table: string; column: string; nullable: boolean }>(COLUMNS, [schema]);
  const indexes = await client.query<{ table: string; index: string; primary: boolean }>(INDEXES, [schema]);
  const types = await client.query<{ type: string; values: string[] }>(TYPES, [schema]);
  const partitioned = await client.query<{ table: string; columns: string[] }>(PARTITIONED, [schema]);
  const tables = new Map<string, Map<string, { nullable: boolean }>>();
  for (const { table, column, nullable } of columns.rows) {
    tables.set(table, (tables.get(table) ?? new Map()).set(column, { nullable }));
  }
  return {
    tables,
    keyed: new Set(indexes.rows.filter(({ primary }) => primary).map(({ table }) => table)),
    indexes: new Set(indexes.rows.map(({ index }) => index)),
    partitioned: new Map(partitioned.rows.map(({ table, columns: by }) => [table, by])),
    types: new Map(types.rows.map(({ type, values }) => [type, values])),
  };
}

export async function schemaOid(client: PoolClient, name: string): Promise<string | undefined> {
  const { rows } = await client.query<{ oid: string }>("SELECT oid::text FROM pg_namespace WHERE nspname = $1", [name]);
  return rows[0]?.oid;
}

/** Returns the name of the index that finds the rows of a unit. */
export function unitIndex(table: TableName): string {
  return `${table}_from_block`;
}

/** Returns the names of the columns of a table. */
export async function columnsOf(client: PoolClient, within: string, table: TableName): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped",
    [`${within}.${table}`],
  );
  return new Set(rows.map(({ name }) => name));
}
