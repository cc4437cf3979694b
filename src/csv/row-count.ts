const QUOTE = 0x22;
const LF = 0x0a;

/** Counts the line ends outside quotes of a file that passes, and holds its rows to their limit. */
export interface RowCount {
  /** Line ends so far; the header row has the first of them. */
  readonly ends: number;
  /** Bytes of the row that has begun and not ended; 0 between two rows. */
  readonly open: number;
  /** Whether that row has come to the inside of a quoted field. */
  readonly quoted: boolean;
  /**
   * Count in the next bytes of the file.
   *
   * @param bytes the bytes, split anywhere
   * @returns whether all rows are within the limit
   */
  push(bytes: Buffer): boolean;
}

/**
 * Start to count. Native searches go from quote to quote and from line end to line end; each byte is searched once for
 * both. A doubled quote ends the quotes and begins them again, so it counts for nothing.
 *
 * @param maxRowBytes the most bytes of a row, quotes and line end included
 * @returns the count
 */
export function createRowCount(maxRowBytes: number): RowCount {
  let ends = 0;
  let open = 0;
  let quoted = false;
  return {
    get ends() {
      return ends;
    },
    get open() {
      return open;
    },
    get quoted() {
      return quoted;
    },
    push(bytes) {
      const { length } = bytes;
      let start = -open;
      let end = find(bytes, LF, 0);
      let quote = find(bytes, QUOTE, 0);
      for (;;) {
        if (quoted) {
          while (quote + 1 < length && bytes[quote + 1] === QUOTE) {
            quote = find(bytes, QUOTE, quote + 2);
          }
          if (quote === length) {
            break;
          }
          quoted = false;
          if (end < quote) {
            end = find(bytes, LF, quote + 1);
          }
          quote = find(bytes, QUOTE, quote + 1);
        }
        while (end < quote) {
          if (end + 1 - start > maxRowBytes) {
            return false;
          }
          ends += 1;
          start = end + 1;
          end = find(bytes, LF, start);
        }
        if (quote === length) {
          break;
        }
        quoted = true;
        quote = find(bytes, QUOTE, quote + 1);
      }
      open = length - start;
      return open < maxRowBytes;
    },
  };
}

function find(bytes: Buffer, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at < 0 ? bytes.length : at;
}
