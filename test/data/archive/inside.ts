export { csvFiles, type FileOptions } from "../../../src/data/archive/archive-files.js";
export type { Exported } from "../../../src/data/archive/export-entries.js";
export { archiveEntries, UNLIMITED } from "../../../src/data/archive/export-entries.js";
export type { ExportedRange } from "../../../src/data/archive/export-names.js";
export { saveArchive } from "../../../src/data/archive/save-archive.js";
export { inMemory } from "../../../src/data/zip/archive-source.js";
export type { Entry } from "../../../src/data/zip/zip-entries.js";
