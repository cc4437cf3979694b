import type { ContextValues } from "@connectrpc/connect";
import type { HistorySegment } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import type { HttpBody } from "../../gen/client/google/api/httpbody_pb.js";
import { chainOf, type ExportedRange, fileNameFor } from "../archive/names.js";
import { type Archive, openAssembled, type RowOptions, type TypedRowOptions } from "../archive/open.js";
import { saveArchive } from "../archive/save.js";
import { zipInMemory } from "../archive/to-zip.js";
import { createNameCheck } from "../archive/verify.js";
import type { CsvRecord } from "../csv/format.js";
import { type Fail, failingWith } from "../errors/failing.js";
import { NodeError } from "../errors/index.js";
import { readTarget } from "../file/target.js";
import type { Profile } from "../schema/profile.js";
import type { TableName } from "../schema/tables.js";
import type { TypedRecord, TypedRow } from "../schema/typed-row.js";
import { followingController } from "../signal/follow.js";
import { ARCHIVE_TYPE, createAssembly } from "./assemble.js";
import { type ExportChunk, type ExportResult, resultOf } from "./chunks.js";
import type { ExportOptions, NetworkHistoryExport, SavedExport, SaveOptions } from "./network-history-export.js";
import { isInParts } from "./parts/in-parts.js";
import type { PartSaving } from "./parts/save-in-parts.js";
import type { BlockRange } from "./segments.js";

/** The parts of which an export is made. */
export interface ExportParts {
  readonly options: ExportOptions;
  /** Whose form the archive's name has where the node gives none. */
  readonly profile: Profile;
  /** The largest archive that `toZip()` takes into memory, in bytes. */
  readonly maxArchiveBytes: number;
  /** Gives the table and range to export, each time the same. */
  readonly takeRange: () => Promise<ExportedRange>;
  /** Calls the node. */
  readonly open: (
    range: BlockRange,
    signal: AbortSignal,
    contextValues: ContextValues | undefined,
  ) => Promise<{ readonly header: Headers; readonly message: AsyncIterable<HttpBody> }>;
  /** Lists the node's segments, in the order of their heights. */
  readonly listSegments: (signal: AbortSignal) => Promise<readonly HistorySegment[]>;
  /** How a part of an export in parts is tried again. */
  readonly retry: PartSaving["retry"];
  /** Runs `consume`, and runs it once more where the call breaks off and another transport can make it. */
  readonly startingOver: <T>(consume: (contextValues: ContextValues) => Promise<T>) => Promise<T>;
  /** Adds to an error about the archive which call it came from. */
  readonly fail: Fail;
}

/**
 * Make an export (specification, 4.1). Nothing is sent before it is consumed.
 *
 * @param parts the caller's options, the limit for memory in bytes, and how the node is called
 * @returns the export
 */
