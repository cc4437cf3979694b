import { Code } from "../../base/errors/code.js";
import { quoted } from "../../base/errors/error-text.js";
import { FileError } from "../../base/errors/index.js";
import {
  assertArray,
  assertKnownKeys,
  assertObject,
  invalidTypeError,
  invalidValueError,
} from "../../base/input/assert.js";
import { snapshot } from "../../base/input/snapshot.js";
import { findUntrusted, type QueryCatalog, valueTypes } from "../../base/postgres.js";
import type { Journal } from "./journal.js";

/** A statement, in the form that `pg` takes. */
interface JournalStatement {
  readonly text: string;
  readonly values?: unknown[];
  /** How values are parsed. */
  readonly types: typeof valueTypes;
}

/** The part of a `pg` connection that a journal uses. */
export interface JournalConnection {
  query(statement: JournalStatement): Promise<{ readonly rows: readonly object[] }>;
  on(event: "error", listener: () => void): unknown;
  off(event: "error", listener: () => void): unknown;
  /** Returns it to the pool, or closes it. */
  release(isBroken?: boolean): void;
}

/** The part of a `pg` pool that a journal uses. */
export interface JournalPool {
  connect(): Promise<JournalConnection>;
}

/** How a journal is stored in PostgreSQL. */
export interface PostgresJournalOptions {
  /** The table's name, in the connection's search path; `tradewire_intents` by default. It is created if it is missing. */
  readonly table?: string | undefined;
  /**
   * Roles that may own the table, its schema and its triggers, and that may change entries. The connection's role and superusers
   * are always trusted; a table that another role could change is refused.
   */
  readonly trustedOwners?: readonly string[] | undefined;
}

type RunStatement = (text: string, values?: readonly unknown[]) => Promise<{ readonly rows: readonly object[] }>;

/** The valid form of the table's name, which needs no quotes in SQL. */
const TABLE_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * Opens a journal in a PostgreSQL table, which several processes may use concurrently. An entry is confirmed once
 * PostgreSQL has written it to disk, even if the database relaxes that for other transactions.
 *
 * @param pool a pool of `pg`, which the journal does not close
 * @param options the name of the table
 * @returns the journal
 * @throws {@link RequestError} if the pool or the name of the table is invalid; {@link FileError} if another role could change the
 *   entries, or the table is not a journal's; and the errors of `pg`
 *
 * @example
 * const journal = await openPostgresJournal(new pg.Pool({ connectionString }));
 */
export async function openPostgresJournal(pool: JournalPool, options: PostgresJournalOptions = {}): Promise<Journal> {
  options = snapshot(options);
  assertObject("pool", pool);
  if (typeof pool.connect !== "function") {
    throw invalidTypeError(
      "pool.connect",
      pool.connect,
      "a function of a pool of the pg package, such as new pg.Pool({ connectionString })",
    );
  }
  assertKnownKeys("options", options, { table: true, trustedOwners: true });
  const { table: name = "tradewire_intents", trustedOwners = [] } = options;
  assertArray("trustedOwners", trustedOwners, "an array of role names");
  if (!TABLE_NAME.test(name)) {
    throw invalidValueError(
      "table",
      name,
      "1 to 63 lowercase letters, digits and underscores, without a leading digit",
    );
  }

  async function connected<T>(act: (query: RunStatement) => Promise<T>): Promise<T> {
    const connection = await pool.connect();
    let isBroken = false;
    const onError = () => {
      isBroken = true; // The query that is running fails, too. Without a listener, the process would end.
    };
    connection.on("error", onError);
    try {
      return await act((text, values) =>
        connection.query({ text, ...(values && { values: [...values] }), types: valueTypes }),
      );
    } catch (reason) {
      isBroken = true; // It may be inside a transaction.
      throw reason;
    } finally {
      connection.off("error", onError);
      connection.release(isBroken);
    }
  }

  const inTransaction = <T>(act: (query: RunStatement) => Promise<T>) =>
    connected(async (query) => {
      await query("BEGIN");
      const result = await act(query);
      await query("COMMIT");
      return result;
    });

  const table = await inTransaction(async (query) => {
    const schema = await findSchema(query, name);
    await query("SET LOCAL search_path TO pg_catalog, pg_temp"); // No function or operator of another role is called.
    // PostgreSQL fails if two create one table.
    await query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`tradewire journal ${schema.oid} ${name}`]);
    const there = await query("SELECT FROM pg_class WHERE relname = $1 AND relnamespace = $2::oid", [name, schema.oid]);
    const qualified = `${schema.quoted}.${name}`;
    if (there.rows.length === 0) {
      await query(
        `CREATE TABLE ${qualified} (
          id text NOT NULL, position integer NOT NULL, entry text NOT NULL, is_last boolean NOT NULL,
          created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (id, position))`,
      );
    }
    await assertJournalTable(query, name, schema, trustedOwners);
    return qualified;
  });

  return {
    read: (id) =>
      connected(async (query) => {
        const { rows } = await query(`SELECT entry FROM ${table} WHERE id = $1 ORDER BY position`, [id]);
        return rows.map((row) => ("entry" in row ? String(row.entry) : ""));
      }),

    append: (id, entry, { position, isLast }) =>
      inTransaction(async (query) => {
        await query("SET LOCAL synchronous_commit = on");
        // The primary key decides where two processes append at once.
        const { rows } = await query(
          `INSERT INTO ${table} (id, position, entry, is_last)
           SELECT $1, $2::integer, $3, $4
           WHERE $2::integer = (SELECT count(*) FROM ${table} WHERE id = $1)
             AND NOT EXISTS (SELECT 1 FROM ${table} WHERE id = $1 AND is_last)
           ON CONFLICT DO NOTHING RETURNING position`,
          [id, position, entry, isLast],
        );
        return rows.length === 1;
      }),

    open: () =>
      connected(async (query) => {
        const { rows } = await query(
          `SELECT id FROM ${table} GROUP BY id HAVING NOT bool_or(is_last) ORDER BY min(created_at), id`,
        );
        return rows.map((row) => ("id" in row ? String(row.id) : ""));
      }),

    // The pool is the caller's.
    async close() {},
    async [Symbol.asyncDispose]() {},
  };
}

