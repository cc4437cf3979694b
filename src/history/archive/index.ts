export { archiveColumns } from "./columns.js";
export type { ArchiveFile } from "./files.js";
export { type ArchiveEntry, listEntries } from "./list.js";
export { mergeArchives } from "./merge.js";
export { type Archive, type ArchiveOptions, openArchive, type RowOptions } from "./open.js";
export type { ArchiveSource } from "./stored.js";
export { zipInMemory } from "./to-zip.js";
export { type WrittenFile, writeArchiveFiles } from "./write.js";
