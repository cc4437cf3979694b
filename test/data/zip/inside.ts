export { createArchiveEnd } from "../../../src/data/zip/archive-end.js";
export { inMemory, type RandomAccess } from "../../../src/data/zip/archive-source.js";
export { createByteReader } from "../../../src/data/zip/byte-reader.js";
export type { Entry, EntryOptions } from "../../../src/data/zip/zip-entries.js";
export { streamedEntries } from "../../../src/data/zip/zip-entries.js";
export { LOCAL_HEADER, signatureBytes } from "../../../src/data/zip/zip-format.js";
export type { EntryMeasures, LocalHeader } from "../../../src/data/zip/zip-records.js";
export { readDirectory } from "../../../src/data/zip/zip-records.js";
