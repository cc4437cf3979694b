import type { HistorySegment } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import { BannedError, ConnectionError, ProtocolError, type TradewireError } from "../../base/errors/index.js";
import { isSinkFailure, isTransient, reactionTo } from "../../base/errors/reaction.js";
import { locateTarget } from "../../base/file/atomic-file.js";
import { type Profile, profileRules, profiles } from "../../base/profile.js";
import { linkedController, raceAbort } from "../../base/signal/abort.js";
import { type RetryWaits, retry, retryDelayMs } from "../../base/signal/wait.js";
import { archiveName, csvName, type ExportedRange, parseCsvName } from "../archive/export-names.js";
import { joinedCsv } from "../archive/merge-archives.js";
import { saveArchive } from "../archive/save-archive.js";
import { writeArchiveFiles } from "../zip/write-zip.js";
import { listEntries } from "../zip/zip-entries.js";
import { checkFileName, noFile, secondFile } from "./expected-file.js";
import type { ExportProgress, SavedExport, SaveOptions } from "./network-history-export.js";
import {
  type PartPlan,
  type PartStore,
  planParts,
  type RangePart,
  requireUnchanged,
  resumablePartStore,
  temporaryPartStore,
} from "./part-store.js";

/** The request and the options of an export in parts. */
export interface PartSaving extends Pick<PartFetching, "save" | "retry"> {
  readonly asked: ExportedRange;
  readonly listSegments: (signal: AbortSignal) => Promise<readonly HistorySegment[]>;
  /** Determines the form of names if the node's names have another form. */
  readonly profile: Profile;
  readonly maxRowBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ExportProgress) => void) | undefined;
}

/**
 * Saves an export whose range is split at segments. The parts are fetched in parallel, each is verified, and they are joined in
 * order while others are being fetched. The archive is identical to that of a single stream.
 *
 * @throws as `saveTo` does
 */
export async function saveInParts(saving: PartSaving, target: string, options: SaveOptions): Promise<SavedExport> {
  const { asked, listSegments } = saving;
  const { force = false, resume } = options;
  const stop = linkedController(saving.signal);
  try {
    await using store = await (resume === undefined
      ? temporaryStoreFor(target, force)
      : resumablePartStore(resume, asked, target));
    const plan = planParts(await listSegments(stop.signal), asked);
    await store.begin(plan);
    const before = await store.findArchive(target, stop.signal);
    const saved =
      before === undefined
        ? await fetchAndJoin(saving, target, options, { store, plan, stop })
        : { ...before, entries: await listEntries(before.path), verified: options.verify ?? "content", extensions: [] };
    await store.finish();
    const { fromBlock, toBlock } = asked;
    return { ...saved, fromBlock, toBlock };
  } finally {
    stop.abort();
  }
}

async function temporaryStoreFor(target: string, force: boolean): Promise<PartStore> {
  const { folder } = await locateTarget({ target, force });
  return temporaryPartStore(folder);
}

interface Run {
  readonly store: PartStore;
  readonly plan: PartPlan;
  /** Cancels all fetches. */
  readonly stop: AbortController;
}

async function fetchAndJoin(
  saving: PartSaving,
  target: string,
  { force = false, verify, parallel = 1 }: SaveOptions,
  run: Run,
): Promise<Omit<SavedExport, "fromBlock" | "toBlock">> {
  const { asked, profile, maxRowBytes } = saving;
  const { store, plan, stop } = run;
  const { parts, chainId } = plan;
  await locateTarget({ target, force }); // Fails before anything is fetched if the file exists.
  const fetches = startFetches(saving, parallel, run);
  const sequence = createSequence(saving, run, fetches);
  try {
    const extensions = await fetches.result(0);
    const form = await nameForm(parts[0], store, profile);
    const spans = schemaSpansOf(parts);
    const versioned = spans.length > 1 || profileRules[form].names.versioned === "files";
    const files = spans.map(({ from, until, first, last }) => ({
      name: csvName(
        { ...first, toBlock: last.toBlock, schemaVersion: versioned ? first.schemaVersion : undefined },
        form,
      ),
      content: () => joinedCsv(sequence.paths(from, until), { maxRowBytes, signal: stop.signal }),
    }));
    const schemaVersion = spans.length > 1 ? parts.at(-1)?.schemaVersion : undefined;
    const saved = await saveArchive(stoppedOnReturn(writeArchiveFiles(files), stop), {
      ...{ target, force, verify, signal: saving.signal }, // The signal of `stop` would hide the reason.
      fileName: () => archiveName({ ...asked, chainId, schemaVersion }, form),
      exported: { ...asked, chainId },
      beforeNaming: store.archiveWritten,
    });
    return { ...saved, extensions };
  } catch (reason) {
    if (reason instanceof ProtocolError && !stop.signal.aborted) {
      await store.reject(sequence.joining()); // The checksums are right, but the rows are not.
    }
    stop.abort(reason);
    throw (await fetches.ended())?.reason ?? reason;
  }
}

