import { RequestError } from "../errors.js";
import { writeArchiveFiles } from "../history/archive/index.js";
import { csvName } from "../history/archive-name.js";
import type { TableName } from "../history/table.js";
import type { Database, Segment } from "./database.js";
import { checkRange } from "./range.js";

/** What to export. */
export interface ArchiveOptions {
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
export async function* writeArchive(database: Database, options: ArchiveOptions): AsyncGenerator<Uint8Array, void> {
  const range = checkRange(await database.listSegments(), options);
  if (!range.valid) {
    throw new RequestError(range.reason, { advice: "Ask for whole history segments." });
  }
  const spans = spansOf(range.segments);
  const files = spans.map((span) => ({
    name: fileName(span, options, spans.length > 1),
    content: () => copySegments(database, options.table, span),
  }));
  yield* inParts(writeArchiveFiles(files));
}

/** The segments, split where the version of the database schema changes. No span is empty. */
function spansOf(segments: readonly Segment[]): Segment[][] {
  const spans: Segment[][] = [];
  for (const segment of segments) {
    const span = spans.at(-1);
    if (span?.[0]?.databaseVersion === segment.databaseVersion) {
      span.push(segment);
    } else {
      spans.push([segment]);
    }
  }
  return spans;
}

function fileName(span: readonly Segment[], { chainId, table, fromBlock, toBlock }: ArchiveOptions, crossing: boolean) {
  return csvName({
    chainId,
    table,
    schemaVersion: crossing ? span[0]?.databaseVersion : undefined,
    fromBlock: span[0]?.fromHeight ?? fromBlock,
    toBlock: span.at(-1)?.toHeight ?? toBlock,
  });
}

async function* copySegments(database: Database, table: TableName, span: readonly Segment[]) {
  for (const [index, { fromHeight, toHeight, databaseVersion }] of span.entries()) {
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
