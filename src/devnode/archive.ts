import { csvName } from "../archive/names.js";
import { RequestError } from "../errors/index.js";
import { checkRange, nearestText, type SegmentSpan, schemaSpans } from "../history/segments.js";
import type { TableName } from "../schema/tables.js";
import { writeArchiveFiles } from "../zip/write.js";
import type { Database, Segment } from "./database.js";

/** What to export. */
export interface WriteArchiveOptions {
  /** Identifier of the chain, for the names of the CSV files. */
  readonly chainId: string;
  readonly table: TableName;
  /** First block; the first of a segment. */
  readonly fromBlock: bigint;
  /** Last block, inclusive; the last of a segment. */
  readonly toBlock: bigint;
}

/** How many bytes each part of an archive has, but for the last one. */
export const partSize = 1024 * 1024;

/**
 * Writes an archive of CSV files, one for each span of blocks with one database schema (specification, 4.1), the way a
 * deployed node does: deflated, sizes in data descriptors, no comment. The same history makes the same bytes.
 *
 * One segment is read at a time, and only as fast as the parts are taken. Whoever stops taking them ends the reading.
 *
 * @returns the bytes in parts of {@link partSize}
 * @throws RequestError when the range is not made of whole segments
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
