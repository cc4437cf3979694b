export type { ArchiveSource } from "../zip/file.js";
export { type ArchiveEntry, listEntries } from "../zip/list.js";
export { type WrittenFile, writeArchiveFiles } from "../zip/write.js";
export { archiveColumns } from "./columns.js";
export type { ArchiveFile } from "./files.js";
export { mergeArchives } from "./merge.js";
export { type Archive, type ArchiveOptions, openArchive, type RowOptions } from "./open.js";
export { zipInMemory } from "./to-zip.js";
