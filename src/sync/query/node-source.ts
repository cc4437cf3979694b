import { Code } from "../../base/errors/code.js";
import { RequestError, SinkError } from "../../base/errors/index.js";
import { linkedController } from "../../base/signal/abort.js";
import { throwIfAborted } from "../../base/signal/wait.js";
import type { TableName } from "../../data/schema/table-names.js";
import { retryWhileUnavailable } from "../availability.js";
import { askedTables, compareCoverage } from "../coverage.js";
import { DivergenceError } from "../divergence.js";
import { type ExportsEstimate, estimateSync, estimateUnits } from "../estimate.js";
import { readHistory } from "../node-history.js";
import { planHistory } from "../plan-history.js";
import type { CoverageQuery, TableRange } from "../sink.js";
import { duckdbSink } from "../sinks/duckdb/duckdb-sink.js";
import { syncHistory } from "../sync.js";
import { createReporter, type SyncHooks } from "../sync-events.js";
import { parseBlockRange, type SyncClient, type SyncOptions } from "../sync-options.js";
import type { NodeHistory } from "../unit.js";
import { NOTHING_TO_CLOSE, openLoaded, tablesRead } from "./duckdb-sources.js";
import { type CacheFile, takeCacheFile } from "./history-cache.js";
import type { QueryDatabase, QuerySource } from "./query-database.js";

