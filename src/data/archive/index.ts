/**
 * Reads and merges exported ZIP archives of CSV files. This entry point does not call nodes.
 *
 * @module tradewire/archive
 */

export {
  CanceledError,
  FileError,
  NodeError,
  ProtocolError,
  RequestError,
  TradewireError,
} from "../../base/errors/index.js";
export type { CsvCount } from "../csv/check-csv.js";
export type { CsvRecord, CsvRow } from "../csv/csv-format.js";
export type { CsvBatch } from "../csv/csv-parser.js";
export { readTable, type TableName, tableNames } from "../schema/table-names.js";
export type { TypedRecord, TypedRow, TypedValue } from "../schema/typed-row.js";
export type { ArchiveSource } from "../zip/archive-source.js";
export type { ArchiveEntry } from "../zip/zip-entries.js";
export type { ArchiveFile } from "./archive-files.js";
export { archiveName, csvName, type ExportName, parseArchiveName, parseCsvName } from "./export-names.js";
export { mergeArchives } from "./merge-archives.js";
export {
  type Archive,
  type ArchiveOptions,
  openArchive,
  type RowOptions,
  type TypedRowOptions,
} from "./open-archive.js";
export type { SavedArchive, Verification } from "./save-archive.js";
export type { TypedBatch, TypedOptions, UnknownPart } from "./typed-rows.js";
