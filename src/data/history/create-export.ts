import type { ContextValues } from "@connectrpc/connect";
import type { HistorySegment } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import type { HttpBody } from "../../../gen/client/google/api/httpbody_pb.js";
import { mapStreamErrors, type ThrowCallError } from "../../base/errors/call-errors.js";
import { NodeError, type TypedObject } from "../../base/errors/index.js";
import { readTarget } from "../../base/file/save-target.js";
import { lazily, startLoading } from "../../base/input/lazy.js";
import { withSnapshots } from "../../base/input/snapshot.js";
import type { Profile } from "../../base/profile.js";
import { linkedController } from "../../base/signal/abort.js";
import { isContinuation } from "../../wire/transport/body-parts.js";
import { acceptingParts } from "../../wire/transport/call-context.js";
import type { ExportedRange } from "../archive/export-names.js";
import {
  type Archive,
  openAssembled,
  type RowOptions,
  type TypedRowOptions,
  zipInMemory,
} from "../archive/open-archive.js";
import { createNameCheck, saveArchive } from "../archive/save-archive.js";
import type { CsvRecord } from "../csv/csv-format.js";
import type { TableName } from "../schema/table-names.js";
import type { TypedRecord, TypedRow } from "../schema/typed-row.js";
import { loadZip } from "../zip/load-zip.js";
import { loadYazl } from "../zip/write-zip.js";
import { ARCHIVE_TYPE, createAssembly, type ExportChunk, type ExportResult, resultOf } from "./export-chunks.js";
import { exportRange } from "./export-request.js";
import { chainOf, fileNameFor } from "./given-names.js";
import {
  type ExportOptions,
  isInParts,
  type NetworkHistoryExport,
  type SavedExport,
  type SaveOptions,
} from "./network-history-export.js";
import type { PartSaving } from "./save-in-parts.js";
import type { BlockRange } from "./segments.js";

/** The request and the options of an export. */
export interface ExportSettings {
  /** The requested table and range. */
  readonly requested: ExportedRange;
  readonly options: ExportOptions;
  /** Determines the form of the archive's name if the node does not name it. */
  readonly profile: Profile;
  /** Maximum size of an archive that `toZip()` loads into memory, in bytes. */
  readonly maxArchiveBytes: number;
  /** How a part of an export in parts is retried. */
  readonly retry: PartSaving["retry"];
}

/** The calls of an export to the node. */
export interface ExportCalls {
  /** Starts the export of a range. */
  readonly open: (
    range: BlockRange,
    signal: AbortSignal,
    contextValues: ContextValues | undefined,
  ) => Promise<{ readonly header: Headers; readonly message: AsyncIterable<HttpBody> }>;
  /** Lists the node's segments, in order of height. */
  readonly listSegments: (signal: AbortSignal | undefined) => Promise<readonly HistorySegment[]>;
  /** Runs `consume`, and runs it again if the call fails midway and another transport is available. */
  readonly startingOver: <T>(consume: (contextValues: ContextValues) => Promise<T>) => Promise<T>;
  /** Adds the name of the call to an error about the archive, and throws it. */
  readonly fail: ThrowCallError;
}

/** The result of one call, which its stages complete: the response's header, then what the chunks contain. */
interface Transfer {
  header: Headers;
  /** The extensions of the first chunk. */
  extensions: readonly TypedObject[] | undefined;
  bytes: number;
  chunks: number;
}

/** The last stage of the pipeline: what the caller gets of each result. */
interface Output<T> {
  /** Whether each result must be a chunk as the node sent it. */
  readonly needsChunks?: boolean;
  /** Returns the item for a result; `undefined` if there is none. */
  accept(result: ExportResult): T | undefined;
  /** Called after the last result. An error that it throws follows the last item. */
  end?(): Promise<void>;
}

const archiveBytes: Output<Uint8Array> = { accept: ({ data }) => (data.length > 0 ? data : undefined) };

/** The bytes of the archive; the names in its directory are checked at the end. */
function bytesWithCheckedNames(expected: () => Promise<ExportedRange>): Output<Uint8Array> {
  const names = createNameCheck(expected);
  return {
    accept(result) {
      names.push(result.data);
      return archiveBytes.accept(result);
    },
    end: names.finish,
  };
}

/** The results themselves. */
const exportChunk: Output<ExportChunk> = { needsChunks: true, accept: (result) => ({ result }) };

interface Run<T> {
  /** Resolves the range to export. */
  readonly range: () => Promise<ExportedRange>;
  readonly transfer: Transfer;
  readonly output: Output<T>;
  /** Cancels the call. */
  readonly controller: AbortController;
  /** Identifies the call to a transport that can start it over. */
  readonly contextValues?: ContextValues;
}

/**
 * Runs the stages of an export: resolve the range, call the node, check and assemble its chunks, report progress, and
 * produce the output. This is one generator with functions in it, since each additional generator would cost some
 * microseconds per chunk.
 */
async function* runExport<T>(
  { open }: ExportCalls,
  { onProgress, extensions = "required" }: ExportOptions,
  { range, transfer, output, controller, contextValues }: Run<T>,
): AsyncGenerator<T> {
  const produce = (result: ExportResult, isContinued = false) => {
    transfer.bytes += result.data.length;
    transfer.chunks += isContinued ? 0 : 1;
    transfer.extensions ??= result.extensions;
    onProgress?.({ bytes: transfer.bytes, chunks: transfer.chunks });
    return output.accept(result);
  };
  try {
    const { fromBlock, toBlock } = await range();
    const values = output.needsChunks === true ? contextValues : acceptingParts(contextValues);
    const { header, message } = await open({ fromBlock, toBlock }, controller.signal, values);
    transfer.header = header;
    // A response that is the archive itself has no chunks, so it cannot carry extensions.
    const isRaw = header.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() === ARCHIVE_TYPE;
    const assembly = createAssembly({ extensions: isRaw ? "optional" : extensions, hasErrorTail: isRaw });
    for await (const body of message) {
      const isContinued = isContinuation(body);
      const result = assembly.push(resultOf(body), isContinued);
      const item = result && produce(result, isContinued);
      if (item !== undefined) {
        yield item;
      }
    }
    for (const result of assembly.finish()) {
      const item = produce(result);
      if (item !== undefined) {
        yield item;
      }
    }
    await output.end?.();
  } finally {
    controller.abort(); // A caller that stops early does not need the rest.
  }
}

