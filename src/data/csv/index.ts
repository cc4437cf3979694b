/**
 * Decodes and encodes the CSV format of PostgreSQL's COPY. This entry point loads no other part of the library.
 *
 * @module tradewire/csv
 */

export { ProtocolError, RequestError, TradewireError } from "../../base/errors/index.js";
export type { CsvCount } from "./check-csv.js";
export type { CsvFormat, CsvRecord, CsvRow } from "./csv-format.js";
export type { CsvBatch } from "./csv-parser.js";
export { type CsvDecodeOptions, type CsvSource, csvRecords, csvRows, decodeCsv } from "./decode-csv.js";
export { type CsvRows, encodeCsv } from "./encode-csv.js";
