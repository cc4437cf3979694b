import type { CallOptions } from "@connectrpc/connect";
import type JSZip from "jszip";
import type { ArchiveFile } from "../archive/files.js";
import type { Archive, RowOptions } from "../archive/open.js";
import type { SavedArchive } from "../archive/save.js";
import type { CsvRecord } from "../csv/index.js";
import type { TypedObject } from "../errors/index.js";
import type { ExportChunk } from "./chunks.js";
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
