import { Code } from "../../base/errors/code.js";
import { RequestError, SinkError } from "../../base/errors/index.js";
import { linkedController } from "../../base/signal/abort.js";
import { throwIfAborted } from "../../base/signal/wait.js";
import type { BlockRange } from "../../data/history/segments.js";
import type { TableName } from "../../data/schema/table-names.js";
import { DivergenceError } from "../divergence.js";
import type { TableRange } from "../sink.js";
import { duckdbSink } from "../sinks/duckdb/duckdb-sink.js";
import { syncHistory } from "../sync.js";
import type { SyncHooks } from "../sync-events.js";
import type { SyncClient, SyncOptions } from "../sync-options.js";
import type { CacheFile } from "./history-cache.js";

/** How history is loaded into the cache. */
export interface Loading {
  /** The range whose segments are loaded. */
  readonly range: BlockRange;
  readonly tables: readonly TableName[];
  /** The maximum size of the cache, in bytes. */
  readonly cacheBytes: number;
  /** DuckDB's memory limit, in its syntax. */
  readonly memoryLimit: string;
  readonly hooks: SyncHooks;
  readonly signal: AbortSignal;
}

/** How long an unreachable node is retried, in milliseconds: it may be starting. */
export const RETRY_MS = 15_000;
/** Number of adjacent segments that one export fetches. */
const SEGMENTS_PER_EXPORT = 20;

/** The cached history cannot be used: it is too large, or has gaps that the node does not have. */
class UnusableCache extends RequestError {}

/** Returns the options of the sync that loads tables into a file of the cache. */
export function loadingOptions({ range, tables, memoryLimit, signal }: Loading, path: string): SyncOptions {
  return {
    sink: duckdbSink(path, { memoryLimit }),
    tables,
    range,
    segmentsPerExport: SEGMENTS_PER_EXPORT,
    retryForMs: RETRY_MS,
    signal,
  };
}

/** Loads tables into a file of the cache. If the file turns out to be useless, it is loaded again, once. */
export async function loadHistory(
  clients: readonly SyncClient[],
  file: CacheFile,
  options: Loading,
): Promise<readonly TableRange[]> {
  if ((await file.size()) > 0) {
    try {
      const gaps = await loadOnce(clients, file, options);
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
  return await loadOnce(clients, file, options);
}

/** Returns whether a failure may be that of the cached file only: it is of another history or release, damaged or too large. */
export function isOfCache(reason: unknown): boolean {
  return (
    reason instanceof DivergenceError ||
    reason instanceof UnusableCache ||
    (reason instanceof SinkError && [Code.FailedPrecondition, Code.DataLoss, Code.Unknown].includes(reason.code))
  );
}

async function loadOnce(
  clients: readonly SyncClient[],
  file: CacheFile,
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
