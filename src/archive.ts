/**
 * ZIP archives of CSV files that were exported, without what calls a node.
 *
 * @module tradewire/archive
 */

export type { ArchiveFile } from "./archive/files.js";
export { mergeArchives } from "./archive/merge.js";
export { archiveName, csvName, type ExportName, parseArchiveName, parseCsvName } from "./archive/names.js";
export {
  type Archive,
  type ArchiveOptions,
  openArchive,
  type RowOptions,
  type TypedRowOptions,
} from "./archive/open.js";
export type { SavedArchive } from "./archive/save.js";
export type { TypedBatch, TypedOptions } from "./archive/typed.js";
export type { UnknownPart } from "./archive/unknown-part.js";
export type { Verification } from "./archive/verify.js";
export type { CsvBatch, CsvCount, CsvRecord, CsvRow } from "./csv/index.js";
export {
  CanceledError,
  FileError,
  NodeError,
  ProtocolError,
  RequestError,
  TradewireError,
} from "./errors/index.js";
export { type TableName, tableNames } from "./schema/tables.js";
export type { TypedRecord, TypedRow, TypedValue } from "./schema/typed-row.js";
export type { ArchiveEntry } from "./zip/file.js";
export type { ArchiveSource } from "./zip/seekable.js";
