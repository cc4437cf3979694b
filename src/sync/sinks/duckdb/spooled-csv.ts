import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { CanceledError, TradewireError } from "../../../errors/index.js";
import { fileError, isError } from "../../../errors/node-errors.js";
import { temporaryName } from "../../../file/temporary-files.js";
import { linkedController } from "../../../signal/abort.js";
import type { UnitCsv } from "../../sink.js";
import type { Measures } from "../../unit.js";

/** How many bytes wait to be written, at most, beside the piece that arrives. */
const WRITE_SIZE = 1024 * 1024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** The CSV file of a unit, whole and checked, in a temporary file. */
export interface SpooledCsv {
  readonly path: string;
  readonly columns: readonly string[];
  readonly measures: Measures;
  /** Whether all line breaks are ends of rows: none stands in quotes. */
  readonly plainLines: boolean;
  /** Bytes of the longest line, without its end. */
  readonly longestLine: number;
}

/**
 * Write the CSV file of a unit to a temporary file, which is there while it is used. DuckDB gets to see the file only
 * once the content has ended without an error.
 *
 * @param folder where the file is written
 * @param csv the unit's file; its errors are thrown unchanged
 * @param signal ends the writing
 * @param use is given the file
 * @returns what `use` returns
 * @throws {@link FileError} where the file cannot be written; {@link CanceledError}; all that the content and `use` throw
 */
export async function withSpooled<T>(
  folder: string,
  csv: UnitCsv,
  signal: AbortSignal,
  use: (spooled: SpooledCsv) => Promise<T>,
): Promise<T> {
  const path = join(folder, await temporaryName());
  const lines = { count: 0, longest: 0, last: 0 };
  let returns = false;
  async function* passing(): AsyncGenerator<Uint8Array> {
    for await (const piece of csv.content) {
      measureLines(piece, lines);
      returns ||= piece.includes(CARRIAGE_RETURN);
      yield piece;
    }
  }
  const ending = linkedController(signal);
  try {
    const writing = createWriteStream(path, { flags: "wx", highWaterMark: WRITE_SIZE });
    await pipeline(passing, writing, { signal: ending.signal }).catch((reason: unknown) => {
      if (reason instanceof TradewireError) {
        throw reason;
      }
      if (signal.aborted) {
        throw new CanceledError({ cause: reason });
      }
      throw isFileFailure(reason) ? fileError(reason, path) : reason;
    });
    const measures = csv.measures();
    const plainLines = !returns && BigInt(lines.count) === measures.rows + 1n;
    return await use({ path, columns: csv.columns, measures, plainLines, longestLine: lines.longest });
  } finally {
    ending.abort(); // Nothing stays at the caller's signal.
    await rm(path, { force: true }).catch(() => undefined); // The next sync sweeps it.
  }
}

/** Add a piece to what is known of the lines: how many have ended, and how long the longest and the last are so far. */
function measureLines(piece: Uint8Array, lines: { count: number; longest: number; last: number }): void {
  let from = 0;
  for (let at = piece.indexOf(LINE_FEED); at !== -1; at = piece.indexOf(LINE_FEED, from)) {
    lines.count += 1;
    lines.longest = Math.max(lines.longest, lines.last + at - from);
    lines.last = 0;
    from = at + 1;
  }
  lines.last += piece.length - from;
}

function isFileFailure(reason: unknown): boolean {
  return isError(reason) && "syscall" in reason;
}
