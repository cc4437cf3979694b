import { Code } from "@connectrpc/connect";
import type { HistorySegment } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import type { ExportedRange } from "../../archive/names.js";
import { ProtocolError } from "../../errors/index.js";
import type { ExpectedFile } from "../expected-file.js";
import { rangeError } from "../request.js";
import { checkHistory, type Segment, segmentText } from "../segment-chain.js";
import { checkRange } from "../segments.js";

/**
 * The most parts that a range is cut into, but for those that a change of the schema adds. Each costs a call, and what is
 * lost when one breaks off is a five hundredth of a long range.
 */
const MAX_PARTS = 500;

/** A part of a range: adjacent segments of one schema version, which one export brings. */
export interface RangePart extends ExpectedFile {
  /** Identifier of its last segment. */
  readonly segmentId: string;
  /** Identifier of the segment before its first one; empty for the first of a chain. */
  readonly previousSegmentId: string;
}

/** How a range is cut. */
export interface PartPlan {
  readonly chainId: string;
  /** The segments of the range, which are a chain. */
  readonly segments: readonly Segment[];
  /** In the order of their blocks, at least one. They do not depend on how many are fetched at once. */
  readonly parts: readonly RangePart[];
}

/**
 * Cut a range at the boundaries of its segments: into a part for each segment, or for several where the range has more
 * than 500. A part ends where the version of the database schema changes.
 *
 * @param listed the segments that the node lists, in the order of their heights
 * @param asked the table and the range
 * @returns the parts
 * @throws {@link RequestError} where the segments do not make up the range
 * @throws {@link ProtocolError} where those of the range are no chain of one network; it names both segments
 */
export function planParts(listed: readonly HistorySegment[], asked: ExportedRange): PartPlan {
  const found = checkRange(listed, asked);
  if (!found.valid) {
    throw rangeError(found, listed, asked);
  }
  const { chainId, segments } = checkHistory(found.segments);
  const most = Math.ceil(segments.length / MAX_PARTS);
  const groups: Segment[][] = [];
  for (const segment of segments) {
    const group = groups.at(-1);
    if (group !== undefined && group.length < most && group[0]?.schemaVersion === segment.schemaVersion) {
      group.push(segment);
    } else {
      groups.push([segment]);
    }
  }
  if (groups.length > 2 * MAX_PARTS) {
    throw new ProtocolError(`the node lists segments whose schema versions make ${groups.length} files of one export`, {
      code: Code.ResourceExhausted,
      advice: "No schema changes as often. Try another node, and tell who runs this one.",
    });
  }
  const parts = groups.flatMap((group) => {
    const [first, last] = [group[0], group.at(-1)];
    return first && last ? [partOf(first, last, chainId, asked)] : [];
  });
  return { chainId, segments, parts };
}

function partOf(first: Segment, last: Segment, chainId: string, { table }: ExportedRange): RangePart {
  return {
    chainId,
    table,
    schemaVersion: first.schemaVersion,
    fromBlock: first.fromBlock,
    toBlock: last.toBlock,
    segmentId: last.id,
    previousSegmentId: first.previousId,
  };
}

/**
 * Check that a node still has the history that it had when the range was cut. It may have dropped its oldest segments.
 *
 * @param plan how the range was cut
 * @param listed the segments that the node lists now, in the order of their heights
 * @throws {@link ProtocolError} where it has others; it names both
 */
export function requireUnchanged({ segments }: PartPlan, listed: readonly HistorySegment[]): void {
  const oldest = listed[0]?.fromHeight;
  const byEnd = new Map(listed.map((segment) => [segment.toHeight, segment]));
  for (const segment of segments) {
    const now = byEnd.get(segment.toBlock);
    const isDropped = now === undefined && oldest !== undefined && segment.toBlock < oldest;
    if (!isDropped && (now?.historySegmentId !== segment.id || now.fromHeight !== segment.fromBlock)) {
      const found = now && segmentText({ fromBlock: now.fromHeight, toBlock: now.toHeight, id: now.historySegmentId });
      throw new ProtocolError(
        `the history of the node has changed: it listed ${segmentText(segment)}, and now ${found ?? "has none there"}`,
        {
          code: Code.FailedPrecondition,
          advice: "Nothing was saved, as the parts may be of two histories. Export again.",
        },
      );
    }
  }
}
