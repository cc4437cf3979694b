import { throwIfAborted } from "../../base/signal/wait.js";
import type { TableName } from "../../data/schema/table-names.js";
import { retryWhileUnavailable } from "../availability.js";
import { askedTables, compareCoverage } from "../coverage.js";
import { type ExportsEstimate, estimateSync, estimateUnits } from "../estimate.js";
import { readHistory } from "../node-history.js";
import { planHistory } from "../plan-history.js";
import type { CoverageQuery } from "../sink.js";
import { duckdbSink } from "../sinks/duckdb/duckdb-sink.js";
import { createReporter, type SyncHooks } from "../sync-events.js";
import { parseBlockRange, type SyncClient, type SyncOptions } from "../sync-options.js";
import { type BlockPart, partOf } from "./block-part.js";
import { NOTHING_TO_CLOSE, openLoaded, tablesRead } from "./duckdb-sources.js";
import { type CacheFile, takeCacheFile } from "./history-cache.js";
import { isOfCache, type Loading, loadHistory, loadingOptions, RETRY_MS } from "./load-history.js";
import type { QueryDatabase, QuerySource } from "./query-database.js";

/** How statements are answered from nodes. */
export interface NodeSourceOptions {
  /** The blocks that are read; all by default. The segments that have some of them are loaded. */
  readonly range: SyncOptions["range"];
  /** The folder of the cache, which exists. */
  readonly cacheFolder: string;
  /** The maximum size of the cache, in bytes. */
  readonly cacheBytes: number;
  /** DuckDB's memory limit, in its syntax. */
  readonly memoryLimit: string;
  readonly hooks: SyncHooks & {
    /** Called when another process uses the cached history. */
    readonly onWait: (pid: number | undefined) => void;
  };
}

/**
 * Returns the source that answers statements from nodes. The tables that a statement reads are loaded into a DuckDB file of the cache,
 * and kept up to date there: segments that it has, by their identifiers, are not exported again. If the node's history is another one,
 * the file is loaded again.
 *
 * @param clients the node, or several nodes of one network
 */
export function nodeSource(clients: readonly SyncClient[], options: NodeSourceOptions): QuerySource {
  const { cacheBytes, memoryLimit } = options;
  return {
    ...NOTHING_TO_CLOSE,
    open: (sql, signal) =>
      openLoaded(sql, { memoryLimit, signal }, async (tables, open) => {
        const { history, part, file } = await takeHistory(clients, options, signal);
        try {
          const loading = { ...options, ...loadedFor(tables, part), signal };
          let database = await openComplete(file, { history, ...loading }, (path) => open(path, part.blocks));
          if (database === undefined) {
            const gaps = await loadHistory(clients, file, loading);
            database = { ...(await open(file.path, part.blocks)), gaps };
          }
          await file.markUsed(cacheBytes);
          return withFile(database, file);
        } catch (reason) {
          await file[Symbol.asyncDispose]();
          throw reason;
        }
      }),
  };
}

/**
 * Estimates what a statement would export into the cache, which is not changed.
 *
 * @param clients the node, or several nodes of one network
 * @throws {@link RequestError} if the statement is wrong, or does more than read; errors of the node
 */
export async function estimateStatement(
  clients: readonly SyncClient[],
  sql: string,
  options: NodeSourceOptions,
  signal: AbortSignal,
): Promise<ExportsEstimate> {
  const tables = await tablesRead(sql, { memoryLimit: options.memoryLimit, signal });
  if (tables.length === 0) {
    return await estimateUnits(clients, [], { parallel: 1, signal });
  }
  const { part, file } = await takeHistory(clients, options, signal);
  await using _ = file;
  const loading = { ...options, ...loadedFor(tables, part), signal };
  const isContinued = await planHistory(clients, loadingOptions(loading, file.path)).then(
    ({ gaps, divergence }) => gaps.length === 0 && divergence === undefined,
    (reason: unknown) => {
      if (!isOfCache(reason)) {
        throw reason;
      }
      return false;
    },
  );
  const path = isContinued ? file.path : `${file.path}.new`;
  const { plan: _plan, ...estimate } = await estimateSync(clients, loadingOptions(loading, path));
  return estimate;
}

/** Reads the history of the nodes, and takes the file of the cache for the asked part of it. */
async function takeHistory(
  clients: readonly SyncClient[],
  { cacheFolder, hooks, ...options }: NodeSourceOptions,
  signal: AbortSignal,
) {
  const range = parseBlockRange(options.range);
  const retryContext = { retryForMs: RETRY_MS, report: createReporter(hooks), signal };
  const history = await retryWhileUnavailable(() => readHistory(clients, signal), retryContext);
  const part = partOf(history, range);
  const key = [history.chainId, range.fromBlock, range.toBlock].join("\0");
  const file = await takeCacheFile(cacheFolder, key, { onWait: hooks.onWait, signal });
  return { history, part, file };
}

/** Returns what is loaded to read tables of a part. The times of blocks separate it from the other blocks of its segments. */
function loadedFor(tables: readonly TableName[], { range, blocks }: BlockPart): Pick<Loading, "range" | "tables"> {
  return { range, tables: blocks === undefined || tables.includes("blocks") ? tables : [...tables, "blocks"] };
}

/** Returns a database that releases its file when it is closed. */
function withFile(database: QueryDatabase, file: CacheFile): QueryDatabase {
  return {
    ...database,
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await file[Symbol.asyncDispose]();
    },
  };
}

/**
 * Opens a file that has all segments of some tables, and what nodes list, so that a sync would change nothing. Whatever else is wrong with it
 * is reported by the sync.
 */
async function openComplete(
  file: CacheFile,
  wanted: Wanted,
  open: (path: string) => Promise<QueryDatabase>,
): Promise<QueryDatabase | undefined> {
  const has = (await file.size()) === 0 ? "less" : await contentOf(file, wanted);
  if (has === "more") {
    await file.remove(); // A sync would leave units that the nodes no longer have.
  }
  if (has !== "all") {
    return undefined;
  }
  const database = await open(file.path);
  const { batches } = await database.query("FROM tradewire_assets LIMIT 1");
  for await (const { rows } of batches()) {
    if (rows.length > 0) {
      return database;
    }
  }
  await database[Symbol.asyncDispose]();
  return undefined;
}

type Wanted = Pick<CoverageQuery, "history" | "tables" | "range"> & Pick<Loading, "signal">;

/** Returns whether a file has all that the nodes have, less, or units after their last block, which may be of another history. */
async function contentOf(
  file: CacheFile,
  { history, tables: wanted, range, signal }: Wanted,
): Promise<"all" | "less" | "more"> {
  try {
    await using sink = duckdbSink(file.path);
    if ((await sink.inspect(signal)) === undefined) {
      return "less";
    }
    const asked = await askedTables(sink);
    const { tables, missing, gaps, divergence } = await compareCoverage(sink, {
      ...{ history, tables: wanted, range },
      asked,
      limit: 1,
    });
    const last = history.segments.at(-1)?.toBlock ?? 0n;
    if (tables.some(({ toBlock = 0n }) => toBlock > last)) {
      return "more";
    }
    return missing.length === 0 && gaps.length === 0 && divergence === undefined ? "all" : "less";
  } catch {
    throwIfAborted(signal);
    return "less";
  }
}
