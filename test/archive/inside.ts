export { archiveEntries, UNLIMITED } from "../../src/archive/entries.js";
export { csvFiles, type FileOptions } from "../../src/archive/files.js";
export type { ExportedRange } from "../../src/archive/names.js";
export type { Exported } from "../../src/archive/rules.js";
export { saveArchive } from "../../src/archive/save.js";
export type { Entry } from "../../src/zip/entry.js";
export { inMemory } from "../../src/zip/seekable.js";