export function createExport(parts: ExportParts): NetworkHistoryExport {
  const { takeRange, startingOver, fail, maxArchiveBytes, profile } = parts;
  const { signal, onProgress, maxRowBytes, extensions = "required" } = parts.options;

  interface Watch {
    readonly onHeader?: (header: Headers) => void;
    readonly onResult?: (result: ExportResult) => void;
    /** Called behind the last result; what it throws follows that. */
    readonly onEnd?: () => Promise<void>;
    /** Ends the call. */
    readonly call?: AbortController;
    readonly contextValues?: ContextValues;
  }

  /** Call the node, and pass on what is made of each result; nothing where that is undefined. */
  async function* results<T>(
    { onHeader, onResult, onEnd, contextValues, call = followingController(signal) }: Watch,
    passing: (result: ExportResult) => T | undefined,
  ): AsyncGenerator<T> {
    const progress = { bytes: 0, chunks: 0 };
    const pass = (result: ExportResult) => {
      progress.bytes += result.data.length;
      progress.chunks += 1;
      onProgress?.({ ...progress });
      onResult?.(result);
      return passing(result);
    };
    try {
      const { fromBlock, toBlock } = await takeRange();
      const { header, message } = await parts.open({ fromBlock, toBlock }, call.signal, contextValues);
      onHeader?.(header);
      // A response that is the archive itself has no chunks, so it can carry no extensions.
      const raw = header.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() === ARCHIVE_TYPE;
      const assembly = createAssembly({ extensions: raw ? "optional" : extensions });
      // One generator, and functions in it: each further one would cost a chunk some microseconds.
      for await (const body of message) {
        const result = assembly.push(resultOf(body));
        const passed = result && pass(result);
        if (passed !== undefined) {
          yield passed;
        }
      }
      for (const result of assembly.finish()) {
        const passed = pass(result);
        if (passed !== undefined) {
          yield passed;
        }
      }
      await onEnd?.();
    } finally {
      call.abort(); // A caller that stops early does not want the rest.
    }
  }

  function archive(watch: Watch = {}): AsyncGenerator<Uint8Array> {
    return results(watch, ({ data }) => (data.length > 0 ? data : undefined));
  }

  const bytes = (watch?: Watch) => failingWith(archive(watch), fail);

  async function* chunks(): AsyncGenerator<ExportChunk> {
    try {
      yield* results({}, (result) => ({ result }));
    } catch (reason) {
      if (reason instanceof NodeError) {
        yield { error: reason.object };
      }
      throw reason;
    }
  }

  /** Save it in parts, each of which is an export of its own. */
  async function saveParts(target: string, options: SaveOptions): Promise<SavedExport> {
    const asked = await takeRange();
    const saving: PartSaving = {
      ...{ asked, profile, maxRowBytes, signal, onProgress, listSegments: parts.listSegments, retry: parts.retry },
      save({ table, fromBlock, toBlock }, path, watch) {
        const takePart = async () => ({ table, fromBlock, toBlock });
        const part = createExport({ ...parts, options: { ...parts.options, ...watch }, takeRange: takePart });
        return part.saveTo({ file: path }, { force: true });
      },
    };
    const { saveInParts } = await import("./parts/save-in-parts.js"); // Most exports are one stream.
    return saveInParts(saving, target, options);
  }

  async function save(target: string, options: SaveOptions, contextValues: ContextValues): Promise<SavedExport> {
    const exported = await takeRange();
    const { onHeader, asked, header } = expecting();
    let first: ExportResult | undefined;
    const content = archive({
      contextValues,
      onHeader,
      onResult: (result) => {
        first ??= result;
      },
    });
    const { force = false, verify } = options;
    const fileName = () => fileNameFor(header(), exported, profile);
    const saved = await saveArchive(content, {
      target,
      force,
      verify,
      fileName,
      exported: asked,
      signal,
      isAssembled: true,
    });
    const { fromBlock, toBlock } = exported;
    return { ...saved, fromBlock, toBlock, extensions: first?.extensions ?? [] };
  }

  /** What the archive must hold: the range, of the chain that its name says, which comes with the header. */
  function expecting() {
    let header = new Headers();
    return {
      onHeader: (received: Headers) => {
        header = received;
      },
      header: () => header,
      asked: async (): Promise<ExportedRange> => {
        const exported = await takeRange();
        return { ...exported, chainId: chainOf(header, exported) };
      },
    };
  }

  function opened(): Archive {
    const call = followingController(signal);
    const { onHeader, asked } = expecting();
    // A caller that stops early must not wait for the next chunk.
    const onClose = () => call.abort();
    return openAssembled(bytes({ call, onHeader }), { exported: asked, maxRowBytes, signal, onClose });
  }

  function rows(given?: RowOptions): AsyncIterable<CsvRecord>;
  function rows<Table extends TableName>(given: TypedRowOptions<Table>): AsyncIterable<TypedRow<Table>>;
  function rows(given?: RowOptions | TypedRowOptions): AsyncIterable<TypedRecord> {
    const archive = opened();
    return given?.typed === true ? archive.rows(given) : archive.rows(given);
  }

  function toZip() {
    const { onHeader, asked } = expecting();
    return zipInMemory(bytes({ onHeader }), { maxArchiveBytes, exported: asked, maxRowBytes, signal }).catch(fail);
  }

  return {
    range: async () => {
      const { fromBlock, toBlock } = await takeRange();
      return { fromBlock, toBlock };
    },
    chunks: () => failingWith(chunks(), fail),
    bytes() {
      const { onHeader, asked } = expecting();
      const names = createNameCheck(asked);
      return bytes({ onHeader, onResult: ({ data }) => names.push(data), onEnd: names.finish });
    },
    async saveTo(target, options = {}) {
      const inParts = isInParts(options);
      const path = await readTarget(target, ".zip");
      const saving = inParts
        ? saveParts(path, options)
        : startingOver((contextValues) => save(path, options, contextValues));
      return saving.catch(fail);
    },
    files: () => opened().files(),
    rows,
    toZip,
  };
}
