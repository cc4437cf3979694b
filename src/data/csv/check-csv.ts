import { isUtf8 } from "node:buffer";
import { csvRowError, noHeader, notUtf8, rowTooLong, truncatedInQuotedField, truncatedInRow } from "./csv-format.js";
import { decodeUtf8 } from "./csv-parser.js";
import { type CsvDecodeOptions, parseDecodeOptions } from "./decode-csv.js";

/** How large a CSV file is. */
export interface CsvCount {
  /** Number of rows, without the header row. */
  readonly rows: number;
  /** Size in bytes, including the header row. */
  readonly bytes: number;
}

/**
 * Passes the bytes of a CSV file through unchanged while checking that they are UTF-8, that no row exceeds the size limit, and
 * that the file ends outside quotes and with a line end. Rows are counted by line ends outside quotes, which is their number for
 * every file that `decodeCsv` accepts.
 *
 * Fields are not parsed. `decodeCsv` rejects files that pass here: with a row that has more or fewer fields than the header row,
 * a quote inside an unquoted field, text after a closing quote, a carriage return outside quotes without a line feed, or a
 * malformed header row. The loader of the file must detect these.
 *
 * @throws {@link ProtocolError} while reading, with file and row: `DATA_LOSS`, or `RESOURCE_EXHAUSTED` if a row exceeds
 *   the size limit
 */
export async function* checkedCsv(
  source: AsyncIterable<Buffer>,
  options: CsvDecodeOptions = {},
): AsyncGenerator<Buffer, CsvCount, undefined> {
  const { name, maxRowBytes, finalNewline } = parseDecodeOptions(options);
  const utf8 = createUtf8Check();
  const counter = createRowCounter(maxRowBytes);
  let size = 0;
  for await (const bytes of source) {
    const validBytes = utf8.push(bytes);
    const isWithinLimit = counter.push(bytes.subarray(0, validBytes));
    if (!isWithinLimit || validBytes < bytes.length) {
      throw csvRowError(name, counter.lineEnds, isWithinLimit ? notUtf8 : rowTooLong(maxRowBytes));
    }
    size += bytes.length;
    yield bytes;
  }
  if (size === 0) {
    throw csvRowError(name, 0, noHeader);
  }
  const isTruncated = counter.inQuotes || (counter.openBytes > 0 && finalNewline === "required");
  if (isTruncated || !utf8.complete) {
    const truncated = counter.inQuotes ? truncatedInQuotedField : truncatedInRow;
    throw csvRowError(name, counter.lineEnds, utf8.complete ? truncated : notUtf8);
  }
  return { rows: counter.lineEnds - (counter.openBytes > 0 ? 0 : 1), bytes: size };
}

const QUOTE = 0x22;
const LF = 0x0a;

/** Counts the line ends outside quotes of a file that streams through, and enforces the maximum row size. */
interface RowCounter {
  /** Line ends so far; the first is that of the header row. */
  readonly lineEnds: number;
  /** Buffer of the row that has begun and not ended; 0 between two rows. */
  readonly openBytes: number;
  /** Whether that row is inside a quoted field. */
  readonly inQuotes: boolean;
  /** Counts the line ends in the next bytes, which may split rows anywhere. Returns whether all rows are within the limit. */
  push(bytes: Buffer): boolean;
}

/**
 * Creates a counter. Native searches go from quote to quote and from line end to line end, so each byte is searched once
 * for both. A doubled quote ends the quotes and begins them again, so it has no effect.
 */
function createRowCounter(maxRowBytes: number): RowCounter {
  let lineEnds = 0;
  let openBytes = 0;
  let inQuotes = false;
  return {
    get lineEnds() {
      return lineEnds;
    },
    get openBytes() {
      return openBytes;
    },
    get inQuotes() {
      return inQuotes;
    },
    push(bytes) {
      const { length } = bytes;
      let start = -openBytes;
      let end = find(bytes, LF, 0);
      let quote = find(bytes, QUOTE, 0);
      for (;;) {
        if (inQuotes) {
          while (quote + 1 < length && bytes[quote + 1] === QUOTE) {
            quote = find(bytes, QUOTE, quote + 2);
          }
          if (quote === length) {
            break;
          }
          inQuotes = false;
          if (end < quote) {
            end = find(bytes, LF, quote + 1);
          }
          quote = find(bytes, QUOTE, quote + 1);
        }
        while (end < quote) {
          if (end + 1 - start > maxRowBytes) {
            return false;
          }
          lineEnds += 1;
          start = end + 1;
          end = find(bytes, LF, start);
        }
        if (quote === length) {
          break;
        }
        inQuotes = true;
        quote = find(bytes, QUOTE, quote + 1);
      }
      openBytes = length - start;
      return openBytes < maxRowBytes;
    },
  };
}

function find(bytes: Buffer, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at < 0 ? bytes.length : at;
}

/** Checks that the bytes that pass are UTF-8. */
interface Utf8Check {
  /**
   * Checks the next bytes, split anywhere. Returns the number before the first invalid one, or of all if none is
   * invalid.
   */
  push(bytes: Buffer): number;
  /** Whether the bytes so far do not end inside a character. */
  readonly complete: boolean;
}

/** Creates a check. Only a character that is split is copied; everything else is checked in place. */
function createUtf8Check(): Utf8Check {
  let partial = Buffer.alloc(0);
  return {
    get complete() {
      return partial.length === 0;
    },
    push(bytes) {
      const missing = partial.length === 0 ? 0 : characterLength(partial[0]) - partial.length;
      const added = bytes.subarray(0, missing);
      if (!added.every(isContinuation)) {
        return 0;
      }
      partial = Buffer.concat([partial, added]);
      if (added.length < missing) {
        return bytes.length;
      }
      if (!isUtf8(partial)) {
        return 0;
      }
      const rest = bytes.subarray(missing);
      const complete = rest.subarray(0, rest.length - partialLength(rest));
      if (!isUtf8(complete)) {
        return missing + Buffer.byteLength(decodeUtf8(complete).text);
      }
      partial = Buffer.from(rest.subarray(complete.length));
      return bytes.length;
    },
  };
}

/** The number of bytes at the end that belong to an incomplete character. */
function partialLength(bytes: Buffer): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length++) {
    const byte = bytes[bytes.length - length] ?? 0;
    if (!isContinuation(byte)) {
      return characterLength(byte) > length ? length : 0;
    }
  }
  return 0;
}

/** Whether a byte is part of a character but not its first byte. */
function isContinuation(byte: number): boolean {
  return byte >> 6 === 0b10;
}

/** The length of a character in bytes, given its first byte. */
function characterLength(first = 0): number {
  if (first < 0xc0) {
    return 1;
  }
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}
