import type { CsvRecord } from "../csv/format.js";
import type { CsvBatch } from "../csv/reader.js";
import { requireFunction, requireKnown, whole } from "../errors/check-values.js";
import type { SavedFile } from "../file/save-whole.js";
import type { SaveTarget } from "../file/target.js";
import { CALL_OPTIONS, type CallOptions, checkCallOptions } from "../given/call-options.js";

/** How an export of the ledger is made. */
export interface LedgerOptions extends CallOptions {
  /** Ends the export. A file that was begun is removed. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each chunk with how many bytes and chunks have arrived. */
  readonly onProgress?: ((progress: { readonly bytes: number; readonly chunks: number }) => void) | undefined;
  /** The most bytes of a row, quotes and line end included; 64 MiB by default. */
  readonly maxRowBytes?: number | undefined;
}

/**
 * Check how an export of the ledger is to be made.
 *
 * @param options how
 * @throws {@link RequestError} where an option is unknown or wrong
 */
export function checkLedgerOptions(options: LedgerOptions): void {
  requireKnown("options", options, { ...CALL_OPTIONS, onProgress: true, maxRowBytes: true });
  checkCallOptions(options);
  requireFunction("onProgress", options.onProgress);
  if (options.maxRowBytes !== undefined) {
    whole("maxRowBytes", options.maxRowBytes, Number.MAX_SAFE_INTEGER);
  }
}

/** A saved export of the ledger. */
export interface SavedLedger extends SavedFile {
  /** The names in the header row. */
  readonly columns: readonly string[];
  /** How many rows follow it. */
  readonly rows: number;
}

/**
 * An export of a party's ledger, which can be consumed in several ways. Each use calls the node anew.
 *
 * The body is one CSV file, which has no mark at its end. It is whole where the call has ended well, every row is as
 * long as the header row, and the last one is ended too. An error object that a gateway has written behind the data, or
 * behind the place where it was cut, is the node's error: in CSV that is valid it cannot stand, as each quote in a value
 * is doubled.
 *
 * Every method may throw {@link NodeError} where the node answers with an error, {@link ConnectionError} where it cannot
 * be reached or the connection is lost, {@link ProtocolError} where the body is no CSV or was cut, and
 * {@link CanceledError} where the signal was aborted.
 */
export interface LedgerExport {
  /**
   * Read the bytes of the CSV file.
   *
   * @returns the bytes, split anywhere; if this throws, the bytes before are not a whole file
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError} and {@link CanceledError} as said above,
   *   while reading
   */
  bytes(): AsyncIterable<Uint8Array>;
  /**
   * Read the rows as they arrive.
   *
   * @returns the rows by the names of their columns, `null` for NULL; those before a mistake come before the error
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError} and {@link CanceledError} as said above,
   *   while reading
   *
   * @example
   * for await (const entry of client.exportLedgerEntries({ partyId }).rows()) console.log(entry["quantity"]);
   */
  rows(): AsyncIterable<CsvRecord>;
  /**
   * Read the rows as arrays, many at once. This is faster than `rows()`.
   *
   * @returns batches of rows, at least one even where there are no entries
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError} and {@link CanceledError} as said above,
   *   while reading
   */
  batches(): AsyncIterable<CsvBatch>;
  /**
   * Save the CSV file: whole and checked, or not at all.
   *
   * @param target the path of a file, which ends in `.csv`, or of a folder, which exists or ends in a slash; or
   *   `{ file }` or `{ folder }`. In a folder it takes the node's name for it, where that has the form of one
   * @param options whether a file that exists is replaced; false by default
   * @returns the path, size in bytes and SHA-256 of the file, its columns, and how many rows it has
   * @throws {@link FileError} where the file cannot be written, or exists; all else as said above
   *
   * @example
   * const { path, rows } = await client.exportLedgerEntries({ partyId }).saveTo("ledger.csv");
   */
  saveTo(target: SaveTarget, options?: { readonly force?: boolean | undefined }): Promise<SavedLedger>;
}
