import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { Code } from "@connectrpc/connect";
import type { DuckDBConnection } from "@duckdb/node-api";
import { SinkError } from "../../../errors/index.js";
import { assertKnownKeys, assertText, parsePositiveInteger, parseSignal } from "../../../input/assert.js";
import { unixMs } from "../../../runtime/index.js";
import type { TableName } from "../../../schema/table-names.js";
import { throwIfAborted } from "../../../signal/wait.js";
import { parseTables } from "../../sync-options.js";
import type { LedgerEntry } from "../../unit.js";
import { literal, unitName } from "../duckdb/csv-columns.js";
import { MEMORY_LIMIT } from "../duckdb/duckdb-sink.js";
import { isEntryOf } from "../duckdb/duckdb-tables.js";
import { FROM_BLOCK, identifier, sinkColumns } from "../sink-columns.js";
import { type Manifest, manifestOf } from "./manifest.js";
import { type Layout, readFolder, syncFile } from "./parquet-folder.js";
import { copySql, type Engine, engineIn } from "./parquet-writer.js";
import { applyChange, claimUnit, recoverChanges } from "./pending-changes.js";

/** Rows of a joined file by default: about eight row groups. */
const ROWS_PER_FILE = 1_000_000;
const MAX_ROWS_PER_FILE = 1_000_000_000;

