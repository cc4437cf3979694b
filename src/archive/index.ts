/**
 * ZIP archives of CSV files that were exported, without what calls a node.
 *
 * @module tradewire/archive
 */

export type { CsvCount } from "../csv/check.js";
export type { CsvRecord, CsvRow } from "../csv/format.js";
export type { CsvBatch } from "../csv/reader.js";
export {
  CanceledError,
  FileError,
  NodeError,
  ProtocolError,
  RequestError,
  TradewireError,
} from "../errors/index.js";
export { type TableName, tableNames } from "../schema/tables.js";
export type { TypedRecord, TypedRow, TypedValue } from "../schema/typed-row.js";
export type { ArchiveEntry } from "../zip/file.js";
export type { ArchiveSource } from "../zip/seekable.js";
export type { ArchiveFile } from "./files.js";
export { mergeArchives } from "./merge.js";
export { archiveName, csvName, type ExportName, parseArchiveName, parseCsvName } from "./names.js";
export {
  type Archive,
  type ArchiveOptions,
  openArchive,
  type RowOptions,
  type TypedRowOptions,
} from "./open.js";
export type { SavedArchive } from "./save.js";
export type { TypedBatch, TypedOptions } from "./typed.js";
export type { UnknownPart } from "./unknown-part.js";
export type { Verification } from "./verify.js";
