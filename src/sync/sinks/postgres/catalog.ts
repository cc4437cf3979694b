import type { PoolClient } from "pg";
import type { TableName } from "../../../schema/tables.js";

/** What is in the sink's schema. */
export interface Catalog {
  /** The columns of each table, in their order: whether each may be NULL. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, { readonly nullable: boolean }>>;
  /** Tables that have a primary key. */
  readonly keyed: ReadonlySet<string>;
  readonly indexes: ReadonlySet<string>;
  /** The columns by which tables are partitioned. */
  readonly partitioned: ReadonlyMap<string, readonly string[]>;
  /** Domains and enum types, with the values of the latter. */
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
  SELECT c.relname AS table, array_agg(a.attname::text ORDER BY a.attnum) AS columns
  FROM pg_partitioned_table p JOIN pg_class c ON c.oid = p.partrelid
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (p.partattrs::int2[])
  WHERE c.relnamespace = $1::oid GROUP BY c.relname`;
const TYPES = `
  SELECT t.typname AS type, coalesce(array_agg(e.enumlabel::text ORDER BY e.enumsortorder)
    FILTER (WHERE e.enumlabel IS NOT NULL), '{}') AS values
  FROM pg_type t LEFT JOIN pg_enum e ON e.enumtypid = t.oid
  WHERE t.typnamespace = $1::oid AND t.typtype IN ('d', 'e') GROUP BY t.typname`;

/**
 * Read what is in the sink's schema.
 *
 * @param client in a transaction
 * @param schema the schema's number
 * @returns its tables, indexes and types
 */
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

/**
 * Find the number of a schema.
 *
 * @param client in a transaction
 * @param name the schema's name, as it is
 * @returns its number in the catalog; `undefined` where there is no such schema
 */
export async function schemaNumber(client: PoolClient, name: string): Promise<string | undefined> {
  const { rows } = await client.query<{ oid: string }>("SELECT oid::text FROM pg_namespace WHERE nspname = $1", [name]);
  return rows[0]?.oid;
}

/**
 * Name the index by which the rows of a unit are found.
 *
 * @param table such as `trades`
 * @returns the name
 */
export function unitIndex(table: TableName): string {
  return `${table}_from_block`;
}