/** How files are joined. */
export interface CompactOptions {
  /** All tables by default. */
  readonly tables?: readonly TableName[] | undefined;
  /** The most rows of a joined file; 1,000,000 by default. Files that have as many are left as they are. */
  readonly rowsPerFile?: number | undefined;
  /** The most memory that DuckDB takes, as it writes it; `1GiB` by default. */
  readonly memoryLimit?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What was joined. */
export interface Compacted {
  /** Files that were joined, and files that they became. */
  readonly joined: number;
  readonly files: number;
  readonly rows: bigint;
  /** Joined files that were not made, as a sync was loading there, or has changed the units meanwhile. */
  readonly busy: number;
}

/** Where files are joined, and by what. */
interface Place {
  readonly layout: Layout;
  readonly engine: Engine;
  readonly manifest: (table: TableName) => Manifest;
  readonly signal: AbortSignal;
}

/**
 * Join small files of a folder that {@link parquetSink} has made: adjacent units of one history and schema version become
 * one unit, with one file and one entry in the ledger. Syncs may write to the folder meanwhile. Killed at any point, it
 * leaves each row there once as soon as somebody opens the folder, and finishes what had become certain. Until then, and for
 * the moment in which files are exchanged, readers of these files fail, and name a file `…unfinished-change.parquet`.
 *
 * @param folder the folder
 * @param options which tables, and how large the files become
 * @returns what was joined
 * @throws `RequestError` where an option is wrong; `SinkError` where the folder holds no sync, files cannot be read or
 *   written, or have other rows than the ledger says; `CanceledError`
 *
 * @example
 * const { joined, files } = await compactParquet("history", { rowsPerFile: 1_000_000 });
 */
export async function compactParquet(folder: string, options: CompactOptions = {}): Promise<Compacted> {
  assertKnownKeys("options", options, { tables: true, rowsPerFile: true, memoryLimit: true, signal: true });
  const { memoryLimit = MEMORY_LIMIT } = options;
  assertText("the folder of Parquet files", folder, "history");
  assertText("memoryLimit", memoryLimit, MEMORY_LIMIT);
  const tables = parseTables(options.tables);
  const rowsPerFile = BigInt(
    parsePositiveInteger("rowsPerFile", options.rowsPerFile ?? ROWS_PER_FILE, MAX_ROWS_PER_FILE),
  );
  const signal = parseSignal(options.signal);
  const done = { joined: 0, files: 0, rows: 0n, busy: 0 };
  const path = await realpath(folder).catch(() => resolve(folder));
  const { layout, chainId } = await readFolder(path, `parquet:${folder}`);
  if (chainId === undefined) {
    throw new SinkError(`parquet:${folder} holds no sync, so there are no files to join`, {
      code: Code.NotFound,
      advice: "Give the folder that `tradewire sync --to parquet:FOLDER` writes to.",
    });
  }
  const engine = engineIn(`parquet:${folder}`, layout.pending, memoryLimit);
  const place: Place = { layout, engine, manifest: (table) => manifestOf(layout.manifest(table)), signal };
  try {
    await recoverChanges(layout.pending, (change, part) => applyChange(layout, place.manifest, change, part));
    for (const table of tables) {
      for (const group of groupsOf(await place.manifest(table).entries(), rowsPerFile)) {
        throwIfAborted(signal);
        const joined = joinedEntry(group);
        if (joined !== undefined && (await join(place, group, joined))) {
          done.joined += group.length;
          done.files += 1;
          done.rows += joined.rows;
        } else {
          done.busy += 1;
        }
      }
    }
    return done;
  } finally {
    await engine.close();
  }
}

/** Puts entries together, in their order, whose rows fit into one file. Entries that stay alone are left out. */
function groupsOf(entries: readonly LedgerEntry[], rowsPerFile: bigint): LedgerEntry[][] {
  const groups: LedgerEntry[][] = [];
  let open: LedgerEntry[] = [];
  let rows = 0n;
  for (const entry of entries) {
    const before = open.at(-1);
    if (before === undefined || !follows(before, entry) || rows >= rowsPerFile || rows + entry.rows > rowsPerFile) {
      [open, rows] = [[], 0n];
      groups.push(open);
    }
    open.push(entry);
    rows += entry.rows;
  }
  return groups.filter(({ length }) => length > 1);
}

function follows(before: LedgerEntry, after: LedgerEntry): boolean {
  return (
    after.fromBlock === before.toBlock + 1n &&
    after.previousSegmentId === before.segmentId &&
    after.schemaVersion === before.schemaVersion &&
    after.chainId === before.chainId
  );
}

function joinedEntry(group: readonly LedgerEntry[]): LedgerEntry | undefined {
  const [first, last] = [group[0], group.at(-1)];
  return (
    first &&
    last && {
      ...last,
      fromBlock: first.fromBlock,
      previousSegmentId: first.previousSegmentId,
      rows: group.reduce((sum, { rows }) => sum + rows, 0n),
      bytes: group.reduce((sum, { bytes }) => sum + bytes, 0n),
      sha256: "",
      loadedAt: new Date(unixMs()).toISOString(),
    }
  );
}

/** Returns whether the files were joined: false where a sync holds one of the units, or has replaced it. */
async function join(place: Place, group: readonly LedgerEntry[], joined: LedgerEntry): Promise<boolean> {
  const { layout, manifest } = place;
  const claim = await claimUnit(layout.pending, joined, (change, part) => applyChange(layout, manifest, change, part));
  if (claim === undefined) {
    return false;
  }
  try {
    const now = await manifest(joined.table).entries();
    const within = now.filter((entry) => entry.fromBlock <= joined.toBlock && joined.fromBlock <= entry.toBlock);
    if (
      within.length !== group.length ||
      within.some((entry, index) => group[index] === undefined || !isEntryOf(entry, group[index]))
    ) {
      return false;
    }
    await writeJoined(place, group, joined, claim.part);
    await claim.commit({ load: joined, remove: group });
    return true;
  } finally {
    await claim.release();
  }
}

async function writeJoined(
  { layout, engine, signal }: Place,
  group: readonly LedgerEntry[],
  joined: LedgerEntry,
  part: string,
): Promise<void> {
  const paths = group.map((entry) => literal(layout.file(entry)));
  const files = `read_parquet([${paths.join(", ")}], union_by_name = true, hive_partitioning = false)`;
  const { chainId, table, fromBlock, toBlock, segmentId, schemaVersion } = joined;
  const query = `SELECT * EXCLUDE (${FROM_BLOCK}), CAST(${fromBlock} AS BIGINT) AS ${FROM_BLOCK} FROM ${files}`;
  const facts = { chain_id: chainId, table_name: table, from_block: fromBlock, to_block: toBlock };
  await engine.use(
    `joining ${unitName(joined)}`,
    async (connection) => {
      const metadata = { ...facts, segment_id: segmentId, schema_version: schemaVersion };
      const withDictionary = !(await hasSignedZero(connection, table, files));
      const { rowsChanged } = await connection.run(copySql(query, part, metadata, withDictionary));
      if (BigInt(rowsChanged) !== joined.rows) {
        throw new SinkError(
          `the files of ${unitName(joined)} have ${rowsChanged} rows, and the ledger says ${joined.rows}`,
          {
            code: Code.DataLoss,
            advice:
              "Nothing was joined. Find the damaged unit with `tradewire sync verify`, and load it anew with --repair.",
          },
        );
      }
    },
    signal,
  );
  await syncFile(part);
}

/** In a dictionary, a zero with a sign would be one with the other zero. */
async function hasSignedZero(connection: DuckDBConnection, table: TableName, files: string): Promise<boolean> {
  const found = sinkColumns(table)
    .filter(({ type }) => type === "float8")
    .map(({ name }) => `(${identifier(name)} = 0 AND signbit(${identifier(name)}))`);
  const query = `SELECT 1 FROM ${files} WHERE ${found.join(" OR ")} LIMIT 1`;
  return found.length > 0 && (await connection.runAndReadAll(query)).getRows().length > 0;
}
