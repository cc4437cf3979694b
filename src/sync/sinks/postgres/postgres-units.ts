import { createHash } from "node:crypto";
import type { PoolClient } from "pg";
import { Code } from "../../../base/errors/code.js";
import { SinkError } from "../../../base/errors/index.js";
import type { FetchUnit, LoadResult, UnitCsv } from "../../sink.js";
import { FROM_BLOCK, identifier, type SinkColumn, targetOf } from "../../sink-columns.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import { entryOf, type LedgerRow } from "../ledger-entry.js";
import { columnsOf } from "./postgres-catalog.js";
import { type Connections, idleTimeoutSql, type Packages } from "./postgres-connections.js";
import { FetchError } from "./postgres-errors.js";
import { ENTRY } from "./postgres-ledger.js";
import { FROM_BLOCK_SETTING } from "./postgres-tables.js";

/** How a unit is loaded. */
export interface LoadContext {
  readonly copyFrom: Connections["copyFrom"];
  /** The schema's oid: locks of different schemas are separate. */
  readonly schema: string;
  /** The schema, quoted for SQL. */
  readonly within: string;
  readonly replace: boolean;
  /** Returns the table's columns for those of the CSV file, and adds missing ones. */
  readonly columns: (names: readonly string[]) => Promise<readonly string[]>;
}

/**
 * Loads a unit in a transaction, which is committed afterwards.
 *
 * Locks claim the unit, so that other syncs neither fetch it nor wait. Just before the end, a lock of the table, which one
 * transaction at a time holds until its commit, makes the final check of the ledger reliable.
 *
 * @throws {@link SinkError} if the number of rows differs from what was sent; errors of `fetch` unchanged
 */
export async function loadUnit(
  client: PoolClient,
  unit: Unit,
  fetch: FetchUnit,
  { copyFrom, schema, within, replace, columns }: LoadContext,
): Promise<LoadResult> {
  const { table, fromBlock, toBlock } = unit;
  if (!(await lockUnit(client, schema, unit))) {
    return { outcome: "busy" };
  }
  if (await hasUnit(client, within, unit, replace)) {
    return { outcome: "there" };
  }

  await client.query(idleTimeoutSql(true));
  const csv = await fetchCsv(fetch);
  const targets = await columns(csv.columns);
  if (replace) {
    await removeOverlapping(client, within, unit);
  }
  await client.query("SELECT set_config($1, $2, true)", [FROM_BLOCK_SETTING, String(fromBlock)]);
  const counted = await copyCsv(client, copyFrom, `${within}.${table}`, targets, csv.content);
  const { rows, bytes, sha256 } = csv.measures();
  if (counted !== rows) {
    throw new SinkError(`PostgreSQL read ${counted} rows of ${table} from block ${fromBlock}, but ${rows} were sent`, {
      code: Code.DataLoss,
      advice:
        "The rows were not stored. Report this to the developers of tradewire: both counts are of the same CSV file.",
    });
  }

  await client.query(idleTimeoutSql(false));
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
    throw new SinkError(`another sync loaded blocks of ${table} from ${fromBlock} to ${toBlock} in the meantime`, {
      code: Code.Aborted,
      advice: "Retry: the ledger then contains the other unit.",
    });
  }
  return { outcome: "loaded", entry: entryOf(entry) };
}

/**
 * Selects the last unit that begins no later than the unit's end. Units of a table do not overlap, so that no other one
 * can overlap the unit.
 */
const lastBegun = (
  within: string,
  table: string,
  toBlock: string,
) => `SELECT l.to_block, l.segment_id FROM ${within}.tradewire_ledger AS l
  WHERE l.table_name = ${table} AND l.from_block <= ${toBlock}::int8 ORDER BY l.from_block DESC LIMIT 1`;

/**
 * Returns whether the ledger has a unit, or one that overlaps it. If units are replaced, only one that ends with the
 * same segment counts, because its history is then the same.
 */
