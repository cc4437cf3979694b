import { Code } from "@connectrpc/connect";
import type { PoolClient } from "pg";
import { SinkError } from "../../../errors/index.js";
import type { FetchUnit, LoadResult } from "../../sink.js";
import type { Unit } from "../../unit.js";
import { FROM_BLOCK } from "../columns.js";
import type { Connections } from "./connections.js";
import { asked, copyCsv } from "./copy.js";
import { holdUnit } from "./hold.js";
import { ENTRY, entryOf, type LedgerRow } from "./ledger.js";
import { FROM_BLOCK_SETTING } from "./tables.js";
import { patientlySql } from "./transaction-settings.js";

/** How a unit is loaded. */
export interface Loading {
  readonly copyFrom: Connections["copyFrom"];
  /** The schema's number: the locks of several schemas are apart. */
  readonly schema: string;
  /** The schema, as SQL writes it. */
  readonly within: string;
  readonly replace: boolean;
  /** Finds the table's columns for those of the CSV file, and makes those that are missing. */
  readonly columns: (names: readonly string[]) => Promise<readonly string[]>;
}

/**
 * Load a unit in a transaction that is then committed.
 *
 * The unit is held by locks, so that another sync neither fetches it nor waits. Just before the end a lock of the table,
 * held by one at a time until its commit, makes the last look into the ledger certain.
 *
 * @param client in a transaction
 * @param unit the unit
 * @param fetch asks the node for it
 * @param loading how
 * @returns what became of it
 * @throws {@link SinkError} where the rows are not those that were sent; errors of `fetch` unchanged
 */
export async function loadUnit(
  client: PoolClient,
  unit: Unit,
  fetch: FetchUnit,
  { copyFrom, schema, within, replace, columns }: Loading,
): Promise<LoadResult> {
  const { table, fromBlock, toBlock } = unit;
  if (!(await holdUnit(client, schema, unit))) {
    return { outcome: "busy" };
  }
  if (await isThere(client, within, unit, replace)) {
    return { outcome: "there" };
  }

  await client.query(patientlySql(true));
  const csv = await asked(fetch);
  const targets = await columns(csv.columns);
  if (replace) {
    await removeOverlapping(client, within, unit);
  }
  await client.query("SELECT set_config($1, $2, true)", [FROM_BLOCK_SETTING, String(fromBlock)]);
  const counted = await copyCsv(client, copyFrom, `${within}.${table}`, targets, csv.content);
  const { rows, bytes, sha256 } = csv.measures();
  if (counted !== rows) {
    throw new SinkError(`PostgreSQL read ${counted} rows of ${table} from block ${fromBlock}, and ${rows} were sent`, {
      code: Code.DataLoss,
      advice: "Nothing of them was kept. Tell who maintains this release: both read the same CSV file.",
    });
  }

  await client.query(patientlySql(false));
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`tradewire ledger ${schema} ${table}`]);
  const inserted = await client.query<LedgerRow>(
    `INSERT INTO ${within}.tradewire_ledger AS e (chain_id, table_name, from_block, to_block, segment_id, previous_segment_id,
       schema_version, rows, bytes, sha256)
     SELECT $1, $2::text, $3::int8, $4::int8, $5, $6, $7::int8, $8::int8, $9::int8, decode($10, 'hex')
     WHERE NOT EXISTS (SELECT FROM (${lastBegun(within, "$2", "$4")}) AS before WHERE before.to_block >= $3::int8) RETURNING ${ENTRY}`,
    [
      unit.chainId,
      table,
      String(fromBlock),
      String(toBlock),
      unit.segmentId,
      unit.previousSegmentId,
      String(unit.schemaVersion),
      String(rows),
      String(bytes),
      sha256,
    ],
  );
  const [entry] = inserted.rows;
  if (entry === undefined) {
    throw new SinkError(`another sync has loaded blocks of ${table} from ${fromBlock} to ${toBlock} meanwhile`, {
      code: Code.Aborted,
      advice: "Try again: the ledger tells then what is there.",
    });
  }
  return { outcome: "loaded", entry: entryOf(entry) };
}

/**
 * The last unit that begins no later than the unit's end. Units of a table do not overlap, so that it is the only one
 * that has to be looked at to find out whether any does.
 */
const lastBegun = (
  within: string,
  table: string,
  toBlock: string,
) => `SELECT l.to_block, l.segment_id FROM ${within}.tradewire_ledger AS l
  WHERE l.table_name = ${table} AND l.from_block <= ${toBlock}::int8 ORDER BY l.from_block DESC LIMIT 1`;

/**
 * Look into the ledger for a unit, or for one that overlaps it. Where units are replaced, only one that ends with the
 * same segment counts: their history is then the same.
 *
 * @param client in a transaction
 * @param within the schema
 * @param unit the unit
 * @param replace whether others are replaced
 * @returns whether it is there
 */
export async function isThere(client: PoolClient, within: string, unit: Unit, replace: boolean): Promise<boolean> {
  const { rows } = await client.query<{ to_block: string; segment_id: string }>(
    `SELECT to_block::text, segment_id FROM (${lastBegun(within, "$1", "$2")}) AS before WHERE before.to_block >= $3::int8`,
    [unit.table, String(unit.toBlock), String(unit.fromBlock)],
  );
  const [last] = rows;
  return (
    last !== undefined && (!replace || (BigInt(last.to_block) === unit.toBlock && last.segment_id === unit.segmentId))
  );
}

async function removeOverlapping(
  client: PoolClient,
  within: string,
  { table, fromBlock, toBlock }: Unit,
): Promise<void> {
  const { rows } = await client.query<{ from_block: string }>(
    `DELETE FROM ${within}.tradewire_ledger WHERE table_name = $1 AND to_block >= $2 AND from_block <= $3 AND from_block >=
       coalesce((SELECT max(from_block) FROM ${within}.tradewire_ledger WHERE table_name = $1 AND from_block <= $2), $2)
     RETURNING from_block::text`,
    [table, String(fromBlock), String(toBlock)],
  );
  const removed = rows.map(({ from_block }) => from_block);
  if (removed.length > 0) {
    await client.query(`DELETE FROM ${within}.${table} WHERE ${FROM_BLOCK} = ANY ($1::int8[])`, [removed]);
  }
}
