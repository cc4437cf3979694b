import { PGlite } from "@electric-sql/pglite";
import { isChainId } from "../errors/chain-id.js";
import { CanceledError, RequestError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { type TableName, tableNames } from "../schema/tables.js";
import { columnParsers } from "./data/row.js";
import { stateSchema } from "./data/state.js";
import { listingSchema } from "./data/tables.js";
import { tables } from "./tables/index.js";
import { createView } from "./tables/rows.js";

/** Options of {@link openDatabase}. */
export interface DatabaseOptions {
  /** Identifier of the chain. It becomes part of file names. */
  readonly chainId: string;
  /** Number of history segments; at least 1. */
  readonly segments: number;
  /** Number of blocks in each segment; at least 1. The first block is 1. */
  readonly blocksPerSegment: number;
  /** Cancels the start. */
  readonly signal?: AbortSignal | undefined;
}

/** A history segment: blocks that are exported together, all of one version of the database schema. */
export interface Segment {
  readonly fromHeight: bigint;
  /** Last block, inclusive. */
  readonly toHeight: bigint;
  /** 64 hex digits. */
  readonly id: string;
  /** Identifier of the segment before this one; empty for the first. */
  readonly previousId: string;
  readonly databaseVersion: bigint;
  readonly chainId: string;
}

/** The rows that {@link Database.copyTable} writes as CSV. */
export interface CopyOptions {
  readonly table: TableName;
  readonly fromBlock: bigint;
  /** Last block, inclusive. */
  readonly toBlock: bigint;
  /** Only the columns of this version of the database schema are written. */
  readonly databaseVersion: bigint;
  /** Whether the first row names the columns. */
  readonly header: boolean;
}

/** The database of the local node. */
export interface Database {
  readonly chainId: string;
  /** The PostgreSQL connection, for other data of the node. It runs one query at a time. */
  readonly pg: PGlite;
  /** List all history segments, in the order of their heights. */
  listSegments(): Promise<Segment[]>;
  /** Write rows as CSV (specification, 4.1), in the order of their blocks and then of their index in the block. */
  copyTable(options: CopyOptions): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** The first segment with version 2 of the database schema. Earlier segments have version 1. */
const firstSegmentOfVersion2 = 4;

/**
 * Start an embedded PostgreSQL in memory and fill it with a made-up history, which is the same on every start.
 *
 * @param options the chain, the size of the history, and a signal that cancels the start
 * @returns the database; `close()` frees its memory
 * @throws {@link RequestError} if a number is not a positive whole number, or the chain's identifier cannot be part of
 *   a file name
 * @throws {@link CanceledError} if the signal was aborted
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  checkOptions(options);
  const { chainId, segments, blocksPerSegment, signal } = options;
  throwIfAborted(signal);
  // One reader needs only a small cache. The zone decides how times are written.
  const pg = await PGlite.create({
    postgresqlconf: ["shared_buffers = 8MB", "timezone = 'UTC'"],
    parsers: columnParsers,
  });
  try {
    throwIfAborted(signal);
    await pg.exec(schema);
    await pg.query(insertSegments, [segments, blocksPerSegment, chainId]);
    await pg.exec(insertBlocks);
    await pg.exec(listingSchema(blocksPerSegment));
    await pg.exec(stateSchema(segments * blocksPerSegment));
    throwIfAborted(signal);
  } catch (error) {
    await pg.close();
    throw error;
  }
  return {
    chainId,
    pg,
    listSegments: () => listSegments(pg),
    copyTable: (copy) => copyTable(pg, copy),
    close: () => pg.close(),
  };
}

function checkOptions({ chainId, segments, blocksPerSegment }: DatabaseOptions): void {
  for (const [name, value] of Object.entries({ segments, blocksPerSegment })) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RequestError(`${name} is ${value}`, { advice: "Give a whole number from 1 on." });
    }
  }
  if (!isChainId(chainId)) {
    throw new RequestError(`chainId ${quoted(chainId)} cannot be part of a file name`, {
      advice: "Use 1 to 50 characters of A-Z a-z 0-9 . _ -",
    });
  }
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) {
    throw new CanceledError({ cause: signal.reason });
  }
}

async function listSegments(pg: PGlite): Promise<Segment[]> {
  const { rows } = await pg.query<Record<"from" | "to" | "id" | "previous_id" | "version" | "chain_id", string>>(
    `SELECT from_height::text AS "from", to_height::text AS "to", id, previous_id, database_version::text AS version, chain_id
     FROM history_segment ORDER BY from_height`,
  );
  return rows.map((row) => ({
    fromHeight: BigInt(row.from),
    toHeight: BigInt(row.to),
    id: row.id,
    previousId: row.previous_id,
    databaseVersion: BigInt(row.version),
    chainId: row.chain_id,
  }));
}

async function copyTable(pg: PGlite, { table, fromBlock, toBlock, databaseVersion, header }: CopyOptions) {
  // COPY takes no parameters. Names come from our own definitions, and all other values are integers.
  const columns = tables[table].columns.filter(({ since }) => since <= databaseVersion).map(({ name }) => `"${name}"`);
  const { blob } = await pg.query(
    `COPY (SELECT ${columns.join(", ")} FROM "${table}" WHERE row_height BETWEEN ${fromBlock} AND ${toBlock}
     ORDER BY row_height, row_index) TO '/dev/blob' (FORMAT csv, HEADER ${header})`,
  );
  return blob === undefined ? new Uint8Array() : new Uint8Array(await blob.arrayBuffer());
}

const schema = `
  CREATE TABLE history_segment (
    from_height bigint PRIMARY KEY,
    to_height bigint NOT NULL,
    id text NOT NULL,
    previous_id text NOT NULL,
    database_version bigint NOT NULL,
    chain_id text NOT NULL
  );
  CREATE TABLE block (height bigint PRIMARY KEY, database_version bigint NOT NULL);
  ${tableNames.map(createView).join("\n")}`;

const insertSegments = `
  INSERT INTO history_segment
  SELECT (s - 1) * $2::bigint + 1, s * $2::bigint, encode(sha256(convert_to($3::text || '/' || s, 'UTF8')), 'hex'),
    CASE WHEN s > 1 THEN encode(sha256(convert_to($3::text || '/' || s - 1, 'UTF8')), 'hex') ELSE '' END,
    CASE WHEN s < ${firstSegmentOfVersion2} THEN 1 ELSE 2 END, $3::text
  FROM generate_series(1, $1::bigint) AS s`;

const insertBlocks = `
  INSERT INTO block
  SELECT height, database_version
  FROM history_segment CROSS JOIN LATERAL generate_series(from_height, to_height) AS height`;