export async function hasUnit(client: PoolClient, within: string, unit: Unit, replace: boolean): Promise<boolean> {
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

/**
 * The key of a lock has 16 bits of the table, one that distinguishes the last block from the first, and 47 of the
 * block.
 */
const BLOCK_BITS = 47n;

/** Selects units that others load, by their locks, of table `$1` and with blocks from `$2` to `$3`. */
const OTHERS = `
  WITH held AS (
    SELECT pid, (classid::int8 >> 15) & 1 AS is_last, ((classid::int8 & 32767) << 32) | objid::int8 AS block
    FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pid <> pg_backend_pid() AND classid::int8 >> 16 = $1
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  )
  SELECT pid FROM held GROUP BY pid
  HAVING min(block) FILTER (WHERE is_last = 0) <= $3 AND max(block) FILTER (WHERE is_last = 1) >= $2`;

/**
 * Claims a unit until the transaction ends, so that no other sync loads it. The keys of the locks contain the unit's blocks, so
 * that others see which blocks are being loaded, even if their units have other ends. Two syncs that claim overlapping
 * units with different ends at the same moment may both find the other; both then retry later.
 */
async function lockUnit(client: PoolClient, schema: string, { table, fromBlock, toBlock }: Unit): Promise<boolean> {
  const hash = createHash("sha256").update(`tradewire ${schema} ${table}`).digest().readUInt16BE();
  const keys = [fromBlock, (1n << BLOCK_BITS) | toBlock].map((end) =>
    String(BigInt.asIntN(64, (BigInt(hash) << (BLOCK_BITS + 1n)) | end)),
  );
  const { rows } = await client.query<{ held: boolean }>(
    "SELECT pg_try_advisory_xact_lock($1::int8) AND pg_try_advisory_xact_lock($2::int8) AS held",
    keys,
  );
  if (rows[0]?.held !== true) {
    return false;
  }
  const others = await client.query(OTHERS, [hash, String(fromBlock), String(toBlock)]);
  return others.rowCount === 0;
}

export async function countRows(
  client: PoolClient,
  within: string,
  { table, fromBlock }: LedgerEntry,
): Promise<bigint> {
  const sql = `SELECT count(*)::text FROM ${within}.${table} WHERE ${FROM_BLOCK} = $1`;
  const { rows } = await client.query<{ count: string }>(sql, [String(fromBlock)]);
  return BigInt(rows[0]?.count ?? 0);
}

/** Removes a unit: its entry and its rows. */
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
 * Compares the rows of a unit with those of a CSV file, in a temporary table. Enum values are compared as text, because
 * those of the file may be new.
 */
export async function compareRows(
  client: PoolClient,
  within: string,
  copyFrom: Connections["copyFrom"],
  { table, fromBlock }: LedgerEntry,
  fetch: FetchUnit,
): Promise<{ readonly missing: bigint; readonly extra: bigint }> {
  await client.query(idleTimeoutSql(true));
  const csv = await fetchCsv(fetch);
  const existing = await columnsOf(client, within, table);
  const columns = csv.columns.map((name) => ({ name, column: targetOf(table, name) }));
  const names = columns.map(({ name, column }) => column?.name ?? name);
  const held = columns.map(({ name, column }) => heldValue(column?.name ?? name, column, existing)).join(", ");
  await client.query(
    `CREATE TEMP TABLE pg_temp.tradewire_fresh ON COMMIT DROP AS SELECT ${held} FROM ${within}.${table} WITH NO DATA`,
  );
  const counted = await copyCsv(client, copyFrom, "pg_temp.tradewire_fresh", names, csv.content);
  const { rows } = csv.measures();
  if (counted !== rows) {
    throw new SinkError(`PostgreSQL read ${counted} rows of ${table} from block ${fromBlock}, but ${rows} were sent`, {
      code: Code.DataLoss,
      advice: "Report this to the developers of tradewire: both counts are of the same CSV file.",
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

/**
 * Returns the expression of a table's value for a column of the file: an enum's value as text, and NULL for a column
 * that the table lacks.
 */
function heldValue(name: string, column: SinkColumn | undefined, existing: ReadonlySet<string>): string {
  const quoted = identifier(name);
  if (!existing.has(name)) {
    return `NULL::text AS ${quoted}`;
  }
  return column?.values === undefined ? quoted : `${quoted}::text AS ${quoted}`;
}

/** Maximum number of bytes of CSV that wait for the connection. */
const COPY_BUFFER = 1024 * 1024;

/** The error that ended the copy: of the database, or of the content. */
interface Broken {
  readonly reason: unknown;
}

/**
 * Fetches a unit.
 *
 * @throws {@link FetchError} with the error of `fetch`
 */
async function fetchCsv(fetch: FetchUnit): Promise<UnitCsv> {
  try {
    return await fetch();
  } catch (reason) {
    throw new FetchError(reason);
  }
}

/**
 * Copies a CSV file, with its header row, into a table. The server parses the file's own bytes.
 *
 * @throws {@link FetchError} with the error of the content; errors of PostgreSQL as `pg` throws them
 */
export async function copyCsv(
  client: PoolClient,
  copyFrom: Packages["copyFrom"],
  table: string,
  columns: readonly string[],
  content: AsyncIterable<Uint8Array>,
): Promise<bigint> {
  const list = columns.map(identifier).join(", ");
  const sql = `COPY ${table} (${list}) FROM STDIN (FORMAT csv, HEADER true, ENCODING 'UTF8')`;
  const stream = client.query(copyFrom(sql, { highWaterMark: COPY_BUFFER }));
  let failed: Broken | undefined;
  let wake: () => void = () => undefined;
  const when = (event: "drain" | "finish") =>
    new Promise<void>((resolve, reject) => {
      wake = () => (failed === undefined ? undefined : reject(failed.reason));
      stream.once(event, resolve);
      wake();
    });
  stream.on("error", (reason) => {
    failed ??= { reason };
    wake();
  });

  const chunks = content[Symbol.asyncIterator]();
  // A lost server is noticed while the node is awaited.
  const next = () =>
    new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
      wake = () => (failed === undefined ? undefined : reject(failed.reason));
      wake();
      chunks.next().then(resolve, (reason: unknown) => {
        failed ??= { reason: new FetchError(reason) };
        reject(failed.reason);
      });
    });
  try {
    for (let step = await next(); step.done !== true; step = await next()) {
      if (!stream.write(step.value)) {
        await when("drain");
      }
    }
    const finished = when("finish");
    stream.end();
    await finished;
  } catch (reason) {
    stream.destroy(new Error("the unit did not arrive completely")); // It sends CopyFail.
    chunks.return?.().catch(() => undefined);
    throw reason;
  }
  return BigInt(stream.rowCount);
}
