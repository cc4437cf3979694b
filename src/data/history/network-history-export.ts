import type JSZip from "jszip";
import type { TypedObject } from "../../base/errors/index.js";
import type { SaveTarget } from "../../base/file/save-target.js";
import {
  assertFunction,
  assertKnownKeys,
  assertOneOf,
  assertText,
  parsePositiveInteger,
} from "../../base/input/assert.js";
import { CALL_OPTIONS, type CallOptions, validateCallOptions } from "../../base/input/call-options.js";
import type { ArchiveFile } from "../archive/archive-files.js";
import type { Archive, RowOptions, TypedRowOptions } from "../archive/open-archive.js";
import type { SavedArchive, Verification } from "../archive/save-archive.js";
import type { CsvRecord } from "../csv/csv-format.js";
import type { TableName } from "../schema/table-names.js";
import type { TypedRow } from "../schema/typed-row.js";
import type { ExportChunk } from "./export-chunks.js";
import type { ExportRequest } from "./export-request.js";
import type { BlockRange } from "./segments.js";

/** Progress of an export. */
export interface ExportProgress {
  /** Number of bytes of the archive that have arrived. */
  readonly bytes: number;
  /** Number of chunks that have begun to arrive. */
  readonly chunks: number;
  /** Completed fraction of the range, from 0 to 1. Only for an export in parts: the size of a single stream is unknown. */
  readonly part?: number;
}

/** How an export is made. */
export interface ExportOptions extends CallOptions {
  /** Cancels the export. An incomplete file is removed. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each chunk. */
  readonly onProgress?: ((progress: ExportProgress) => void) | undefined;
  /**
   * Whether the first chunk must contain extensions. The default is `required`, as the profile
   * `specification` sets. Use `optional` for nodes that send none, as deployed v0.78 nodes do. The rule does not apply
   * to a raw HTTP body, which has no chunks.
   */
  readonly extensions?: "required" | "optional" | undefined;
  /**
   * Whether to list the node's segments first and check the range against them. The error then contains the nearest range
   * that can be exported. This costs an additional call, whose response is large for a long history. Otherwise the node
   * refuses an invalid range.
   */
  readonly check?: boolean | undefined;
  /** Whether to list the node's segments first and widen the range to the boundaries of its first and last segment. */
  readonly snap?: boolean | undefined;
  /** Maximum row size in bytes, including quotes and line end; 64 MiB by default. */
  readonly maxRowBytes?: number | undefined;
}

/** How an export is saved. */
export interface SaveOptions {
  /** Whether an existing file is replaced; false by default. */
  readonly force?: boolean | undefined;
  /**
   * How the archive is verified while it arrives. The default is `content`: each file is inflated, and its size and
   * CRC-32 are compared, so that every byte is checked. `structure` only compares the records between the files.
   */
  readonly verify?: Verification | undefined;
  /**
   * Number of parts of the range that are fetched in parallel, from 1, the default, to 100. A node uses one core for an
   * export, so several take less time. The range is split into one part for each segment, or for several segments if it
   * has more than 500. Parts are always verified by content. If a part fails, only that part is fetched again
   * (`retry.tries` of the configuration). Parts are joined in order while others arrive, so that the archive is the same
   * as from a single stream. Until then they are in a temporary folder next to the target.
   */
  readonly parallel?: number | undefined;
  /**
   * A folder that stores the parts until the export is complete. If an export ends early, for whatever reason, the next
   * run continues with them: parts whose bytes have the recorded checksum are not fetched again. The folder is created if
   * it does not exist, and the parts in it are removed at the end.
   */
  readonly resume?: string | undefined;
}

/** A saved export. */
export interface SavedExport extends SavedArchive {
  /** First block. */
  readonly fromBlock: bigint;
  /** Last block, inclusive. */
  readonly toBlock: bigint;
  /** The extensions of the first chunk; none for a raw HTTP body, or if `resume` found the first part in its folder. */
  readonly extensions: readonly TypedObject[];
}

/**
 * An export of network history, which can be consumed in several ways. Each use calls the node again.
 *
 * Every method but `range()` may throw {@link NodeError} if the node answers with an error, {@link ConnectionError} if it
 * is unreachable or the connection is lost, {@link ProtocolError} if the stream or the archive violates a rule or is
 * truncated, {@link RequestError} as `range()` does, and {@link CanceledError} if the signal was aborted.
 */
