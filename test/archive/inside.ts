export { csvFiles, type FileOptions } from "../../src/archive/archive-files.js";
export type { Exported } from "../../src/archive/export-entries.js";
export { archiveEntries, UNLIMITED } from "../../src/archive/export-entries.js";
export type { ExportedRange } from "../../src/archive/export-names.js";
export { saveArchive } from "../../src/archive/save-archive.js";
export { inMemory } from "../../src/zip/archive-source.js";
export type { Entry } from "../../src/zip/zip-entries.js";