/** How statements are answered from nodes. */
export interface NodeSourceOptions {
  /** The blocks that are read: segments that lie within them; all by default. */
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

/** How long an unreachable node is retried, in milliseconds: it may be starting. */
const RETRY_MS = 15_000;
/** Number of adjacent segments that one export fetches. */
const SEGMENTS_PER_EXPORT = 20;

/** The cached history cannot be used: it is too large, or has gaps that the node does not have. */
class UnusableCache extends RequestError {}

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
        const { history, range, file } = await takeHistory(clients, { ...options, signal });
        try {
          let database = await openComplete(file, { history, tables, range }, open, signal);
          if (database === undefined) {
            const gaps = await load(clients, file, tables, { ...options, signal });
            database = { ...(await open(file.path)), gaps };
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
  const { file } = await takeHistory(clients, { ...options, signal });
  await using _ = file;
  const exported = (path: string): SyncOptions => ({ ...loadingOptions({ ...options, signal }, path), tables });
  const isContinued = await planHistory(clients, exported(file.path)).then(
    ({ gaps, divergence }) => gaps.length === 0 && divergence === undefined,
    (reason: unknown) => {
      if (!isOfCache(reason)) {
        throw reason;
      }
      return false;
    },
  );
  const { plan: _plan, ...estimate } = await estimateSync(
    clients,
    exported(isContinued ? file.path : `${file.path}.new`),
  );
  return estimate;
}

/** Reads the history of the nodes, and takes the file of the cache for it. */
async function takeHistory(clients: readonly SyncClient[], { cacheFolder, hooks, signal, ...options }: Loading) {
  const range = parseBlockRange(options.range);
  const retryContext = { retryForMs: RETRY_MS, report: createReporter(hooks), signal };
  const history = await retryWhileUnavailable(() => readHistory(clients, signal), retryContext);
  assertWithin(history, range);
  const key = [history.chainId, range.fromBlock, range.toBlock].join("\0");
  const file = await takeCacheFile(cacheFolder, key, { onWait: hooks.onWait, signal });
  return { history, range, file };
}

/** Returns the options of the sync that loads tables into a file of the cache. */
function loadingOptions({ range, memoryLimit, signal }: Loading, path: string) {
  return {
    sink: duckdbSink(path, { memoryLimit }),
    range,
    segmentsPerExport: SEGMENTS_PER_EXPORT,
    retryForMs: RETRY_MS,
    signal,
  };
}

function assertWithin({ chainId, segments }: NodeHistory, range: ReturnType<typeof parseBlockRange>): void {
  const [first, last] = [segments[0], segments.at(-1)];
  if (chainId === "" || first === undefined || last === undefined) {
    throw new SinkError("the node has no history yet", {
      code: Code.FailedPrecondition,
      advice: "Wait until it has made its first segment: `tradewire segments` lists them.",
    });
  }
  if (!segments.some(({ fromBlock, toBlock }) => range.fromBlock <= fromBlock && toBlock <= range.toBlock)) {
    throw new RequestError("the node has no segment between --from-block and --to-block", {
      errorCode: "TW_BLOCK_RANGE",
      advice: `Its history has blocks ${first.fromBlock} to ${last.toBlock}; \`tradewire segments\` lists the segments.`,
    });
  }
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
  wanted: Pick<CoverageQuery, "history" | "tables" | "range">,
  open: (path: string) => Promise<QueryDatabase>,
  signal: AbortSignal,
): Promise<QueryDatabase | undefined> {
  if ((await file.size()) === 0 || !(await isLoaded(file, wanted, signal))) {
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

async function isLoaded(
  file: CacheFile,
  wanted: Pick<CoverageQuery, "history" | "tables" | "range">,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await using sink = duckdbSink(file.path);
    if ((await sink.inspect(signal)) === undefined) {
      return false;
    }
    const asked = await askedTables(sink);
    const { tables, missing, gaps, divergence } = await compareCoverage(sink, { ...wanted, asked, limit: 1 });
    // Units that end after the node's last block may be of another history, which a sync finds out.
    const last = wanted.history.segments.at(-1)?.toBlock ?? 0n;
    const isWithin = tables.every(({ toBlock = 0n }) => toBlock <= last);
    return isWithin && missing.length === 0 && gaps.length === 0 && divergence === undefined;
  } catch {
    throwIfAborted(signal);
    return false;
  }
}

interface Loading extends NodeSourceOptions {
  readonly signal: AbortSignal;
}

/** Loads tables into a file of the cache. If the file turns out to be useless, it is loaded again, once. */
async function load(
  clients: readonly SyncClient[],
  file: CacheFile,
  tables: readonly TableName[],
  options: Loading,
): Promise<readonly TableRange[]> {
  if ((await file.size()) > 0) {
    try {
      const gaps = await loadOnce(clients, file, tables, options);
      if (gaps.length === 0) {
        return gaps;
      }
    } catch (reason) {
      if (!isOfCache(reason)) {
        throw reason;
      }
    }
    await file.remove();
  }
  return await loadOnce(clients, file, tables, options);
}

/** Returns whether a failure may be that of the cached file only: it is of another history or release, damaged or too large. */
function isOfCache(reason: unknown): boolean {
  return (
    reason instanceof DivergenceError ||
    reason instanceof UnusableCache ||
    (reason instanceof SinkError && [Code.FailedPrecondition, Code.DataLoss, Code.Unknown].includes(reason.code))
  );
}

async function loadOnce(
  clients: readonly SyncClient[],
  file: CacheFile,
  tables: readonly TableName[],
  options: Loading,
): Promise<readonly TableRange[]> {
  const { cacheBytes, hooks } = options;
  const ending = linkedController(options.signal);
  let isFull = false;
  const watchSize = async () => {
    if ((await file.size()) > cacheBytes) {
      isFull = true;
      ending.abort();
    }
  };
  try {
    const { failed, gaps } = await syncHistory(clients, {
      ...loadingOptions({ ...options, signal: ending.signal }, file.path),
      tables,
      hooks: {
        onEvent(event) {
          hooks.onEvent?.(event);
          if (event.kind === "loaded") {
            void watchSize().catch(() => undefined); // The next event tries again.
          }
        },
      },
    });
    const [first] = failed;
    if (first !== undefined) {
      throw first.error;
    }
    await watchSize();
    throwIfAborted(ending.signal);
    return gaps;
  } catch (reason) {
    throw isFull ? tooLarge(cacheBytes, reason) : reason;
  } finally {
    ending.abort(); // Removes the listener from the caller's signal.
  }
}

function tooLarge(bytes: number, cause: unknown): UnusableCache {
  return new UnusableCache(`the tables of the statement need more than ${bytes} bytes, the maximum size of the cache`, {
    advice:
      "Allow more with --cache-size, read fewer blocks with --from-block, or load them with `tradewire sync` and query that with --from.",
    cause,
  });
}
