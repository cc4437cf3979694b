import { assertKnownKeys, assertObject, invalidTypeError, invalidValueError } from "../input/assert.js";
import type { Journal } from "./journal.js";

/** The part of a `pg` connection that a journal uses. */
export interface JournalConnection {
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly object[] }>;
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
}

/** The valid form of the table's name, which needs no quotes in SQL. */
const TABLE_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * Opens a journal in a PostgreSQL table, which several processes may use concurrently. An entry is confirmed once
 * PostgreSQL has written it to disk, even if the database relaxes that for other transactions.
 *
 * @param pool a pool of `pg`, which the journal does not close
 * @param options the name of the table
 * @returns the journal
 * @throws {@link RequestError} if the pool or the name of the table is invalid, and the errors of `pg`
 *
 * @example
 * const journal = await openPostgresJournal(new pg.Pool({ connectionString }));
 */
export async function openPostgresJournal(pool: JournalPool, options: PostgresJournalOptions = {}): Promise<Journal> {
  assertObject("pool", pool);
  if (typeof pool.connect !== "function") {
    throw invalidTypeError(
      "pool.connect",
      pool.connect,
      "a function of a pool of the pg package, such as new pg.Pool({ connectionString })",
    );
  }
  assertKnownKeys("options", options, { table: true });
  const { table = "tradewire_intents" } = options;
  if (!TABLE_NAME.test(table)) {
    throw invalidValueError(
      "table",
      table,
      "1 to 63 lowercase letters, digits and underscores, without a leading digit",
    );
  }

  async function connected<T>(act: (query: JournalConnection["query"]) => Promise<T>): Promise<T> {
    const connection = await pool.connect();
    let isBroken = false;
    const onError = () => {
      isBroken = true; // The query that is running fails, too. Without a listener, the process would end.
    };
    connection.on("error", onError);
    try {
      return await act((text, values) => connection.query(text, values));
    } catch (reason) {
      isBroken = true; // It may be inside a transaction.
      throw reason;
    } finally {
      connection.off("error", onError);
      connection.release(isBroken);
    }
  }

  const inTransaction = <T>(act: (query: JournalConnection["query"]) => Promise<T>) =>
    connected(async (query) => {
      await query("BEGIN");
      const result = await act(query);
      await query("COMMIT");
      return result;
    });

  await inTransaction(async (query) => {
    await query("SELECT pg_advisory_xact_lock(hashtext($1))", [table]); // PostgreSQL fails if two create one table.
    await query(
      `CREATE TABLE IF NOT EXISTS ${table} (
        id text NOT NULL, position integer NOT NULL, entry text NOT NULL, is_last boolean NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (id, position))`,
    );
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
