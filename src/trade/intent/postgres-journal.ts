import {
  assertArray,
  assertKnownKeys,
  assertObject,
  invalidTypeError,
  invalidValueError,
} from "../../base/input/assert.js";
import { snapshot } from "../../base/input/snapshot.js";
import { valueTypes } from "../../base/postgres/value-types.js";

import type { Journal } from "./journal.js";
import { assertJournalTable } from "./journal-table.js";

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

/** Runs a statement. */
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

    [Symbol.asyncDispose]: async () => undefined, // The pool is the caller's.
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
