import type { DuckDBConnection, DuckDBValue } from "@duckdb/node-api";
import { Code } from "../../../base/errors/code.js";
import { quoted } from "../../../base/errors/error-text.js";
import { RequestError, SinkError } from "../../../base/errors/index.js";
import type { TableName } from "../../../data/schema/table-names.js";
import type { Sink, SinkOpening } from "../../sink.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import { entryOf, tableOf } from "../ledger-entry.js";

/** The version of the ledger's format. */
const LEDGER_FORMAT = 2;

/** The number of entries in a page. */
const PAGE = 10_000;

const LEDGER = `CREATE TABLE IF NOT EXISTS tradewire_ledger (
  chain_id VARCHAR NOT NULL,
  table_name VARCHAR NOT NULL,
  from_block BIGINT NOT NULL,
  to_block BIGINT NOT NULL,
  segment_id VARCHAR NOT NULL,
  previous_segment_id VARCHAR NOT NULL,
  schema_version BIGINT NOT NULL,
  rows BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  sha256 VARCHAR NOT NULL,
  loaded_at TIMESTAMPTZ NOT NULL
)`;
const SYNC = "CREATE TABLE IF NOT EXISTS tradewire_sync (format INTEGER NOT NULL, chain_id VARCHAR NOT NULL)";

const ASKED = "CREATE TABLE IF NOT EXISTS tradewire_tables (table_name VARCHAR NOT NULL, from_block BIGINT NOT NULL)";

const MARKS = "CREATE TABLE IF NOT EXISTS tradewire_history (to_block BIGINT NOT NULL, segment_id VARCHAR NOT NULL)";

const COLUMNS =
  "chain_id, table_name, from_block, to_block, segment_id, previous_segment_id, schema_version, rows, bytes, sha256, loaded_at";

/**
 * Creates the ledger if it does not exist.
 *
 * @throws {@link RequestError} if it holds another chain; {@link SinkError} if the ledger has an unsupported format
 */
export async function createLedger(
  connection: DuckDBConnection,
  name: string,
  { chainId, tables, fromBlock }: Pick<SinkOpening, "chainId" | "tables" | "fromBlock">,
): Promise<void> {
  await connection.run(SYNC);
  await connection.run(LEDGER);
  await connection.run(ASKED);
  await connection.run(MARKS);
  const held = await readLedgerChain(connection, name);
  if (held === undefined) {
    await connection.run("INSERT INTO tradewire_sync VALUES ($1, $2)", [LEDGER_FORMAT, chainId]);
  } else if (held !== chainId) {
    throw otherChainError(name, held, chainId);
  }
  if (fromBlock !== undefined) {
    const asked = await readAsked(connection);
    for (const table of tables.filter((each) => fromBlock < (asked.get(each) ?? fromBlock + 1n))) {
      await connection.run("DELETE FROM tradewire_tables WHERE table_name = $1", [table]);
      await connection.run("INSERT INTO tradewire_tables VALUES ($1, $2)", [table, fromBlock]);
    }
  }
}

export async function readAsked(connection: DuckDBConnection): Promise<Map<TableName, bigint>> {
  if (!(await hasTable(connection, "tradewire_tables"))) {
    return new Map();
  }
  const rows = (await connection.runAndReadAll("SELECT table_name, from_block FROM tradewire_tables")).getRows();
  return new Map(rows.map(([table, fromBlock]) => [tableOf(table), BigInt(String(fromBlock))]));
}

export async function changeMarks(
  connection: DuckDBConnection,
  next: Parameters<NonNullable<Sink["markHistory"]>>[0],
): Promise<void> {
  const rows = (await connection.runAndReadAll("SELECT to_block, segment_id FROM tradewire_history")).getRows();
  const marks = next(rows.map(([toBlock, id]) => ({ toBlock: BigInt(String(toBlock)), segmentId: String(id) })));
  if (marks !== undefined) {
    await connection.run("DELETE FROM tradewire_history");
    for (const { toBlock, segmentId } of marks) {
      await connection.run("INSERT INTO tradewire_history VALUES ($1, $2)", [toBlock, segmentId]);
    }
  }
}

async function hasTable(connection: DuckDBConnection, table: string): Promise<boolean> {
  const tables = await connection.runAndReadAll(
    "SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main' AND table_name = $1",
    [table],
  );
  return tables.currentRowCount > 0;
}

