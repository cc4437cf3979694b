import { Code } from "@connectrpc/connect";
import type { HistorySegment } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import { ProtocolError } from "../../base/errors/index.js";
import type { ExportedRange } from "../archive/export-names.js";
import type { ExpectedFile } from "./expected-file.js";
import { rangeError } from "./export-request.js";
import { checkHistory, type Segment, segmentText } from "./segment-chain.js";
import { findRange } from "./segments.js";

/**
 * Maximum number of parts of a range, except those that schema changes add. Each part costs a call, and a part that fails
 * repeats only 1/500 of a long range.
 */
const MAX_PARTS = 500;

/** A part of a range: adjacent segments of one schema version, which one call exports. */
export interface RangePart extends ExpectedFile {
  /** Identifier of its last segment. */
  readonly segmentId: string;
  /** Identifier of the segment before its first one; empty for the first of a chain. */
  readonly previousSegmentId: string;
}

/** How a range is split. */
export interface PartPlan {
  readonly chainId: string;
  /** The segments of the range, which form a chain. */
  readonly segments: readonly Segment[];
  /** At least one, in block order. They do not depend on how many are fetched in parallel. */
  readonly parts: readonly RangePart[];
}

/**
 * Splits a range at segment boundaries: into one part for each segment, or for several segments if the range has more than
 * 500. A part also ends where the schema version changes.
 *
 * @throws {@link RequestError} if the segments do not form the range
 * @throws {@link ProtocolError} if those of the range do not form a chain of one network; the error names both segments
 */
export function planParts(listed: readonly HistorySegment[], asked: ExportedRange): PartPlan {
  const found = findRange(listed, asked, { snap: false });
  if (!found.valid) {
    throw rangeError(found, listed, asked);
  }
  const { chainId, segments } = checkHistory(found.segments);
  const maxSize = Math.ceil(segments.length / MAX_PARTS);
  const groups: Segment[][] = [];
  for (const segment of segments) {
    const group = groups.at(-1);
    if (group !== undefined && group.length < maxSize && group[0]?.schemaVersion === segment.schemaVersion) {
      group.push(segment);
    } else {
      groups.push([segment]);
    }
  }
  if (groups.length > 2 * MAX_PARTS) {
    throw new ProtocolError(`the schema versions of the node's segments split the export into ${groups.length} files`, {
      code: Code.ResourceExhausted,
      advice: "The schema does not change that often. Use another node, and report this to the operator of the node.",
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
 * Checks that a node still has the history that it had when the range was split. It may have dropped its oldest segments.
 *
 * @throws {@link ProtocolError} if it has other segments; the error names both
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
        `the node's history has changed: it listed ${segmentText(segment)}, and now ${found ?? "has none there"}`,
        {
          code: Code.FailedPrecondition,
          advice: "Nothing was saved, because the parts may belong to two histories. Export again.",
        },
      );
    }
  }
}
