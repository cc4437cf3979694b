/**
 * PostgreSQL's COPY CSV as rows, and rows as CSV. It loads nothing else of the library.
 *
 * @module tradewire/csv
 */

export { ProtocolError, RequestError, TradewireError } from "../errors/index.js";
export type { CsvCount } from "./check.js";
export { type CsvDecodeOptions, type CsvSource, csvRecords, csvRows, decodeCsv } from "./decode.js";
export { type CsvRows, encodeCsv } from "./encode.js";
export type { CsvFormat, CsvRecord, CsvRow } from "./format.js";
export type { CsvBatch } from "./reader.js";
