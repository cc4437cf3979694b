export { createByteReader } from "../../src/zip/byte-reader.js";
export { readDirectory } from "../../src/zip/directory.js";
export { createArchiveEnd } from "../../src/zip/end.js";
export type { Entry, Reading } from "../../src/zip/entry.js";
export type { LocalHeader, Measures } from "../../src/zip/records.js";
export { inMemory } from "../../src/zip/seekable.js";
export { LOCAL_HEADER, signatureBytes } from "../../src/zip/signatures.js";
export { streamedEntries } from "../../src/zip/stream.js";