/** Starts to fetch the parts that the store does not have. The results are the extensions of each part. */
function startFetches(
  { save, retry, onProgress }: PartSaving,
  parallel: number,
  { store, plan: { parts }, stop }: Run,
): ParallelWork<SavedExport["extensions"]> {
  const { signal } = stop;
  let completed = 0;
  const fetching = { save, retry, signal, onProgress: totalProgress(onProgress, () => completed / parts.length) };
  return runParallel(
    parts,
    parallel,
    async (part) => {
      if (await store.has(part, signal)) {
        completed += 1;
        return [];
      }
      const { extensions, ...saved } = await fetchPart(part, store.pathOf(part), fetching);
      await store.add(part, saved);
      completed += 1;
      return extensions;
    },
    stop,
  );
}

/** The parts in block order, as they are joined. */
interface PartSequence {
  /** Yields the path of each part once it is fetched. */
  paths(from: number, until: number): AsyncGenerator<string>;
  /** Returns the part that is being joined, and the first part of its file, whose columns it must have. */
  joining(): readonly RangePart[];
}

function createSequence(
  { listSegments }: PartSaving,
  { store, plan, stop }: Run,
  fetches: ParallelWork<unknown>,
): PartSequence {
  const { parts } = plan;
  let joining: readonly RangePart[] = [];
  return {
    async *paths(from, until) {
      for (const [index, part] of parts.slice(from, until).entries()) {
        await fetches.result(from + index);
        joining = [...parts.slice(from, from + 1), part];
        yield store.pathOf(part);
        joining = [];
        await store.joined(part);
      }
      if (until === parts.length) {
        requireUnchanged(plan, await listSegments(stop.signal));
      }
    },
    joining: () => joining,
  };
}

/** Cancels the fetches as soon as the caller stops reading the bytes, which may be waiting for a part. */
function stoppedOnReturn(bytes: AsyncGenerator<Uint8Array>, stop: AbortController): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => bytes.next(),
      return() {
        stop.abort();
        return bytes.return(undefined);
      },
    }),
  };
}

/** Returns the profile whose form the names of the node's files have. */
async function nameForm(part: RangePart | undefined, store: PartStore, otherwise: Profile): Promise<Profile> {
  const [entry] = part === undefined ? [] : await listEntries(store.pathOf(part));
  const named = (profile: Profile) =>
    part &&
    csvName(profileRules[profile].names.versioned === "files" ? part : { ...part, schemaVersion: undefined }, profile);
  return profiles.find((profile) => named(profile) === entry?.name) ?? otherwise;
}

/** Parts that become one CSV file: adjacent parts of one schema version. */
interface PartSpan {
  readonly from: number;
  readonly until: number;
  readonly first: RangePart;
  readonly last: RangePart;
}

function schemaSpansOf(parts: readonly RangePart[]): PartSpan[] {
  const spans: PartSpan[] = [];
  for (const [index, part] of parts.entries()) {
    const span = spans.at(-1);
    if (span?.first.schemaVersion === part.schemaVersion) {
      spans.splice(-1, 1, { ...span, until: index + 1, last: part });
    } else {
      spans.push({ from: index, until: index + 1, first: part, last: part });
    }
  }
  return spans;
}