export function createExport(settings: ExportSettings, calls: ExportCalls): NetworkHistoryExport {
  startLoading(loadZip);
  const { requested, options, profile, maxArchiveBytes } = settings;
  const { signal, maxRowBytes } = options;
  const range = exportRange(requested, options, () => calls.listSegments(signal));

  /** Starts a call. Its output is read from `items`; `transfer` has the result so far. */
  function start<T>(outputOf: (expected: () => Promise<ExportedRange>) => Output<T>, contextValues?: ContextValues) {
    const transfer: Transfer = { header: new Headers(), extensions: undefined, bytes: 0, chunks: 0 };
    const controller = linkedController(signal);
    /** What the archive must contain: the range, of the chain in the archive's name, which comes with the header. */
    const expected = async (): Promise<ExportedRange> => {
      const resolved = await range();
      return { ...resolved, chainId: chainOf(transfer.header, resolved) };
    };
    const run = { range, transfer, output: outputOf(expected), controller, ...(contextValues && { contextValues }) };
    const items = runExport(calls, options, run);
    return { items, namedItems: () => mapStreamErrors(items, calls.fail), transfer, expected, controller };
  }

  async function* chunks(): AsyncGenerator<ExportChunk> {
    try {
      yield* start(() => exportChunk).items;
    } catch (reason) {
      if (reason instanceof NodeError) {
        yield { error: reason.object };
      }
      throw reason;
    }
  }

  async function save(target: string, saving: SaveOptions, contextValues: ContextValues): Promise<SavedExport> {
    const resolved = await range();
    const { fromBlock, toBlock } = resolved;
    const { items, transfer, expected } = start(() => archiveBytes, contextValues);
    const saved = await saveArchive(items, {
      target,
      force: saving.force ?? false,
      verify: saving.verify,
      fileName: () => fileNameFor(transfer.header, resolved, profile),
      exported: expected,
      signal,
      isAssembled: true,
    });
    return { ...saved, fromBlock, toBlock, extensions: transfer.extensions ?? [] };
  }

  function openStream(): Archive {
    const { namedItems, expected, controller } = start(() => archiveBytes);
    // A caller that stops early must not wait for the next chunk.
    const onClose = () => controller.abort();
    return openAssembled(namedItems(), { exported: expected, maxRowBytes, signal, onClose });
  }

  function rows(rowOptions?: RowOptions): AsyncIterable<CsvRecord>;
  function rows<Table extends TableName>(rowOptions: TypedRowOptions<Table>): AsyncIterable<TypedRow<Table>>;
  function rows(rowOptions?: RowOptions | TypedRowOptions): AsyncIterable<TypedRecord> {
    const archive = openStream();
    return rowOptions?.typed === true ? archive.rows(rowOptions) : archive.rows(rowOptions);
  }

  return withSnapshots<NetworkHistoryExport>({
    range: async () => {
      const { fromBlock, toBlock } = await range();
      return { fromBlock, toBlock };
    },
    chunks: () => mapStreamErrors(chunks(), calls.fail),
    bytes: () => start(bytesWithCheckedNames).namedItems(),
    async saveTo(target, saving = {}) {
      const inParts = isInParts(saving);
      const path = await readTarget(target, ".zip");
      const saved = inParts
        ? range().then((asked) => savePartsOf(settings, calls, asked, path, saving))
        : calls.startingOver((contextValues) => save(path, saving, contextValues));
      return saved.catch(calls.fail);
    },
    files: () => openStream().files(),
    rows,
    toZip() {
      const { namedItems, expected } = start(() => archiveBytes);
      const limits = { maxArchiveBytes, exported: expected, maxRowBytes, signal };
      return zipInMemory(namedItems(), limits).catch(calls.fail);
    },
  });
}

/** Saves an export in parts, each of which is an export itself. */
/** Loads what fetches a range in parts. Most exports are one stream. */
const loadParts = lazily(async () => {
  const loading = import("./save-in-parts.js").then((parts) => parts.saveInParts);
  const [saveInParts] = await Promise.all([loading, loadZip(), loadYazl()]);
  return saveInParts;
});

async function savePartsOf(
  settings: ExportSettings,
  calls: ExportCalls,
  asked: ExportedRange,
  target: string,
  saving: SaveOptions,
): Promise<SavedExport> {
  const { options, profile, retry } = settings;
  const { maxRowBytes, signal, onProgress } = options;
  const parts: PartSaving = {
    ...{ asked, profile, maxRowBytes, signal, onProgress, listSegments: calls.listSegments, retry },
    save({ table, fromBlock, toBlock }, path, watch) {
      const requested = { table, fromBlock, toBlock };
      const partOptions = { ...options, ...watch, check: false, snap: false };
      const part = createExport({ ...settings, requested, options: partOptions }, calls);
      return part.saveTo({ file: path }, { force: true });
    },
  };
  const saveInParts = await loadParts();
  return saveInParts(parts, target, saving);
}