export function otherChainError(name: string, held: string, chainId: string): RequestError {
  return new RequestError(`${name} has chain ${quoted(held)}, not ${quoted(chainId)}`, {
    errorCode: "TW_CHAIN_MISMATCH",
    advice: "Use another sink for this chain: a sink can have only one chain. Nothing was changed.",
  });
}

/**
 * Reads the chain of a database.
 *
 * @throws {@link SinkError} if the ledger has an unsupported format
 */
export async function readLedgerChain(connection: DuckDBConnection, name: string): Promise<string | undefined> {
  if (!(await hasTable(connection, "tradewire_sync"))) {
    return undefined;
  }
  const [found] = (await connection.runAndReadAll("SELECT format, chain_id FROM tradewire_sync")).getRows();
  if (found === undefined) {
    return undefined;
  }
  assertFormat(name, Number(found[0]));
  return String(found[1]);
}

/**
 * Asserts that this release supports the format of a ledger.
 *
 * @throws {@link SinkError} if it does not
 */
function assertFormat(name: string, format: number): void {
  if (format !== LEDGER_FORMAT) {
    throw new SinkError(`the ledger of ${name} has the format ${format}, and this release supports ${LEDGER_FORMAT}`, {
      code: Code.FailedPrecondition,
      advice:
        format < LEDGER_FORMAT
          ? "Its columns have other types: sync into a new file. Nothing was changed."
          : "Install the release that created it, or a newer one. Nothing was changed.",
    });
  }
}

/**
 * Reads the entries of a table, ordered by blocks. Each page is a separate query, so that no transaction stays open while the
 * caller uses them.
 */
export async function* readEntries(
  read: <T>(use: (connection: DuckDBConnection) => Promise<T>) => Promise<T>,
  table: TableName,
  behind = -1n,
): AsyncGenerator<LedgerEntry> {
  for (let after = behind; ; ) {
    const page = await read((connection) =>
      select(connection, "table_name = $1 AND from_block > $2 ORDER BY from_block LIMIT $3", [table, after, PAGE]),
    );
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) {
      return;
    }
    after = last.fromBlock;
  }
}

export function overlappingEntries(
  connection: DuckDBConnection,
  { table, fromBlock, toBlock }: Unit,
): Promise<LedgerEntry[]> {
  const where = "table_name = $1 AND from_block <= $2 AND to_block >= $3 ORDER BY from_block";
  return select(connection, where, [table, toBlock, fromBlock]);
}

export async function insertEntry(connection: DuckDBConnection, entry: LedgerEntry): Promise<void> {
  const { chainId, table, fromBlock, toBlock, segmentId, previousSegmentId, schemaVersion } = entry;
  const unit = [chainId, table, fromBlock, toBlock, segmentId, previousSegmentId, schemaVersion];
  await connection.run(
    `INSERT INTO tradewire_ledger (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, CAST($11 AS TIMESTAMPTZ))`,
    [...unit, entry.rows, entry.bytes, entry.sha256, entry.loadedAt],
  );
}

export async function removeUnit(connection: DuckDBConnection, entry: LedgerEntry): Promise<void> {
  const { table, fromBlock, toBlock, segmentId } = entry;
  const removed = await connection.run(
    "DELETE FROM tradewire_ledger WHERE table_name = $1 AND from_block = $2 AND to_block = $3 AND segment_id = $4",
    [table, fromBlock, toBlock, segmentId],
  );
  if (removed.rowsChanged > 0) {
    await connection.run(`DELETE FROM ${table} WHERE _from_block = $1`, [fromBlock]);
  }
}

/** Deletes the rows of a unit's blocks that are not in the ledger, which another program must have changed. */
export async function removeOrphanRows(
  connection: DuckDBConnection,
  { table, fromBlock, toBlock }: Unit,
): Promise<void> {
  await connection.run(`DELETE FROM ${table} WHERE _from_block BETWEEN $1 AND $2`, [fromBlock, toBlock]);
}

async function select(connection: DuckDBConnection, where: string, values: DuckDBValue[]): Promise<LedgerEntry[]> {
  const query = `SELECT ${COLUMNS.replace("loaded_at", "epoch_ms(loaded_at) AS loaded_at")} FROM tradewire_ledger WHERE ${where}`;
  const result = await connection.runAndReadAll(query, values);
  return result
    .getRowObjects()
    .map((row) => entryOf({ ...row, loaded_at: new Date(Number(row["loaded_at"])).toISOString() }));
}
