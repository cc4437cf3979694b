import type { ContextValues } from "@connectrpc/connect";
import { createLinkedAbortController } from "@connectrpc/connect/protocol";
import type { HttpBody } from "../../gen/google/api/httpbody_pb.js";
import { type ExportedRange, fileNameFor } from "../archive/names.js";
import { type Archive, openArchive } from "../archive/open.js";
import { saveArchive } from "../archive/save.js";
import { zipInMemory } from "../archive/to-zip.js";
import { type Fail, failingWith } from "../errors/failing.js";
import { NodeError } from "../errors/index.js";
import { ARCHIVE_TYPE, assemble } from "./assemble.js";
import { type ExportChunk, type ExportResult, exportChunks } from "./chunks.js";
import type { ExportOptions, NetworkHistoryExport, SavedExport } from "./network-history-export.js";
import type { BlockRange } from "./segments.js";

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
