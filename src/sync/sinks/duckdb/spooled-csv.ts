import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { CanceledError, TradewireError } from "../../../base/errors/index.js";
import { fileError, isError } from "../../../base/errors/node-errors.js";
import { temporaryName } from "../../../base/file/temporary-files.js";
import { linkedController } from "../../../base/signal/abort.js";
import type { UnitCsv } from "../../sink.js";
import type { Measures } from "../../unit.js";

/** The maximum number of bytes that wait to be written, besides the last chunk. */
const WRITE_SIZE = 1024 * 1024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** The complete and validated CSV file of a unit, in a temporary file. */
export interface SpooledCsv {
  readonly path: string;
  readonly columns: readonly string[];
  readonly measures: Measures;
  /** Whether every line break ends a row, and none is in a quoted field. */
  readonly plainLines: boolean;
  /** The size of the longest line in bytes, without its line break. */
  readonly longestLine: number;
}

/**
 * Writes the CSV file of a unit to a temporary file, and deletes it after use. DuckDB reads the file only after its content has
 * ended without an error.
 *
 * @throws {@link FileError} if the file cannot be written; {@link CanceledError}; errors of the content and of `use`
 */
export async function withSpooled<T>(
  folder: string,
  csv: UnitCsv,
  signal: AbortSignal,
  use: (spooled: SpooledCsv) => Promise<T>,
): Promise<T> {
  const path = join(folder, await temporaryName());
  const lines = { count: 0, longest: 0, last: 0 };
  let hasReturns = false;
  async function* measured(): AsyncGenerator<Uint8Array> {
    for await (const chunk of csv.content) {
      measureLines(chunk, lines);
      hasReturns ||= chunk.includes(CARRIAGE_RETURN);
      yield chunk;
    }
  }
  const controller = linkedController(signal);
  try {
    const writing = createWriteStream(path, { flags: "wx", highWaterMark: WRITE_SIZE });
    await pipeline(measured, writing, { signal: controller.signal }).catch((reason: unknown) => {
      if (reason instanceof TradewireError) {
        throw reason;
      }
      if (signal.aborted) {
        throw new CanceledError({ cause: reason });
      }
      throw isFileFailure(reason) ? fileError(reason, path) : reason;
    });
    const measures = csv.measures();
    const plainLines = !hasReturns && BigInt(lines.count) === measures.rows + 1n;
    return await use({ path, columns: csv.columns, measures, plainLines, longestLine: lines.longest });
  } finally {
    controller.abort(); // Removes its listener from the caller's signal.
    await rm(path, { force: true }).catch(() => undefined); // The next sync deletes it.
  }
}

/** Updates the line statistics with a chunk: the number of complete lines, and the sizes of the longest and the last line. */
function measureLines(chunk: Uint8Array, lines: { count: number; longest: number; last: number }): void {
  let from = 0;
  for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
    lines.count += 1;
    lines.longest = Math.max(lines.longest, lines.last + at - from);
    lines.last = 0;
    from = at + 1;
  }
  lines.last += chunk.length - from;
}

function isFileFailure(reason: unknown): boolean {
  return isError(reason) && "syscall" in reason;
}
