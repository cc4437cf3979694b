import type { Transaction as SqlTransaction } from "@electric-sql/pglite";
import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";

/** A command in a block. */
export interface ExecutedCommand {
  readonly command: InputData["command"];
  /** The sender's public key, 64 hex digits. */
  readonly partyId: string;
  /** The transaction's signature, 64 bytes. The identifiers of what it brings are derived from it. */
  readonly signature: Uint8Array;
  /** The block's height. */
  readonly height: bigint;
  /** The block's time, in Unix nanoseconds. */
  readonly timestamp: bigint;
}

/** The database, within a transaction. */
export type Sql = Pick<SqlTransaction, "query">;

/**
 * Insert a row.
 *
 * @param sql the database
 * @param table the table
 * @param row the row, by column; columns that are `undefined` stay NULL
 */
export async function insertRow(sql: Sql, table: string, row: Readonly<Record<string, unknown>>): Promise<void> {
  const given = Object.entries(row).filter(([, value]) => value !== undefined);
  await sql.query(
    `INSERT INTO ${table} (${given.map(([name]) => name).join(", ")})
     VALUES (${given.map((_, index) => `$${index + 1}`).join(", ")})`,
    given.map(([, value]) => (typeof value === "boolean" || value instanceof Uint8Array ? value : String(value))),
  );
}