/** Finds the schema of a table in the search path: the one that has it, otherwise the one in which it would be created. */
async function findSchema(query: RunStatement, table: string) {
  const { rows } = await query(
    `SELECT n.oid::text AS oid, n.nspname AS name, pg_catalog.quote_ident(n.nspname) AS quoted
     FROM pg_catalog.pg_namespace AS n WHERE n.oid = coalesce(
       (SELECT c.relnamespace FROM pg_catalog.pg_class AS c WHERE c.oid = pg_catalog.to_regclass($1)),
       (SELECT s.oid FROM pg_catalog.pg_namespace AS s WHERE s.nspname = pg_catalog.current_schema()))`,
    [table],
  );
  const fields = new Map<string, unknown>(Object.entries(rows[0] ?? {}));
  const [oid, name, quoted] = ["oid", "name", "quoted"].map((key) => String(fields.get(key) ?? ""));
  return { oid: oid ?? "", name: name ?? "", quoted: quoted ?? "" };
}

/** The columns of a journal's table, as {@link FIND_COLUMNS} describes them. */
const EXPECTED_COLUMNS = [
  "id text NOT NULL",
  "position integer NOT NULL",
  "entry text NOT NULL",
  "is_last boolean NOT NULL",
  "created_at timestamp with time zone NOT NULL DEFAULT now()",
];

/** Selects the table `$1` of the schema `$2`, with what its definition lets it do. */
const FIND_TABLE = `
  SELECT c.oid::text AS oid, c.relkind = 'r' AND c.relpersistence = 'p' AS is_table, c.relrowsecurity AS has_policies,
    EXISTS (SELECT FROM pg_inherits AS i WHERE c.oid IN (i.inhrelid, i.inhparent)) AS is_inherited,
    (SELECT json_agg(pg_get_constraintdef(k.oid) ORDER BY k.conname) FROM pg_constraint AS k
     WHERE k.conrelid = c.oid AND k.contype <> 'n') AS constraints
  FROM pg_class AS c WHERE c.relname = $1 AND c.relnamespace = $2::oid`;

const FIND_COLUMNS = `
  SELECT concat(a.attname, ' ', format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN ' NOT NULL' END,
    CASE WHEN d.adbin IS NOT NULL THEN ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) END, a.attgenerated, a.attidentity) AS column
  FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;

/** Selects a role that is not trusted and may change or remove the entries of the table `$1`. */
const FIND_CHANGES = `
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
async function assertJournalTable(
  query: QueryCatalog,
  table: string,
  schema: { readonly oid: string; readonly name: string },
  trustedOwners: readonly string[],
): Promise<void> {
  const untrusted = await findUntrusted(query, schema.oid, { schema: schema.name, trustedOwners, names: [table] });
  if (untrusted !== undefined) {
    throw refused(`${untrusted.what}, so another role could remove entries, or run code with the journal's privileges`);
  }
  const [found] = (await query(FIND_TABLE, [table, schema.oid])).rows;
  const facts = new Map<string, unknown>(Object.entries(found ?? {}));
  const columns = (await query(FIND_COLUMNS, [facts.get("oid")])).rows.flatMap((row) => Object.values(row).map(String));
  const constraints = facts.get("constraints");
  const isAsCreated =
    facts.get("is_table") === true &&
    facts.get("has_policies") === false &&
    facts.get("is_inherited") === false &&
    Array.isArray(constraints) &&
    constraints.join() === 'PRIMARY KEY (id, "position")' &&
    columns.join() === EXPECTED_COLUMNS.join();
  if (!isAsCreated) {
    throw new FileError(`the table ${table} in the schema ${quoted(schema.name)} is not one that a journal creates`, {
      code: Code.FailedPrecondition,
      advice:
        "Use another table: the journal creates it. It must have no policies, no inheritance, and no other columns.",
    });
  }
  const [change] = (await query(FIND_CHANGES, [facts.get("oid"), trustedOwners])).rows;
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
