import { Code } from "@connectrpc/connect";
import { quoted } from "../../base/errors/error-text.js";
import { FileError } from "../../base/errors/index.js";
import { findUntrusted, type QueryCatalog } from "../../base/postgres/untrusted-object.js";

/** The columns of a journal's table, as {@link COLUMNS} describes them. */
const EXPECTED = [
  "id text NOT NULL",
  "position integer NOT NULL",
  "entry text NOT NULL",
  "is_last boolean NOT NULL",
  "created_at timestamp with time zone NOT NULL DEFAULT now()",
];

/** Selects the table `$1` of the schema `$2`, with what its definition lets it do. */
const TABLE = `
  SELECT c.oid::text AS oid, c.relkind = 'r' AND c.relpersistence = 'p' AS is_table, c.relrowsecurity AS has_policies,
    EXISTS (SELECT FROM pg_inherits AS i WHERE c.oid IN (i.inhrelid, i.inhparent)) AS is_inherited,
    (SELECT json_agg(pg_get_constraintdef(k.oid) ORDER BY k.conname) FROM pg_constraint AS k
     WHERE k.conrelid = c.oid AND k.contype <> 'n') AS constraints
  FROM pg_class AS c WHERE c.relname = $1 AND c.relnamespace = $2::oid`;

const COLUMNS = `
  SELECT concat(a.attname, ' ', format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN ' NOT NULL' END,
    CASE WHEN d.adbin IS NOT NULL THEN ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) END, a.attgenerated, a.attidentity) AS column
  FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;

/** Selects a role that is not trusted and may change or remove the entries of the table `$1`. */
const CHANGES = `
  SELECT coalesce(r.rolname, 'PUBLIC') AS role, g.privilege_type AS privilege FROM (
    SELECT (aclexplode(relacl)).* FROM pg_class WHERE oid = $1::oid
    UNION ALL SELECT (aclexplode(attacl)).* FROM pg_attribute WHERE attrelid = $1::oid
  ) AS g LEFT JOIN pg_roles AS r ON r.oid = g.grantee
  WHERE g.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER')
    AND NOT coalesce(r.rolsuper OR r.rolname = current_user OR r.rolname = ANY ($2::text[]), false)
  ORDER BY 1, 2 LIMIT 1`;

/**
 * Asserts that only trusted roles can change the entries of a journal, and that the table stores them as they are. A removed entry
 * would let its intent be signed again.
 *
 * @throws {@link FileError} `PERMISSION_DENIED` if another role can change them; `FAILED_PRECONDITION` if it is not a journal's table
 */
export async function assertJournalTable(
  query: QueryCatalog,
  table: string,
  schema: { readonly oid: string; readonly name: string },
  trustedOwners: readonly string[],
): Promise<void> {
  const untrusted = await findUntrusted(query, schema.oid, { schema: schema.name, trustedOwners, names: [table] });
  if (untrusted !== undefined) {
    throw refused(`${untrusted.what}, so another role could remove entries, or run code with the journal's privileges`);
  }
  const [found] = (await query(TABLE, [table, schema.oid])).rows;
  const facts = new Map<string, unknown>(Object.entries(found ?? {}));
  const columns = (await query(COLUMNS, [facts.get("oid")])).rows.flatMap((row) => Object.values(row).map(String));
  const constraints = facts.get("constraints");
  const isAsCreated =
    facts.get("is_table") === true &&
    facts.get("has_policies") === false &&
    facts.get("is_inherited") === false &&
    Array.isArray(constraints) &&
    constraints.join() === 'PRIMARY KEY (id, "position")' &&
    columns.join() === EXPECTED.join();
  if (!isAsCreated) {
    throw new FileError(`the table ${table} in the schema ${quoted(schema.name)} is not one that a journal creates`, {
      code: Code.FailedPrecondition,
      advice:
        "Use another table: the journal creates it. It must have no policies, no inheritance, and no other columns.",
    });
  }
  const [change] = (await query(CHANGES, [facts.get("oid"), trustedOwners])).rows;
  if (change !== undefined) {
    const [role, privilege] = Object.values(change).map(String);
    throw refused(
      `the role ${quoted(role ?? "")} has the privilege ${privilege} on ${table}, so it could change entries`,
    );
  }
}

function refused(what: string): FileError {
  return new FileError(what, {
    code: Code.PermissionDenied,
    advice:
      "An intent could be executed twice. Use a schema and a table of your own role, and revoke the privileges of others. If you fully trust a role, name it in trustedOwners.",
  });
}
