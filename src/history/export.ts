import type { CallOptions, ContextValues } from "@connectrpc/connect";
import { createLinkedAbortController } from "@connectrpc/connect/protocol";
import type JSZip from "jszip";
import type { HttpBody } from "../../gen/google/api/httpbody_pb.js";
import type { ArchiveFile } from "../archive/files.js";
import { type ExportedRange, fileNameFor } from "../archive/names.js";
import type { RowOptions } from "../archive/open.js";
import { type Archive, openArchive } from "../archive/open.js";
import { type SavedArchive, saveArchive } from "../archive/save.js";
import { zipInMemory } from "../archive/to-zip.js";
import type { CsvRecord } from "../csv/index.js";
import { type Fail, failingWith } from "../errors/failing.js";
import { NodeError, type TypedObject } from "../errors/index.js";
import { ARCHIVE_TYPE, assemble } from "./assemble.js";
import { type ExportChunk, type ExportResult, exportChunks } from "./chunks.js";
import type { BlockRange } from "./segments.js";

/** How far an export has come. */
export interface ExportProgress {
  /** Bytes of the archive that have arrived. */
  readonly bytes: number;
  /** Chunks that have arrived. */
  readonly chunks: number;
}

/** How an export is made. */
export interface ExportOptions {
  /** Ends the export; what it has written is removed. */
  readonly signal?: AbortSignal | undefined;
  /** Told after each chunk. */
  readonly onProgress?: ((progress: ExportProgress) => void) | undefined;
  /**
   * Whether the first chunk must carry extensions: `required`, as the specification (2.7) has it, is the default;
   * `optional` for nodes that send none, as deployed v0.78 nodes do. A raw HTTP body has no chunks to hold to it.
   */
  readonly extensions?: "required" | "optional" | undefined;
  /**
   * Ask the node for its segments first, and check the range against them: the error then names the nearest range that can be
   * exported. It is a further call, which can be large for a long history; without it the node itself refuses a wrong range.
   */
  readonly check?: boolean | undefined;
  /** Ask the node for its segments first, and widen the range to the boundaries of those that it begins and ends in. */
  readonly snap?: boolean | undefined;
  /** Further headers of the request. */
  readonly headers?: CallOptions["headers"];
}

/** An archive that an export saved. */
export interface SavedExport extends SavedArchive {
  /** First block. */
  readonly fromBlock: bigint;
  /** Last block, inclusive. */
  readonly toBlock: bigint;
  /** The extensions of the first chunk; none over a raw HTTP body. */
  readonly extensions: readonly TypedObject[];
}

/**
 * An export of network history that can be consumed in several ways. Each of them calls the node once more.
 */
export interface NetworkHistoryExport extends Archive {
  /**
   * The blocks that are exported: those asked for or, with `snap`, what they were widened to. The node is asked for its
   * segments once, and only with `snap` or `check`.
   *
   * @throws {@link RequestError} where the node's segments do not make up the range
   */
  range(): Promise<BlockRange>;
  /**
   * The chunks (specification, 2.7), held to the rules of the stream. An error is the last chunk; it is then thrown too,
   * so that it cannot be missed.
   */
  chunks(): AsyncIterable<ExportChunk>;
  /** The bytes of the archive. If this throws, what came before is not a whole archive. */
  bytes(): AsyncIterable<Uint8Array>;
  /**
   * Save the archive: whole and checked, or not at all.
   *
   * @param target a folder (one that exists, or a path that ends in a separator) or the path of the file; in a folder it
   *   takes the name that the node gives, if that is one by the specification, 4.1
   * @param options `force` replaces a file that exists
   * @throws {@link FileError} where the file cannot be written, or exists
   */
  saveTo(target: string, options?: { readonly force?: boolean }): Promise<SavedExport>;
  /**
   * The files of the archive as they arrive. Their names, where they parse, must cover what was asked for from end to end.
   *
   * What arrives is taken no faster than the rows are. If this throws, rows are missing behind those that came before.
   */
  files(): AsyncIterable<ArchiveFile>;
  /** The rows of all files, in the order of their blocks; all else is as with `files()`. */
  rows(options?: RowOptions): AsyncIterable<CsvRecord>;
  /**
   * Take the archive into memory.
   *
   * @throws {@link ProtocolError} where it is broken, larger than the limit `maxArchiveBytes`, or inflates to more than 1 GiB
   */
  toZip(): Promise<JSZip>;
}

