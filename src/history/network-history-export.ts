import type JSZip from "jszip";
import type { ArchiveFile } from "../archive/files.js";
import type { Archive, RowOptions, TypedRowOptions } from "../archive/open.js";
import type { SavedArchive } from "../archive/save.js";
import type { Verification } from "../archive/verify.js";
import type { CsvRecord } from "../csv/format.js";
import type { TypedObject } from "../errors/index.js";
import type { SaveTarget } from "../file/target.js";
import type { CallOptions } from "../given/call-options.js";
import type { TableName } from "../schema/tables.js";
import type { TypedRow } from "../schema/typed-row.js";
import type { ExportChunk } from "./chunks.js";
import type { BlockRange } from "./segments.js";

/** How far an export has come. */
export interface ExportProgress {
  /** Bytes of the archive that have arrived. */
  readonly bytes: number;
  /** Chunks that have arrived. */
  readonly chunks: number;
  /** How much of the range is there, from 0 to 1; only of an export in parts, as nothing tells the size of one stream. */
  readonly part?: number;
}

/** How an export is made. */
export interface ExportOptions extends CallOptions {
  /** Ends the export. A file that was begun is removed. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each chunk. */
  readonly onProgress?: ((progress: ExportProgress) => void) | undefined;
  /**
   * Whether the first chunk must carry extensions. The default is `required`, by the specification (2.7). Use
   * `optional` for nodes that send none, as deployed v0.78 nodes do. A raw HTTP body has no chunks, so the rule does
   * not apply to it.
   */
  readonly extensions?: "required" | "optional" | undefined;
  /**
   * Ask the node for its segments first, and check the range against them. The error then names the nearest range that
   * can be exported. This costs a further call, whose answer is large for a long history; without it the node refuses a
   * wrong range.
   */
  readonly check?: boolean | undefined;
  /** Ask the node for its segments first, and widen the range to the boundaries of its first and its last segment. */
  readonly snap?: boolean | undefined;
  /** The most bytes of a row, quotes and line end included, where rows are read; 64 MiB by default. */
  readonly maxRowBytes?: number | undefined;
}

/** How an export is saved. */
export interface SaveOptions {
  /** Whether a file that exists is replaced; false by default. */
  readonly force?: boolean | undefined;
  /**
   * How the archive is checked while it arrives. The default is `content`: each file is inflated, and its size and
   * CRC-32 are compared, so that no byte of it can be wrong. `structure` compares the records between the files only.
   */
  readonly verify?: Verification | undefined;
  /**
   * How many parts of the range are fetched at once, from 1, the default, to 100. A node makes an export on one core, so
   * that several take less time. The range is cut into a part for each segment, or for several where it has more than
   * 500. Parts are always checked by their content, a part that breaks off is fetched again alone (`retry.tries` of the
   * configuration), and they are joined in their order while others come, so that the archive is the one that a single
   * stream brings. Until then they are in a temporary folder beside the target.
   */
  readonly parallel?: number | undefined;
  /**
   * A folder that keeps the parts until the export is complete. An export that was ended, in whatever way, goes on with
   * them when it is made again: those whose bytes have the checksum that was noted are not fetched. It is made where it
   * does not exist, and the parts in it are removed at the end.
   */
  readonly resume?: string | undefined;
}

/** A saved export. */
export interface SavedExport extends SavedArchive {
  /** First block. */
  readonly fromBlock: bigint;
  /** Last block, inclusive. */
  readonly toBlock: bigint;
  /** The extensions of the first chunk; none over a raw HTTP body, or where `resume` has found the first part in its folder. */
  readonly extensions: readonly TypedObject[];
}

/**
 * An export of network history (specification, 4.1), which can be consumed in several ways. Each use calls the node
 * anew.
 *
 * Every method but `range()` may throw {@link NodeError} where the node answers with an error, {@link ConnectionError}
 * where it cannot be reached or the connection is lost, {@link ProtocolError} where the stream or the archive breaks a
 * rule or is cut short, {@link RequestError} as `range()` does, and {@link CanceledError} where the signal was aborted.
 */
