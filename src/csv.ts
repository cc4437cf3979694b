/**
 * PostgreSQL's COPY CSV as rows, and rows as CSV. It loads nothing else of the library.
 *
 * @module tradewire/csv
 */

export {
  type CsvBatch,
  type CsvCount,
  type CsvDecodeOptions,
  type CsvFormat,
  type CsvRecord,
  type CsvRow,
  type CsvRows,
  type CsvSource,
  csvRecords,
  csvRows,
  decodeCsv,
  encodeCsv,
} from "./csv/index.js";
export { ProtocolError, RequestError, TradewireError } from "./errors/index.js";
