import { parseCsvName } from "../../archive/names.js";
import { BannedError, ConnectionError, type TradewireError } from "../../errors/index.js";
import { isSinkFailure, mayPass, reactionTo } from "../../errors/reaction.js";
import { type RetryWaits, retryMs, wait } from "../../signal/wait.js";
import { checkFileName, noFile, secondFile } from "../expected-file.js";
import type { ExportProgress, SavedExport } from "../network-history-export.js";
import type { RangePart } from "./part-plan.js";

/** A part that is tried again. */
export interface PartRetry {
  /** The number of tries so far, from 1 on. */
  readonly attempt: number;
  /** Milliseconds until the next one. */
  readonly delayMs: number;
  readonly error: TradewireError;
}

/** How a part is fetched. */
export interface PartFetching {
  /** Exports a part once, and saves it. */
  readonly save: (
    part: RangePart,
    path: string,
    watch: { readonly signal: AbortSignal; readonly onProgress: (progress: ExportProgress) => void },
  ) => Promise<SavedExport>;
  /** How often a part is tried, and the waits between. */
  readonly retry: RetryWaits & { readonly tries: number; readonly onRetry?: (retry: PartRetry) => void };
  /** Told how much of a part has arrived. */
  readonly onProgress: (part: RangePart, progress: ExportProgress) => void;
  readonly signal: AbortSignal;
}

/**
 * Fetch a part of a range to a file. Where it breaks off or arrives broken, it alone is fetched again.
 *
 * @param part the part
 * @param path of its archive; one that is there is replaced
 * @param fetching how it is fetched, and how often
 * @returns its archive, checked: it holds the one CSV file that it must
 * @throws the last failure
 */
export async function fetchPart(part: RangePart, path: string, fetching: PartFetching): Promise<SavedExport> {
  const { retry, signal } = fetching;
  for (let attempt = 1; ; attempt += 1) {
    let hasArrived = false;
    const onProgress = (progress: ExportProgress) => {
      hasArrived = true;
      fetching.onProgress(part, progress);
    };
    try {
      const saved = await fetching.save(part, path, { signal, onProgress });
      requireFile(saved, part);
      return saved;
    } catch (error) {
      if (attempt >= retry.tries || signal.aborted || !mayBeWhole(error, hasArrived)) {
        throw error;
      }
      const delayMs = retryMs(attempt, retry);
      retry.onRetry?.({ attempt, delayMs, error });
      await wait(delayMs, signal);
    }
  }
}

function requireFile({ entries: [file, second] }: SavedExport, part: RangePart): void {
  if (file === undefined) {
    throw noFile(part);
  }
  if (second !== undefined) {
    throw secondFile(part, second);
  }
  checkFileName({ name: file.name, ...parseCsvName(file.name) }, part);
}

/** Whether a part may come whole at the next try. Calls that could not be made have been tried again already. */
function mayBeWhole(error: unknown, hasArrived: boolean): error is TradewireError {
  const isOfPart = hasArrived || !(reactionTo(error).retry || error instanceof ConnectionError);
  const isExcluded = isSinkFailure(error) || error instanceof BannedError;
  return isOfPart && !isExcluded && mayPass(error);
}
