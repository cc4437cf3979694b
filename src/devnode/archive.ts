import { csvName } from "../archive/names.js";
import { RequestError } from "../errors/index.js";
import { checkRange, nearestText, type SegmentSpan, schemaSpans } from "../history/segments.js";
import type { TableName } from "../schema/tables.js";
import { writeArchiveFiles } from "../zip/write.js";
import type { Database, Segment } from "./database.js";

/** What {@link writeArchive} exports. */
export interface WriteArchiveOptions {
  /** Identifier of the chain, for the names of the CSV files. */
  readonly chainId: string;
  readonly table: TableName;
  /** First block; the first of a segment. */
  readonly fromBlock: bigint;
  /** Last block, inclusive; the last of a segment. */
  readonly toBlock: bigint;
}

/** The size of each part of an archive, in bytes. The last part may be smaller. */
export const partSize = 1024 * 1024;

/**
 * Write an archive of CSV files, one file for each span of blocks with the same database schema (specification, 4.1).
 * Like a deployed node, it deflates the files, puts sizes in data descriptors and writes no comment. The same history
 * always gives the same bytes.
 *
 * One segment is read at a time, and only as fast as the caller takes the parts. The reading ends when the caller stops
 * early.
 *
 * @param database the database that holds the history
 * @param options the chain, the table and the range of blocks
 * @returns the bytes of the archive, in parts of {@link partSize} bytes
 * @throws {@link RequestError} if the range does not consist of whole segments
 */
export async function* writeArchive(
  database: Database,
  options: WriteArchiveOptions,
): AsyncGenerator<Uint8Array, void> {
  const range = checkRange(await database.listSegments(), options);
  if (!range.valid) {
    throw new RequestError(`${range.problem}; ${nearestText(range.nearest)}`, {
      advice: "Ask for whole history segments.",
    });
  }
  const spans = schemaSpans(range.segments);
  const files = spans.map((span) => ({
    name: fileName(span, options, spans.length > 1),
    content: () => copySegments(database, options.table, span),
  }));
  yield* inParts(writeArchiveFiles(files));
}

function fileName(
  { fromBlock, toBlock, databaseVersion }: ReturnType<typeof schemaSpans>[number],
  { chainId, table }: WriteArchiveOptions,
  crossing: boolean,
): string {
  return csvName({ chainId, table, schemaVersion: crossing ? databaseVersion : undefined, fromBlock, toBlock });
}

async function* copySegments(database: Database, table: TableName, { segments }: SegmentSpan<Segment>) {
  for (const [index, { fromHeight, toHeight, databaseVersion }] of segments.entries()) {
    yield await database.copyTable({
      table,
      fromBlock: fromHeight,
      toBlock: toHeight,
      databaseVersion,
      header: index === 0,
    });
  }
}

async function* inParts(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let part = new Uint8Array(partSize);
  let length = 0;
  for await (const chunk of chunks) {
    for (let offset = 0; offset < chunk.length; ) {
      const piece = chunk.subarray(offset, offset + partSize - length);
      part.set(piece, length);
      offset += piece.length;
      length += piece.length;
      if (length === partSize) {
        yield part;
        part = new Uint8Array(partSize);
        length = 0;
      }
    }
  }
  if (length > 0) {
    yield part.subarray(0, length);
  }
}
