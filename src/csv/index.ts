export { createCarry } from "./carry.js";
export { type CsvCount, checkedCsv } from "./check.js";
export {
  batchRecords,
  type CsvDecodeOptions,
  type CsvSource,
  csvRecords,
  csvRows,
  decodeCsv,
  recordsOf,
} from "./decode.js";
export { type CsvRows, csvLine, encodeCsv } from "./encode.js";
export type { CsvFormat, CsvRecord, CsvRow } from "./format.js";
export type { CsvBatch } from "./reader.js";