export interface NetworkHistoryExport<Asked extends TableName = TableName> extends Archive<Asked> {
  /**
   * Get the blocks that are exported: the range asked for or, with `snap`, the widened one. The node is asked for its
   * segments once, and only with `snap` or `check`.
   *
   * @returns the range, both ends inclusive
   * @throws {@link RequestError} with `snap` or `check`, where the node's segments do not make up the range
   * @throws {@link NodeError}, {@link ConnectionError} or {@link CanceledError} where the segments cannot be listed
   */
  range(): Promise<BlockRange>;
  /**
   * Read the chunks (specification, 2.7), checked against the rules of the stream.
   *
   * @returns the chunks; an error of the node is the last one, and is then thrown too, so that it cannot be missed
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError}, {@link RequestError} and
   *   {@link CanceledError} as said above, while reading
   */
  chunks(): AsyncIterable<ExportChunk>;
  /**
   * Read the bytes of the archive.
   *
   * @returns the bytes, split anywhere, which must not be changed nor transferred: they may be a view of what has yet to
   *   be read; if this throws, the bytes before are not a whole archive
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError}, {@link RequestError} and
   *   {@link CanceledError} as said above, while reading
   */
  bytes(): AsyncIterable<Uint8Array>;
  /**
   * Save the archive: whole and checked, or not at all.
   *
   * @param target the path of a file, which ends in `.zip`, or of a folder, which exists or ends in a slash; or
   *   `{ file }` or `{ folder }`. In a folder it takes the node's name for it, where that has the specified form
   *   (specification, 4.1)
   * @param options whether a file that exists is replaced, how the archive is checked, how many parts of it are fetched
   *   at once, and the folder that keeps them for another run
   * @returns the path, size in bytes and SHA-256 of the file, the files in the archive, the check that was made, and
   *   the range
   * @throws {@link FileError} where the file cannot be written, or exists; all else as said above; with `parallel` or
   *   `resume` also {@link RequestError} where the node's segments do not make up the range, or the folder is of another
   *   export or in use, and {@link ProtocolError} where they are no chain, or change meanwhile
   *
   * @example
   * const { path, sha256 } = await client.exportNetworkHistory(request).saveTo("archives/");
   *
   * @example
   * await client.exportNetworkHistory(request).saveTo("archives/", { parallel: 4, resume: "parts/" });
   */
  saveTo(target: SaveTarget, options?: SaveOptions): Promise<SavedExport>;
  /**
   * Read the files of the archive as they arrive, no faster than their rows are taken. Where their names have the
   * specified form, they must cover the whole range.
   *
   * @returns the files, in the order of their blocks; if this throws, rows are missing behind those that came before
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError}, {@link RequestError} and
   *   {@link CanceledError} as said above; {@link RequestError} also where rows are taken twice or too late
   */
  files(): AsyncIterable<ArchiveFile>;
  /**
   * Read the rows of all files as they arrive. The files are in the order of their blocks. Rows keep the order of their
   * file, where those of a segment stand in the order of the table's primary key, which need not be that of time.
   *
   * @param options which columns the records have
   * @returns the rows by the names of their columns, `null` for NULL
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError}, {@link RequestError} and
   *   {@link CanceledError} as said above, while reading
   *
   * @example
   * for await (const trade of client.exportNetworkHistory(request).rows()) console.log(trade["price"]);
   */
  rows(options?: RowOptions): AsyncIterable<CsvRecord>;
  /**
   * Read the rows of all files as they arrive, and give each value the type that its column has in the network's tables.
   *
   * @param options `typed: true`, which columns the records have, and who is told of what this release does not know
   * @returns the typed rows by the names of their columns; those before a mistake come before the error
   * @throws {@link ProtocolError} also where a file lacks a column of its schema version, or a value does not fit its
   *   type; all else as said above, while reading
   *
   * @example
   * const trades = client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 3000 });
   * for await (const { price, size } of trades.rows({ typed: true })) console.log(price * size);
   */
  rows<Table extends TableName = Asked>(options: TypedRowOptions<Table>): AsyncIterable<TypedRow<Table>>;
  /**
   * Take the archive into memory.
   *
   * @returns the archive, checked
   * @throws {@link ProtocolError} where it is larger than the limit `maxArchiveBytes`, or inflates to more than 1 GiB;
   *   all else as said above
   */
  toZip(): Promise<JSZip>;
}
