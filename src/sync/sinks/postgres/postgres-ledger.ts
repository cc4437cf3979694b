import type { PoolClient } from "pg";
import { Code } from "../../../base/errors/code.js";
import { quoted } from "../../../base/errors/error-text.js";
import { RequestError, SinkError } from "../../../base/errors/index.js";
import { isTableName, type TableName } from "../../../data/schema/table-names.js";
import type { Sink } from "../../sink.js";

/** The version of the ledger's format. */
const FORMAT = 1;
const OLDEST_SERVER = 140_000;

/** Returns the statements that create the ledger of a chain. Identifiers are compared byte by byte. */
export const ledgerSql = (prefix: string) => [
  `CREATE TABLE ${prefix}tradewire_sync (
  only_one bool PRIMARY KEY DEFAULT true CHECK (only_one),
  format int4 NOT NULL,
  chain_id text NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now()
)`,
  `CREATE TABLE ${prefix}tradewire_ledger (
  chain_id text NOT NULL,
  table_name text COLLATE "C" NOT NULL,
  from_block int8 NOT NULL,
  to_block int8 NOT NULL CHECK (to_block >= from_block),
  segment_id text COLLATE "C" NOT NULL,
  previous_segment_id text COLLATE "C" NOT NULL,
  schema_version int8 NOT NULL,
  rows int8 NOT NULL,
  bytes int8 NOT NULL,
  sha256 bytea NOT NULL,
  loaded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (table_name, from_block) INCLUDE (to_block)
)`,
  askedSql(prefix),
  marksSql(prefix),
];

/** Returns the statement that creates the list of the tables that syncs were asked for, which older ledgers lack. */
export function askedSql(prefix: string): string {
  return `CREATE TABLE ${prefix}tradewire_tables (
  table_name text COLLATE "C" PRIMARY KEY,
  from_block int8 NOT NULL
)`;
}

/** Returns the statement that creates the list of the marks of the history, which older ledgers lack. */
export function marksSql(prefix: string): string {
  return `CREATE TABLE ${prefix}tradewire_history (
  to_block int8 PRIMARY KEY,
  segment_id text COLLATE "C" NOT NULL
)`;
}

/** Changes the marks of the history while no other sync does so. */
export async function changeMarks(
  client: PoolClient,
  within: string,
  next: Parameters<NonNullable<Sink["markHistory"]>>[0],
): Promise<void> {
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`tradewire history ${within}`]);
  const { rows } = await client.query<{ to_block: string; segment_id: string }>(
    `SELECT to_block::text, segment_id FROM ${within}.tradewire_history ORDER BY to_block`,
  );
  const marks = next(rows.map((row) => ({ toBlock: BigInt(row.to_block), segmentId: row.segment_id })));
  if (marks !== undefined) {
    await client.query(`DELETE FROM ${within}.tradewire_history`);
    await client.query(`INSERT INTO ${within}.tradewire_history SELECT * FROM unnest($1::int8[], $2::text[])`, [
      marks.map(({ toBlock }) => String(toBlock)),
      marks.map(({ segmentId }) => segmentId),
    ]);
  }
}

export async function rememberAsked(
  client: PoolClient,
  within: string,
  tables: readonly TableName[],
  fromBlock: bigint,
): Promise<void> {
  await client.query(
    `INSERT INTO ${within}.tradewire_tables AS t SELECT name, $2::int8 FROM unnest($1::text[]) AS name
     ON CONFLICT (table_name) DO UPDATE SET from_block = excluded.from_block WHERE excluded.from_block < t.from_block`,
    [[...tables].sort(), String(fromBlock)],
  );
}

export async function readAsked(client: PoolClient, within: string): Promise<Map<TableName, bigint>> {
  const there = await client.query("SELECT WHERE to_regclass($1) IS NOT NULL", [`${within}.tradewire_tables`]);
  if (there.rowCount === 0) {
    return new Map();
  }
  const { rows } = await client.query<{ table_name: string; from_block: string }>(
    `SELECT table_name, from_block::text FROM ${within}.tradewire_tables`,
  );
  return new Map(
    rows.flatMap(({ table_name: table, from_block }) => (isTableName(table) ? [[table, BigInt(from_block)]] : [])),
  );
}

/** The columns of a row of the ledger, from a table that the query names `e`. */
export const ENTRY = `e.chain_id, e.table_name, e.from_block::text, e.to_block::text, e.segment_id,
  e.previous_segment_id, e.schema_version::text, e.rows::text, e.bytes::text, encode(e.sha256, 'hex') AS sha256,
  to_char(e.loaded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS loaded_at`;

/**
 * Asserts that a server is supported.
 *
 * @throws {@link SinkError} if it is older than PostgreSQL 14, or its database is not encoded in UTF-8
 */
export async function assertSupported(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ version: number; name: string; encoding: string }>(
    "SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS name, current_setting('server_encoding') AS encoding",
  );
  const [server] = rows;
  if (server === undefined || server.version < OLDEST_SERVER) {
    throw new SinkError(`PostgreSQL ${server?.name ?? "of an unknown version"} is not supported`, {
      code: Code.FailedPrecondition,
      advice: "Use PostgreSQL 14 or later.",
    });
  }
  if (server.encoding !== "UTF8") {
    throw new SinkError(`the encoding of the database must be UTF8 (got ${server.encoding})`, {
      code: Code.FailedPrecondition,
      advice: "Create another database: CREATE DATABASE history ENCODING 'UTF8' TEMPLATE template0.",
    });
  }
}

/**
 * Reads the chain of the schema.
 *
 * @throws {@link SinkError} if a newer release created the ledger
 */
export async function readChain(client: PoolClient, within: string): Promise<string | undefined> {
  const { rows } = await client.query<{ format: number; chain_id: string }>(
    `SELECT format, chain_id FROM ${within}.tradewire_sync`,
  );
  const [sync] = rows;
  if (sync !== undefined && sync.format > FORMAT) {
    throw new SinkError(`the ledger has the format ${sync.format}, and this release supports ${FORMAT}`, {
      code: Code.FailedPrecondition,
      advice: "Install the release that created it, or a later one.",
    });
  }
  return sync?.chain_id;
}

/**
 * Sets the chain of the schema, if it has none yet.
 *
 * @throws {@link RequestError} if it holds another chain
 */
export async function claimChain(client: PoolClient, within: string, chainId: string): Promise<void> {
  const held = await readChain(client, within);
  if (held === undefined) {
    await client.query(`INSERT INTO ${within}.tradewire_sync (format, chain_id) VALUES ($1, $2)`, [FORMAT, chainId]);
  } else if (held !== chainId) {
    throw new RequestError(`the schema has chain ${quoted(held)}, not ${quoted(chainId)}`, {
      errorCode: "TW_CHAIN_MISMATCH",
      advice: "Use another schema: each can have only one chain.",
    });
  }
}

/**
 * Returns a text that identifies the ledger. It contains the server's start time, which differs for a server that was restored
 * or replaced, and the ledger's oid and file, which differ if the ledger was restored on the same server.
 */
export async function readIdentity(client: PoolClient, within: string): Promise<string> {
  const { rows } = await client.query<{ identity: string }>(
    `SELECT concat_ws(' ', pg_postmaster_start_time(), d.oid, c.oid, c.relfilenode) AS identity
     FROM pg_class c, pg_database d WHERE c.oid = $1::regclass AND d.datname = current_database()`,
    [`${within}.tradewire_ledger`],
  );
  return rows[0]?.identity ?? "";
}
