import { csvRowError, cutInQuotedField, cutInRow, noHeader, notUtf8, rowTooLong } from "./csv-error.js";
import { type CsvDecodeOptions, settingsOf } from "./decode.js";
import { createRowCount } from "./row-count.js";
import { createUtf8Check } from "./utf8.js";

/** How much a CSV file is. */
export interface CsvCount {
  /** Rows, without the header row. */
  readonly rows: number;
  /** Size in bytes, header row included. */
  readonly bytes: number;
}

/**
 * Pass the bytes of a CSV file on as they are, and check on the way that it may be one: that it is UTF-8, that no row is
 * over the limit, and that it ends outside quotes and with a line end. The rows are counted, which goes by line ends
 * outside quotes: for every file that `decodeCsv` accepts this is the number of its rows.
 *
 * Fields are not looked at. What `decodeCsv` refuses and this does not: a row with more or fewer fields than the header
 * row, a quote inside an unquoted field, text behind a closing quote, a carriage return outside quotes that no line feed
 * follows, and mistakes in the header row. Whoever loads the file has to find these.
 *
 * @param source the bytes of the file, split anywhere
 * @param options as for `decodeCsv`
 * @returns yields the same bytes, each part once it is checked; returns what was counted
 * @throws {@link ProtocolError} while reading, naming file and row: `DATA_LOSS`, or `RESOURCE_EXHAUSTED` where a row is
 *   over the limit
 */
export async function* checkedCsv(
  source: AsyncIterable<Buffer>,
  options: CsvDecodeOptions = {},
): AsyncGenerator<Buffer, CsvCount, undefined> {
  const { name, maxRowBytes, finalNewline } = settingsOf(options);
  const utf8 = createUtf8Check();
  const count = createRowCount(maxRowBytes);
  let size = 0;
  for await (const bytes of source) {
    const good = utf8.push(bytes);
    const within = count.push(bytes.subarray(0, good));
    if (!within || good < bytes.length) {
      throw csvRowError(name, count.ends, within ? notUtf8 : rowTooLong(maxRowBytes));
    }
    size += bytes.length;
    yield bytes;
  }
  if (size === 0) {
    throw csvRowError(name, 0, noHeader);
  }
  const cut = count.quoted || (count.open > 0 && finalNewline === "required");
  if (cut || !utf8.whole) {
    throw csvRowError(name, count.ends, utf8.whole ? (count.quoted ? cutInQuotedField : cutInRow) : notUtf8);
  }
  return { rows: count.ends - (count.open > 0 ? 0 : 1), bytes: size };
}