/** Adds up the progress of all parts. Failed attempts do not count. */
function totalProgress(onProgress: PartSaving["onProgress"], completed: () => number): PartFetching["onProgress"] {
  const latest = new Map<RangePart, ExportProgress>();
  let [bytes, chunks] = [0, 0];
  return (part, progress) => {
    const before = latest.get(part);
    latest.set(part, progress);
    bytes += progress.bytes - (before?.bytes ?? 0);
    chunks += progress.chunks - (before?.chunks ?? 0);
    onProgress?.({ bytes, chunks, part: completed() });
  };
}

export interface PartRetry {
  /** Number of attempts so far, at least 1. */
  readonly attempt: number;
  /** Time until the next attempt in milliseconds. */
  readonly delayMs: number;
  readonly error: TradewireError;
}

interface PartFetching {
  /** Exports a part once, and saves it. */
  readonly save: (
    part: RangePart,
    path: string,
    watch: { readonly signal: AbortSignal; readonly onProgress: (progress: ExportProgress) => void },
  ) => Promise<SavedExport>;
  /** Number of attempts, and the delays between them. */
  readonly retry: RetryWaits & { readonly tries: number; readonly onRetry?: (retry: PartRetry) => void };
  /** Called with the progress of a part. */
  readonly onProgress: (part: RangePart, progress: ExportProgress) => void;
  readonly signal: AbortSignal;
}

/**
 * Fetches a part of a range to a file. If it is truncated or corrupt, only this part is fetched again.
 *
 * @throws the error of the last attempt
 */
async function fetchPart(part: RangePart, path: string, fetching: PartFetching): Promise<SavedExport> {
  const { retry: retries, signal } = fetching;
  let hasArrived = false;
  const onProgress = (progress: ExportProgress) => {
    hasArrived = true;
    fetching.onProgress(part, progress);
  };
  const save = async () => {
    hasArrived = false;
    const saved = await fetching.save(part, path, { signal, onProgress });
    requireFile(saved, part);
    return saved;
  };
  const delayMsAfter = (error: unknown, attempt: number) => {
    if (attempt >= retries.tries || signal.aborted || !isRetryable(error, hasArrived)) {
      throw error;
    }
    const delayMs = retryDelayMs(attempt, retries);
    retries.onRetry?.({ attempt, delayMs, error });
    return delayMs;
  };
  return retry(save, delayMsAfter, signal);
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

/** Whether a retry may succeed. Calls that could not be sent have already been retried. */
function isRetryable(error: unknown, hasArrived: boolean): error is TradewireError {
  const isOfPart = hasArrived || !(reactionTo(error).retry || error instanceof ConnectionError);
  const isExcluded = isSinkFailure(error) || error instanceof BannedError;
  return isOfPart && !isExcluded && isTransient(error);
}

interface ParallelWork<R> {
  /**
   * Waits for the result of an item.
   *
   * @throws {@link CanceledError} if the work was stopped before
   */
  result(index: number): Promise<R>;
  /** Waits until no item is in progress. */
  ended(): Promise<{ readonly reason: unknown } | undefined>;
}

/** Works on items in order, at most `parallel` concurrently. The first failure aborts `stop`, which ends the other work. */
function runParallel<T, R>(
  items: readonly T[],
  parallel: number,
  work: (item: T) => Promise<R>,
  stop: AbortController,
): ParallelWork<R> {
  const slots = items.map((item) => {
    let settle: (result: R) => void = () => undefined;
    const result = new Promise<R>((resolve) => {
      settle = resolve;
    });
    return { item, result, settle };
  });
  const remaining = slots.values();
  let failure: { readonly reason: unknown } | undefined;

  async function worker(): Promise<void> {
    // The workers share one iterator, so that each item is processed once.
    for (const { item, settle } of remaining) {
      if (stop.signal.aborted) {
        return;
      }
      try {
        settle(await work(item));
      } catch (reason) {
        if (!stop.signal.aborted) {
          failure = { reason }; // Otherwise it failed because the work was stopped.
          stop.abort(reason);
        }
        return;
      }
    }
  }

  const workers = Promise.all(Array.from({ length: Math.min(parallel, items.length) }, worker));
  return {
    result: (index) =>
      raceAbort(slots[index]?.result ?? Promise.reject(new RangeError(`no item ${index}`)), stop.signal),
    ended: () => workers.then(() => failure),
  };
}
