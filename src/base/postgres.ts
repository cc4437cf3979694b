import { quoted } from "./errors/error-text.js";

/** The part of a connection of `pg` that reads the catalog. */
export type QueryCatalog = (text: string, values: readonly unknown[]) => Promise<{ readonly rows: readonly object[] }>;

/** A schema whose objects must belong to trusted roles. */
export interface TrustedSchema {
  /** The name, for messages. */
  readonly schema: string;
  /** Roles that are trusted in addition to the connection's role and superusers. */
  readonly trustedOwners: readonly string[];
  /** Names of the relations, types and functions to check, if they exist; all objects of the schema by default. */
  readonly names?: readonly string[];
}

/** An object that lets another role run code or change rows. */
export interface UntrustedObject {
  /** A description for messages. */
  readonly what: string;
  /** Whether it is a rule, which changes statements regardless of its owner. */
  readonly isRule: boolean;
}

/**
 * Selects the first object that is not trusted: the schema, a relation or partition, a type, a function, a trigger or a rule.
 * `$1` is the schema's oid, `$2` the trusted roles, `$3` the names or NULL.
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
      WHERE p.pronamespace = $1::oid AND ($3::text[] IS NULL OR p.proname = ANY ($3::text[]))
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

const RULE = 6;

/**
 * Finds an object that does not belong to a trusted role. The owner of a table, and anyone who can create a trigger on it, can run
 * code as the role that changes the table.
 */
export async function findUntrusted(
  query: QueryCatalog,
  number: string,
  { schema, trustedOwners, names }: TrustedSchema,
): Promise<UntrustedObject | undefined> {
  const { rows } = await query(FOREIGN, [number, trustedOwners, names ?? null]);
  const [found] = rows;
  if (found === undefined) {
    return undefined;
  }
  const fields = new Map<string, unknown>(Object.entries(found));
  const [name, part, owner] = ["name", "part", "owner"].map((key) => fields.get(key) ?? undefined);
  const within = `in the schema ${quoted(schema)}`;
  const role = `the role ${quoted(String(owner ?? ""))}`;
  const isRule = fields.get("place") === RULE;
  if (part === undefined) {
    const object = name === undefined ? `the schema ${quoted(schema)}` : `${name} ${within}`;
    return { what: `${object} belongs to ${role}`, isRule };
  }
  return {
    what: isRule
      ? `the rule ${part} on ${name} ${within} changes the effect of statements`
      : `the trigger ${part} on ${name} ${within} calls a function of ${role}`,
    isRule,
  };
}

/** The types of PostgreSQL whose values are parsed, by their oid. All other values are text. */
const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [16, (text) => text === "t"], // bool
  ...[21, 23, 26, 700, 701].map((oid) => [oid, Number] as const), // int2, int4, oid, float4, float8
  [114, JSON.parse], // json
  [3802, JSON.parse], // jsonb
]);

/**
 * How values of PostgreSQL are parsed for statements of this library. The program may change the parsers of `pg`, which all
 * connections in the process share otherwise.
 */
export const valueTypes = {
  getTypeParser(oid: number, format?: string): (value: unknown) => unknown {
    return (value) => {
      if (format === "binary") {
        throw new TypeError("the PostgreSQL connection returns values in the binary format, which is not supported");
      }
      const text = String(value);
      const parse = PARSERS.get(oid);
      return parse === undefined ? text : parse(text);
    };
  },
};
