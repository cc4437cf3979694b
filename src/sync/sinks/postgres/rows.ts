import { Code } from "@connectrpc/connect";
import type { PoolClient } from "pg";
import { SinkError } from "../../../errors/index.js";
import type { FetchUnit } from "../../sink.js";
import type { LedgerEntry } from "../../unit.js";
import { FROM_BLOCK, identifier, type SinkColumn, targetOf } from "../columns.js";
import type { Connections } from "./connections.js";
import { asked, copyCsv } from "./copy.js";
import { patientlySql } from "./transaction-settings.js";

/**
 * Count the rows that came with a unit.
 *
 * @param client in a transaction
 * @param within the schema
 * @param entry the unit
 * @returns how many there are
 */
export async function countRows(
  client: PoolClient,
  within: string,
  { table, fromBlock }: LedgerEntry,
): Promise<bigint> {
  const sql = `SELECT count(*)::text FROM ${within}.${table} WHERE ${FROM_BLOCK} = $1`;
  const { rows } = await client.query<{ count: string }>(sql, [String(fromBlock)]);
  return BigInt(rows[0]?.count ?? 0);
}

/**
 * Remove a unit that the ledger has: its entry and its rows.
 *
 * @param client in a transaction
 * @param within the schema
 * @param entry the unit
 */
export async function removeUnit(client: PoolClient, within: string, entry: LedgerEntry): Promise<void> {
  const { table, fromBlock, toBlock, segmentId } = entry;
  const { rowCount } = await client.query(
    `DELETE FROM ${within}.tradewire_ledger WHERE table_name = $1 AND from_block = $2 AND to_block = $3 AND segment_id = $4`,
    [table, String(fromBlock), String(toBlock), segmentId],
  );
  if (rowCount === 1) {
    await client.query(`DELETE FROM ${within}.${table} WHERE ${FROM_BLOCK} = $1`, [String(fromBlock)]);
  }
}

/**
 * Compare the rows that came with a unit with those of a CSV file, in a table that ends with the transaction. Enum values
 * are compared as texts: those of the file may be new.
 *
 * @param client in a transaction
 * @param within the schema
 * @param copyFrom of `pg-copy-streams`
 * @param entry the unit
 * @param fetch asks the node for it; its errors are thrown unchanged
 * @returns how many rows of the file the table lacks, and how many it has beyond
 */
export async function compareRows(
  client: PoolClient,
  within: string,
  copyFrom: Connections["copyFrom"],
  { table, fromBlock }: LedgerEntry,
  fetch: FetchUnit,
): Promise<{ readonly missing: bigint; readonly extra: bigint }> {
  await client.query(patientlySql(true));
  const csv = await asked(fetch);
  const there = await client.query<{ name: string }>(
    "SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped",
    [`${within}.${table}`],
  );
  const existing = new Set(there.rows.map(({ name }) => name));
  const columns = csv.columns.map((name) => ({ name, column: targetOf(table, name) }));
  const names = columns.map(({ name, column }) => column?.name ?? name);
  const held = columns.map(({ name, column }) => heldValue(column?.name ?? name, column, existing)).join(", ");
  await client.query(
    `CREATE TEMP TABLE pg_temp.tradewire_fresh ON COMMIT DROP AS SELECT ${held} FROM ${within}.${table} WITH NO DATA`,
  );
  const counted = await copyCsv(client, copyFrom, "pg_temp.tradewire_fresh", names, csv.content);
  const { rows } = csv.measures();
  if (counted !== rows) {
    throw new SinkError(`PostgreSQL read ${counted} rows of ${table} from block ${fromBlock}, and ${rows} were sent`, {
      code: Code.DataLoss,
      advice: "Tell who maintains this release: both read the same CSV file.",
    });
  }
  const ours = `SELECT ${held} FROM ${within}.${table} WHERE ${FROM_BLOCK} = $1`;
  const theirs = `SELECT ${names.map(identifier).join(", ")} FROM pg_temp.tradewire_fresh`;
  const compared = await client.query<{ missing: string; extra: string }>(
    `SELECT (SELECT count(*) FROM (${theirs} EXCEPT ALL ${ours}) AS m)::text AS missing,
            (SELECT count(*) FROM (${ours} EXCEPT ALL ${theirs}) AS x)::text AS extra`,
    [String(fromBlock)],
  );
  const [result] = compared.rows;
  return { missing: BigInt(result?.missing ?? 0), extra: BigInt(result?.extra ?? 0) };
}

/** What a table holds for a column of the file: an enum's value as text, and nothing for a column that it lacks. */
function heldValue(name: string, column: SinkColumn | undefined, existing: ReadonlySet<string>): string {
  const quoted = identifier(name);
  if (!existing.has(name)) {
    return `NULL::text AS ${quoted}`;
  }
  return column?.values === undefined ? quoted : `${quoted}::text AS ${quoted}`;
}