/** What an export is made of. */
export interface ExportParts {
  readonly options: ExportOptions;
  /** The largest archive that `toZip()` takes into memory, in bytes. */
  readonly maxArchiveBytes: number;
  /** Tells what to export, each time the same. */
  readonly takeRange: () => Promise<ExportedRange>;
  /** Calls the node. */
  readonly open: (
    range: BlockRange,
    signal: AbortSignal,
    contextValues: ContextValues | undefined,
  ) => Promise<{ readonly header: Headers; readonly message: AsyncIterable<HttpBody> }>;
  /** Consumes the call once more where it breaks off and there is another way to make it. */
  readonly startingOver: <T>(consume: (contextValues: ContextValues) => Promise<T>) => Promise<T>;
  /** Says of what is wrong with the archive which call it came from. */
  readonly fail: Fail;
}

/** Make an export of a way to call the node. */
export function createExport(parts: ExportParts): NetworkHistoryExport {
  const { takeRange, startingOver, fail, maxArchiveBytes } = parts;
  const { signal, onProgress, extensions = "required" } = parts.options;

  interface Watch {
    readonly onHeader?: (header: Headers) => void;
    readonly onResult?: (result: ExportResult) => void;
    /** Ends the call. */
    readonly call?: AbortController;
    readonly contextValues?: ContextValues;
  }

  async function* results({
    onHeader,
    onResult,
    contextValues,
    call = createLinkedAbortController(signal),
  }: Watch = {}): AsyncGenerator<ExportResult> {
    let thrown: NodeError | undefined;
    async function* remembering(messages: AsyncIterable<HttpBody>): AsyncGenerator<HttpBody> {
      try {
        yield* messages;
      } catch (reason) {
        thrown = reason instanceof NodeError ? reason : undefined;
        throw reason;
      }
    }
    let bytes = 0;
    let chunks = 0;
    try {
      const { fromBlock, toBlock } = await takeRange();
      const { header, message } = await parts.open({ fromBlock, toBlock }, call.signal, contextValues);
      onHeader?.(header);
      // Where the response is the archive itself, it has no chunks and can carry no extensions.
      const raw = header.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() === ARCHIVE_TYPE;
      const rules = { extensions: raw ? ("optional" as const) : extensions };
      for await (const result of assemble(exportChunks(remembering(message)), rules)) {
        bytes += result.data.length;
        chunks += 1;
        onProgress?.({ bytes, chunks });
        onResult?.(result);
        yield result;
      }
    } catch (reason) {
      // As a chunk an error does not tell where it came from; as it was thrown it does.
      throw reason instanceof NodeError && reason.object === thrown?.object ? thrown : reason;
    } finally {
      call.abort(); // Whoever stops early does not want the rest.
    }
  }

  async function* archive(watch?: Watch): AsyncGenerator<Uint8Array> {
    for await (const { data } of results(watch)) {
      if (data.length > 0) {
        yield data;
      }
    }
  }

  const bytes = (watch?: Watch) => failingWith(archive(watch), fail);

  async function* chunks(): AsyncGenerator<ExportChunk> {
    try {
      for await (const result of results()) {
        yield { result };
      }
    } catch (reason) {
      if (reason instanceof NodeError) {
        yield { error: reason.object };
      }
      throw reason;
    }
  }

  async function save(target: string, force: boolean, contextValues: ContextValues): Promise<SavedExport> {
    const exported = await takeRange();
    let header = new Headers();
    let first: ExportResult | undefined;
    const content = archive({
      contextValues,
      onHeader: (received) => {
        header = received;
      },
      onResult: (result) => {
        first ??= result;
      },
    });
    const saved = await saveArchive(content, { target, force, fileName: () => fileNameFor(header, exported) });
    const { fromBlock, toBlock } = exported;
    return { ...saved, fromBlock, toBlock, extensions: first?.extensions ?? [] };
  }

  function opened(): Archive {
    const call = createLinkedAbortController(signal);
    // Whoever stops early does not want to wait for the chunk that comes next.
    return openArchive(bytes({ call }), { exported: takeRange, signal, onClose: () => call.abort() });
  }

  return {
    range: async () => {
      const { fromBlock, toBlock } = await takeRange();
      return { fromBlock, toBlock };
    },
    chunks: () => failingWith(chunks(), fail),
    bytes: () => bytes(),
    saveTo: (target, { force = false } = {}) =>
      startingOver((contextValues) => save(target, force, contextValues)).catch(fail),
    files: () => opened().files(),
    rows: (options) => opened().rows(options),
    toZip: () => zipInMemory(bytes(), { maxArchiveBytes, signal }).catch(fail),
  };
}
