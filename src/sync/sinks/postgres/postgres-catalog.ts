import { Code } from "@connectrpc/connect";
import type { PoolClient } from "pg";
import { quoted } from "../../../errors/error-text.js";
import { SinkError } from "../../../errors/index.js";
import type { TableName } from "../../../schema/table-names.js";

/**
 * The search path of all statements of ours: PostgreSQL's own functions and operators alone. What else is used is named
 * with its schema. A function that somebody else makes in a schema of the path is called where its types fit better.
 */
export const SEARCH_PATH = "pg_catalog, pg_temp";

/** What must belong to trusted roles. */
export interface TrustedSchema {
  /** The schema's name, as it is. */
  readonly schema: string;
  /** Roles that are trusted besides the connection's own and superusers. */
  readonly trustedOwners: readonly string[];
  /** Names of the relations and types that are used, as far as they are there; all that the schema holds by default. */
  readonly names?: readonly string[];
}

/**
 * Select what is not trusted: the schema, its relations with their partitions, types, functions, triggers and rules.
 * `$1` is the schema's number, `$2` the trusted roles, `$3` the names or NULL.
 */
const FOREIGN = `
  WITH RECURSIVE trusted AS (
    SELECT oid FROM pg_catalog.pg_roles WHERE rolsuper OR rolname = current_user OR rolname = ANY ($2::text[])
  ), relations AS (
    SELECT c.oid FROM pg_catalog.pg_class c
    WHERE c.relnamespace = $1::oid AND ($3::text[] IS NULL OR c.relname = ANY ($3::text[]))
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN relations r ON r.oid = i.inhparent
  ), owned AS (
    SELECT 1 AS place, NULL::text AS name, CASE WHEN o.rolname = 'pg_database_owner'
      THEN (SELECT datdba FROM pg_catalog.pg_database WHERE datname = current_database()) ELSE n.nspowner END AS owner,
      NULL::text AS part
    FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles o ON o.oid = n.nspowner WHERE n.oid = $1::oid
    UNION ALL SELECT 2, c.relname, c.relowner, NULL FROM pg_catalog.pg_class c JOIN relations r ON r.oid = c.oid
    UNION ALL SELECT 3, t.typname, t.typowner, NULL FROM pg_catalog.pg_type t
      WHERE t.typnamespace = $1::oid AND ($3::text[] IS NULL OR t.typname = ANY ($3::text[]))
    UNION ALL SELECT 4, p.proname, p.proowner, NULL FROM pg_catalog.pg_proc p
      WHERE p.pronamespace = $1::oid AND $3::text[] IS NULL
    UNION ALL SELECT 5, c.relname, p.proowner, t.tgname FROM pg_catalog.pg_trigger t
      JOIN relations r ON r.oid = t.tgrelid JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
      JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid WHERE NOT t.tgisinternal
    UNION ALL SELECT 6, c.relname, NULL, w.rulename FROM pg_catalog.pg_rewrite w
      JOIN relations r ON r.oid = w.ev_class JOIN pg_catalog.pg_class c ON c.oid = w.ev_class
      WHERE NOT (c.relkind IN ('v', 'm') AND w.rulename = '_RETURN')
  )
  SELECT w.place, w.name, w.part, coalesce(o.rolname, w.owner::text) AS owner
  FROM owned w LEFT JOIN pg_catalog.pg_roles o ON o.oid = w.owner
  WHERE w.owner IS NULL OR w.owner NOT IN (SELECT oid FROM trusted) ORDER BY w.place, w.name, w.part LIMIT 1`;

/**
 * Check that nobody else owns what a sync uses: whoever owns a table, or may put a trigger on it, makes each statement
 * that changes it run code as the role of the sync.
 *
 * @param client in a transaction whose search path is {@link SEARCH_PATH}; what is there was looked up before
 * @param number the schema's number
 * @param trusting the schema, who is trusted, and what is used of it
 * @throws {@link SinkError} `PERMISSION_DENIED` where something belongs to another role, or there is a rule
 */
export async function assertTrusted(
  client: Pick<PoolClient, "query">,
  number: string,
  { schema, trustedOwners, names }: TrustedSchema,
): Promise<void> {
  const { rows } = await client.query<{ place: number; name: string; part: string | null; owner: string | null }>(
    FOREIGN,
    [number, trustedOwners, names ?? null],
  );
  const [found] = rows;
  if (found === undefined) {
    return;
  }
  const { place, name, part, owner } = found;
  const within = `in the schema ${quoted(schema)}`;
  const role = `the role ${quoted(owner ?? "")}`;
  const what =
    part === null
      ? `${name === null ? `the schema ${quoted(schema)}` : `${name} ${within}`} belongs to ${role}`
      : place === RULE
        ? `the rule ${part} on ${name} ${within} changes what statements do`
        : `the trigger ${part} on ${name} ${within} calls a function of ${role}`;
  throw new SinkError(`${what}, so that a sync could run code of others as its own role`, {
    code: Code.PermissionDenied,
    advice:
      place === RULE
        ? "Drop the rule: tables of a sync have none."
        : "Sync into a schema that your own role has made, or change the owner. If you trust the role as yourself, name it with --trust-owner (trustedOwners in the library).",
  });
}

const RULE = 6;

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
