import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { Code } from "../../../base/errors/code.js";
import { SinkError } from "../../../base/errors/index.js";
import { assertKnownKeys, assertText, parsePositiveInteger, parseSignal } from "../../../base/input/assert.js";
import { snapshot } from "../../../base/input/snapshot.js";
import { withJson } from "../../../base/json-result.js";
import { unixMs } from "../../../base/runtime/index.js";
import { throwIfAborted } from "../../../base/signal/wait.js";
import type { TableName } from "../../../data/schema/table-names.js";
import { FROM_BLOCK, identifier, sinkColumns } from "../../sink-columns.js";
import { parseTables } from "../../sync-options.js";
import type { LedgerEntry } from "../../unit.js";
import { fileLiteral, unitName } from "../duckdb/csv-columns.js";
import { MEMORY_LIMIT } from "../duckdb/duckdb-sink.js";
import { isEntryOf } from "../duckdb/duckdb-tables.js";
import { type Manifest, manifestOf } from "./manifest.js";
import { type FolderLayout, readFolder, syncFile } from "./parquet-folder.js";
import { copySql, engineIn, factsOf, type ParquetEngine } from "./parquet-writer.js";
import { applyChange, claimUnit, recoverChanges } from "./pending-changes.js";

/** The default maximum number of rows of a joined file: about eight row groups. */
const ROWS_PER_FILE = 1_000_000;
const MAX_ROWS_PER_FILE = 1_000_000_000;

/** Options of {@link compactParquet}. */
export interface CompactOptions {
  /** All tables by default. */
  readonly tables?: readonly TableName[] | undefined;
  /** The maximum number of rows of a joined file; 1,000,000 by default. Files of that size or larger are not changed. */
  readonly rowsPerFile?: number | undefined;
  /** DuckDB's memory limit, in its syntax; `1GiB` by default. */
  readonly memoryLimit?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The result of {@link compactParquet}. */
export interface Compacted {
  /** The number of files that were joined. */
  readonly joined: number;
  /** The number of files that replaced them. */
  readonly files: number;
  readonly rows: bigint;
  /** The number of groups that were skipped, because a sync was loading their blocks or has changed their units. */
  readonly busy: number;
}

interface CompactionContext {
  readonly layout: FolderLayout;
  readonly engine: ParquetEngine;
  readonly manifest: (table: TableName) => Manifest;
  readonly signal: AbortSignal;
}

/**
 * Joins small files in the folder of a {@link parquetSink}: adjacent units of one history and schema version become one unit,
 * with one file and one entry in the ledger. Syncs may write to the folder at the same time. If the process is killed, the next
 * process that opens the folder completes the changes that were committed, so that no row is lost or duplicated. Until then, and
 * while files are being replaced, readers of these files fail with an error that names a file `…unfinished-change.parquet`.
 *
 * @param folder the folder
 * @param options the tables, and the size of the files
 * @returns the numbers of joined files and rows
 * @throws `RequestError` if an option is invalid; `SinkError` if the folder has no synced tables, files cannot be read or written, or
 *   their rows do not match the ledger; `CanceledError`
 *
 * @example
 * const { joined, files } = await compactParquet("history", { rowsPerFile: 1_000_000 });
 */
export async function compactParquet(folder: string, options: CompactOptions = {}): Promise<Compacted> {
  options = snapshot(options);
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
    throw new SinkError(`parquet:${folder} is not the target of a sync, so there are no files to merge`, {
      code: Code.NotFound,
      advice: "Use the folder of `tradewire sync --to parquet:FOLDER`.",
    });
  }
  const engine = engineIn(`parquet:${folder}`, layout.pending, memoryLimit);
  const context: CompactionContext = {
    layout,
    engine,
    manifest: (table) => manifestOf(layout.manifest(table)),
    signal,
  };
  try {
    await recoverChanges(layout.pending, (change, part) => applyChange(layout, context.manifest, change, part));
    for (const table of tables) {
      for (const group of groupsOf(await context.manifest(table).entries(), rowsPerFile)) {
        throwIfAborted(signal);
        const joined = joinedEntry(group);
        if (joined !== undefined && (await join(context, group, joined))) {
          done.joined += group.length;
          done.files += 1;
          done.rows += joined.rows;
        } else {
          done.busy += 1;
        }
      }
    }
    return withJson(done);
  } finally {
    await engine.close();
  }
}

/** Groups consecutive entries whose rows fit into one file. Entries that cannot be joined are omitted. */
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

/** Joins files. Returns false if a sync has claimed one of the units, or has replaced it. */
async function join(context: CompactionContext, group: readonly LedgerEntry[], joined: LedgerEntry): Promise<boolean> {
  const { layout, manifest } = context;
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
    await writeJoined(context, group, joined, claim.part);
    await claim.commit({ load: joined, remove: group });
    return true;
  } finally {
    await claim.release();
  }
}

async function writeJoined(
  { layout, engine, signal }: CompactionContext,
  group: readonly LedgerEntry[],
  joined: LedgerEntry,
  part: string,
): Promise<void> {
  const paths = group.map((entry) => fileLiteral(layout.file(entry)));
  const files = `read_parquet([${paths.join(", ")}], union_by_name = true, hive_partitioning = false)`;
  const { table, fromBlock } = joined;
  const query = `SELECT * EXCLUDE (${FROM_BLOCK}), CAST(${fromBlock} AS BIGINT) AS ${FROM_BLOCK} FROM ${files}`;
  await engine.use(
    `joining ${unitName(joined)}`,
    async (connection) => {
      const withDictionary = !(await hasSignedZero(connection, table, files));
      const { rowsChanged } = await connection.run(copySql(query, part, factsOf(joined), withDictionary));
      if (BigInt(rowsChanged) !== joined.rows) {
        throw new SinkError(
          `the files of ${unitName(joined)} have ${rowsChanged} rows, but the ledger has ${joined.rows}`,
          {
            code: Code.DataLoss,
            advice:
              "Nothing was merged. Find the damaged unit with `tradewire sync verify`, and reload it with --repair.",
          },
        );
      }
    },
    signal,
  );
  await syncFile(part);
}

/** Reports whether files contain a negative zero, which a dictionary would merge with the positive zero. */
async function hasSignedZero(connection: DuckDBConnection, table: TableName, files: string): Promise<boolean> {
  const found = sinkColumns(table)
    .filter(({ type }) => type === "float8")
    .map(({ name }) => `(${identifier(name)} = 0 AND signbit(${identifier(name)}))`);
  const query = `SELECT 1 FROM ${files} WHERE ${found.join(" OR ")} LIMIT 1`;
  return found.length > 0 && (await connection.runAndReadAll(query)).getRows().length > 0;
}
