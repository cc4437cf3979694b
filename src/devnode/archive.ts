import { archiveName, csvName } from "../archive/names.js";
import { RequestError } from "../errors/index.js";
import { checkRange, nearestText, type SegmentSpan, schemaSpans } from "../history/segments.js";
import { type Profile, profileRules } from "../schema/profile.js";
import type { TableName } from "../schema/tables.js";
import { writeArchiveFiles } from "../zip/write.js";
import type { History, Segment } from "./history/history.js";
import { csvHeader } from "./tables/index.js";

/** What {@link writeArchive} exports. */
export interface WriteArchiveOptions {
  readonly table: TableName;
  /** First block; the first of a segment. */
  readonly fromBlock: bigint;
  /** Last block, inclusive; the last of a segment. */
  readonly toBlock: bigint;
  /** Whose names the files have; the specification's by default. */
  readonly profile?: Profile | undefined;
  /** Ends the work at once, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The size of each part of an archive, in bytes. The last part may be smaller. */
export const partSize = 1024 * 1024;

/**
 * Write an archive of CSV files, one file for each span of blocks with the same database schema (specification, 4.1).
 * Like a deployed node, it deflates the files, puts sizes in data descriptors and writes no comment. The same history
 * always gives the same bytes.
 *
 * Rows are made some at a time, and only as fast as the caller takes the parts. The work ends when the caller stops
 * early.
 *
 * @param history the history
 * @param options the table, the range of blocks and whose names the files have
 * @returns the bytes of the archive, in parts of {@link partSize} bytes
 * @throws {@link RequestError} if the range does not consist of whole segments
 */
export async function* writeArchive(
  history: Pick<History, "chainId" | "segments" | "read">,
  options: WriteArchiveOptions,
): AsyncGenerator<Uint8Array, void> {
  const range = checkRange(history.segments(), options);
  if (!range.valid) {
    throw new RequestError(`${range.problem}; ${nearestText(range.nearest)}`, {
      advice: "Ask for whole history segments.",
    });
  }
  const { table, profile = "specification", signal } = options;
  const spans = schemaSpans(range.segments);
  const files = spans.map((span) => {
    const { fromBlock, toBlock, databaseVersion: schemaVersion } = span;
    const versioned = profileRules[profile].names.versioned === "files" || spans.length > 1;
    const name = { chainId: history.chainId, table, fromBlock, toBlock, ...(versioned && { schemaVersion }) };
    return {
      name: csvName(name, profile),
      content: () => csvOf(history, table, span, signal),
    };
  });
  yield* inParts(writeArchiveFiles(files));
}

/**
 * Name the archive of a range of whole segments.
 *
 * @param chainId the identifier of the chain
 * @param segments those of the range, at least one
 * @param options the table, the range of blocks and whose name it is
 * @returns the name; by the specification it has the schema version of the last block if the range crosses a change
 */
export function nameOfArchive(
  chainId: string,
  segments: readonly Segment[],
  { table, fromBlock, toBlock, profile }: WriteArchiveOptions,
): string {
  const name = { chainId, table, fromBlock, toBlock };
  const schemaVersion = segments.at(-1)?.databaseVersion;
  return archiveName(segments[0]?.databaseVersion === schemaVersion ? name : { ...name, schemaVersion }, profile);
}

async function* csvOf(
  history: Pick<History, "read">,
  table: TableName,
  { segments, databaseVersion }: SegmentSpan<Segment> & { readonly databaseVersion: bigint },
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csvHeader(table, databaseVersion));
  for (const segment of segments) {
    yield* history.read(table, segment, signal);
  }
}

/**
 * Put bytes into parts of one size.
 *
 * @param chunks the bytes, split anywhere
 * @returns parts of {@link partSize} bytes; the last one may be smaller
 */
export async function* inParts(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
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
