import { type TypedBatch, type TypedOptions, typedBatches } from "../archive/typed.js";
import type { CsvRow } from "../csv/format.js";
import type { CsvBatch } from "../csv/reader.js";
import { ProtocolError } from "../errors/index.js";
import { checkFile, type ExpectedFile, noFile, secondFile } from "../history/expected-file.js";
import type { ExportOptions, NetworkHistoryExport } from "../history/network-history-export.js";
import type { ExportRequest } from "../history/request.js";
import type { TypedValue } from "../schema/typed-row.js";
import type { PartOfSegment } from "./follow-position.js";
import { createRowsDigest } from "./rows-digest.js";

/** Exports history. */
export interface Exporter {
  exportNetworkHistory(request: ExportRequest, options?: ExportOptions): Pick<NetworkHistoryExport, "files">;
}

/** How the rows of a segment are read. */
export interface SegmentRowsOptions extends ExportOptions {
  /** How rows are typed; `undefined` for texts. */
  readonly typed: TypedOptions | undefined;
}

/** Rows of a segment, some of many. */
export interface RowsOfSegment extends TypedBatch {
  /**
   * Tell how much of the segment was handed out with the first rows of these.
   *
   * @param count how many of these
   */
  partAfter(count: number): PartOfSegment;
}

/** Rows are gathered until they have about so many characters: taking many at once costs less, also to keep a cursor. */
const GATHERED = 256 * 1024;

/**
 * Read the rows of a segment as they arrive. It ends without an error only after the whole archive, and what the node
 * says behind it, were checked.
 *
 * @param client asks the node
 * @param expected the table and the segment
 * @param given the rows that were handed out before: they are left out, and must be the same
 * @param options the signal, the limits, and whether rows are typed
 * @returns the rows, in the order of the file; those before a mistake come before the error
 * @throws {@link ProtocolError} where the answer is not the segment, or the rows are not those that were handed out
 *   before; all that `exportNetworkHistory` throws
 */
export async function* segmentRows(
  client: Exporter,
  expected: ExpectedFile,
  given: PartOfSegment = { rows: 0, digest: "" },
  { typed, ...options }: SegmentRowsOptions,
): AsyncGenerator<RowsOfSegment, void, undefined> {
  const { table, fromBlock, toBlock } = expected;
  let gathering: Gathering | undefined;
  let failure: { readonly reason: unknown } | undefined;
  try {
    for await (const file of client.exportNetworkHistory({ table, fromBlock, toBlock }, options).files()) {
      if (gathering !== undefined) {
        throw secondFile(expected, file);
      }
      checkFile(file, expected);
      const { columns } = file;
      gathering = startGathering(columns);
      let raw: CsvBatch = { columns, rows: [] };
      async function* noted(batches: AsyncGenerator<CsvBatch, void, undefined>) {
        for await (raw of batches) {
          yield raw;
        }
      }
      const plain = noted(file.batches());
      for await (const { rows } of typed ? typedBatches(file, plain, typed, async () => table) : plain) {
        // Where a row is wrong, there are fewer typed ones.
        const repeated = Math.min(rows.length, Math.max(0, given.rows - gathering.seen()));
        if (repeated > 0) {
          gathering.pass(raw.rows.slice(0, repeated));
          if (gathering.seen() === given.rows && gathering.digest() !== given.digest) {
            throw changed(expected, given.rows, "others");
          }
        }
        if (gathering.add(raw.rows.slice(repeated, rows.length), rows.slice(repeated)) >= GATHERED) {
          yield gathering.take();
        }
      }
    }
    if (gathering === undefined) {
      throw noFile(expected);
    }
    if (gathering.seen() < given.rows) {
      throw changed(expected, given.rows, `${gathering.seen()} in all`);
    }
  } catch (reason) {
    failure = { reason };
  }
  const rest = gathering?.take();
  if (rest !== undefined && rest.rows.length > 0) {
    yield rest;
  }
  if (failure !== undefined) {
    throw failure.reason;
  }
}

type Gathering = ReturnType<typeof startGathering>;

/** Gathers the rows of a file, and counts all that pass. */
function startGathering(columns: readonly string[]) {
  const digest = createRowsDigest(columns);
  let seen = 0;
  let size = 0;
  let raw: CsvRow[] = [];
  let rows: TypedValue[][] = [];
  let digestAfter = digest.fixed();
  return {
    /** How many rows have passed. */
    seen: () => seen,
    digest: () => digest.fixed()([]),
    /** Count rows that were handed out before. None was gathered yet. */
    pass(given: readonly CsvRow[]): void {
      digest.add(given);
      seen += given.length;
      digestAfter = digest.fixed();
    },
    /** Gather rows, and tell how many characters there are now. */
    add(fresh: readonly CsvRow[], values: readonly TypedValue[][]): number {
      size += digest.add(fresh);
      seen += fresh.length;
      raw = raw.concat(fresh);
      rows = rows.concat(values);
      return size;
    },
    /** Take what was gathered. */
    take(): RowsOfSegment {
      const [texts, after, before] = [raw, digestAfter, seen - raw.length];
      const taken = {
        columns,
        rows,
        partAfter: (count: number) => ({ rows: before + count, digest: after(texts.slice(0, count)) }),
      };
      [raw, rows, size, digestAfter] = [[], [], 0, digest.fixed()];
      return taken;
    },
  };
}

function changed({ table, fromBlock, toBlock }: ExpectedFile, count: number, now: string): ProtocolError {
  return new ProtocolError(
    `the node sends other rows of ${table}, blocks ${fromBlock} to ${toBlock}, than before: ${count} were handed out, and now there are ${now}`,
    {
      advice:
        "Rows that were handed out may be wrong, or the node is: drop those of these blocks, and begin anew with the segment.",
    },
  );
}