export interface NetworkHistoryExport<Asked extends TableName = TableName> extends Archive<Asked> {
  /**
   * Returns the blocks to export: the requested range or, with `snap`, the widened one. The node's segments are listed
   * once, and only with `snap` or `check`.
   *
   * @returns the range, inclusive
   * @throws {@link RequestError} with `snap` or `check`, if the node's segments do not form the range
   * @throws {@link NodeError}, {@link ConnectionError} or {@link CanceledError} if the segments cannot be listed
   */
  range(): Promise<BlockRange>;
  /**
   * Reads the chunks, checked against the rules of the stream.
   *
   * @returns the chunks; an error of the node is the last one, and is also thrown, so that it cannot be missed
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError}, {@link RequestError} and
   *   {@link CanceledError} as above, while reading
   */
  chunks(): AsyncIterable<ExportChunk>;
  /**
   * Reads the bytes of the archive.
   *
   * @returns the bytes, split anywhere; each chunk may be kept, but not modified or transferred, since it may be a view
   *   of unread data; if this throws, the bytes before are not a complete archive
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError}, {@link RequestError} and
   *   {@link CanceledError} as above, while reading
   */
  bytes(): AsyncIterable<Uint8Array>;
  /**
   * Saves the archive completely and verified, or not at all.
   *
   * @param target the path of a file, which ends in `.zip`, or of a folder, which exists or ends in a slash; or
   *   `{ file }` or `{ folder }`. In a folder it gets the node's name for it, if that is a valid archive name
   * @param options whether an existing file is replaced, how the archive is verified, how many parts are fetched in
   *   parallel, and the folder that stores them for another run
   * @returns the path, size in bytes and SHA-256 of the file, the files in the archive, how it was verified, and the
   *   range
   * @throws {@link FileError} if the file cannot be written, or exists; otherwise as above; with `parallel` or
   *   `resume` also {@link RequestError} if the node's segments do not form the range, or the folder belongs to
   *   another export or is in use, and {@link ProtocolError} if they are not a chain, or change in the meantime
   *
   * @example
   * const { path, sha256 } = await client.exportNetworkHistory(request).saveTo("archives/");
   *
   * @example
   * await client.exportNetworkHistory(request).saveTo("archives/", { parallel: 4, resume: "parts/" });
   */
  saveTo(target: SaveTarget, options?: SaveOptions): Promise<SavedExport>;
  /**
   * Reads the files of the archive as they arrive, no faster than their rows are consumed. If their names have the
   * specified form, they must cover the complete range.
   *
   * @returns the files, in block order; if this throws, later rows are missing
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError}, {@link RequestError} and
   *   {@link CanceledError} as above; {@link RequestError} also if rows are read twice or too late
   */
  files(): AsyncIterable<ArchiveFile>;
  /**
   * Reads the rows of all files as they arrive. The files are in block order. Rows keep the order of their
   * file, in which the rows of a segment are sorted by the table's primary key, which may differ from their order in time.
   *
   * @param options which columns the records have
   * @returns the rows by column name, `null` for NULL
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError}, {@link RequestError} and
   *   {@link CanceledError} as above, while reading
   *
   * @example
   * for await (const trade of client.exportNetworkHistory(request).rows()) console.log(trade["price"]);
   */
  rows(options?: RowOptions): AsyncIterable<CsvRecord>;
  /**
   * Reads the rows of all files as they arrive, with values of the types that the columns have in the network's tables.
   *
   * @param options `typed: true`, which columns the records have, and a callback for unknown columns and values
   * @returns the typed rows by column name; rows before an error are returned before it is thrown
   * @throws {@link ProtocolError} also if a file lacks a column of its schema version, or a value does not fit its
   *   type; otherwise as above, while reading
   *
   * @example
   * const trades = client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 3000 });
   * for await (const { price, size } of trades.rows({ typed: true })) console.log(price * size);
   */
  rows<Table extends TableName = Asked>(options: TypedRowOptions<Table>): AsyncIterable<TypedRow<Table>>;
  /**
   * Loads the archive into memory.
   *
   * @returns the verified archive
   * @throws {@link ProtocolError} if it is larger than the limit `maxArchiveBytes`, or inflates to more than 1 GiB;
   *   otherwise as above
   */
  toZip(): Promise<JSZip>;
}

/** The call that exports network history. */
export interface Exporter {
  exportNetworkHistory(request: ExportRequest, options?: ExportOptions): Pick<NetworkHistoryExport, "files">;
}

/** The names of {@link ExportOptions}. */
const EXPORT_OPTIONS = {
  ...CALL_OPTIONS,
  onProgress: true,
  extensions: true,
  check: true,
  snap: true,
  maxRowBytes: true,
} as const;

/**
 * Validates the options of an export.
 *
 * @throws {@link RequestError} if an option is unknown or invalid
 */
export function checkExportOptions(options: ExportOptions): void {
  assertKnownKeys("options", options, EXPORT_OPTIONS);
  validateCallOptions(options);
  const { onProgress, extensions, check, snap, maxRowBytes } = options;
  assertFunction("onProgress", onProgress);
  assertOneOf("extensions", extensions, ["required", "optional"]);
  assertOneOf("check", check, [true, false]);
  assertOneOf("snap", snap, [true, false]);
  if (maxRowBytes !== undefined) {
    parsePositiveInteger("maxRowBytes", maxRowBytes, Number.MAX_SAFE_INTEGER);
  }
}

/** Maximum number of parallel fetches: each is a stream, and a node allows 250 per address. */
const MAX_PARALLEL = 100;

/** The names of {@link SaveOptions}. */
const SAVE_OPTIONS = { force: true, verify: true, parallel: true, resume: true } as const;

/**
 * Validates the options for saving an export, and returns whether it is saved in parts.
 *
 * @throws {@link RequestError} if an option is unknown or invalid
 */
export function isInParts(options: SaveOptions): boolean {
  assertKnownKeys("options", options, SAVE_OPTIONS);
  const { force, verify, parallel = 1, resume } = options;
  assertOneOf("force", force, [true, false]);
  assertOneOf("verify", verify, ["content", "structure"]);
  if (resume !== undefined) {
    assertText("resume", resume, "parts/");
  }
  return parsePositiveInteger("parallel", parallel, MAX_PARALLEL) > 1 || resume !== undefined;
}
