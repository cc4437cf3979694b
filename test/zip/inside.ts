export { createArchiveEnd } from "../../src/zip/archive-end.js";
export { inMemory, type RandomAccess } from "../../src/zip/archive-source.js";
export { createByteReader } from "../../src/zip/byte-reader.js";
export type { Entry, EntryOptions } from "../../src/zip/zip-entries.js";
export { streamedEntries } from "../../src/zip/zip-entries.js";
export { LOCAL_HEADER, signatureBytes } from "../../src/zip/zip-format.js";
export type { EntryMeasures, LocalHeader } from "../../src/zip/zip-records.js";
export { readDirectory } from "../../src/zip/zip-records.js";
