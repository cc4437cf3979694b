import type { HistorySegment } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import { Code } from "../../base/errors/code.js";
import { quoted } from "../../base/errors/error-text.js";
import { ProtocolError } from "../../base/errors/index.js";
import { isChainId } from "../../base/input/assert.js";
import type { BlockRange } from "./segments.js";

/** A valid segment of network history. */
export interface Segment extends BlockRange {
  /** Identifier of the segment: a hash of its content, so nodes of one network have the same ones. */
  readonly id: string;
  /** Identifier of the segment before it; empty for the first of a chain. */
  readonly previousId: string;
  /** Version of the database schema. */
  readonly schemaVersion: bigint;
}

/** A node's history: segments without gaps, each with the identifier of the previous one. */
export interface NodeHistory {
  readonly chainId: string;
  /** Oldest first; empty if the node has no history yet. */
  readonly segments: readonly Segment[];
}

/** Maximum number of segments of a history: a hundred years at 300 blocks per segment and one block per second. */
export const MAX_SEGMENTS = 10_000_000;

/** Maximum length of a segment's identifier. */
const MAX_SEGMENT_ID = 128;

/** Maximum block and schema version: sinks that store them as JSON cannot represent larger numbers exactly. */
const MAX_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);

const ADVICE = "Nothing was changed. Use another node, and report this to the operator of the node.";

/**
 * Validates the segments that a node lists: at most `MAX_SEGMENTS` of one chain, each directly after the previous one, whose
 * identifier it contains. Only the first may refer to a segment that is not listed, which the node no longer has.
 *
 * @throws {@link ProtocolError} if a height, an identifier, the chain or a schema version is invalid, or if segments
 *   overlap, have a gap, or do not form a chain; the error names both segments.
 *   `RESOURCE_EXHAUSTED` if there are too many
 */
export function checkHistory(segments: readonly HistorySegment[], node = "the node"): NodeHistory {
  const wrong = (what: string) => new ProtocolError(`${node} lists ${what}`, { advice: ADVICE });
  if (segments.length > MAX_SEGMENTS) {
    throw new ProtocolError(
      `${node} lists ${segments.length} segments of history, which exceeds the maximum of ${MAX_SEGMENTS}`,
      {
        code: Code.ResourceExhausted,
        advice: ADVICE,
      },
    );
  }
  const chainId = segments[0]?.chainId ?? "";
  const ids = new Set<string>();
  const checked: Segment[] = [];
  let before: Segment | undefined;
  for (const listed of segments) {
    const segment = segmentOf(listed);
    const problem = problemWith(segment) ?? problemBetween(before, segment);
    if (problem !== undefined) {
      throw wrong(problem);
    }
    if (listed.chainId !== chainId || !isChainId(chainId)) {
      const other = before === undefined ? "" : `, but ${segmentText(before)} of ${quoted(chainId)}`;
      throw wrong(`${segmentText(segment)} of chain ${quoted(listed.chainId)}${other}`);
    }
    if (ids.size === ids.add(segment.id).size) {
      throw wrong(`the ID of ${segmentText(segment)} twice`);
    }
    checked.push(segment);
    before = segment;
  }
  return { chainId, segments: checked };
}

function segmentOf(listed: HistorySegment): Segment {
  return {
    fromBlock: listed.fromHeight,
    toBlock: listed.toHeight,
    id: listed.historySegmentId,
    previousId: listed.previousHistorySegmentId,
    schemaVersion: listed.databaseVersion,
  };
}

function problemWith(segment: Segment): string | undefined {
  if (segment.fromBlock < 1n || segment.toBlock < segment.fromBlock || segment.toBlock > MAX_NUMBER) {
    return `${segmentText(segment)}, which is not a valid range of blocks`;
  }
  if (!isSegmentId(segment.id)) {
    return `${segmentText(segment)}: an ID must have 1 to ${MAX_SEGMENT_ID} visible ASCII characters`;
  }
  if (segment.previousId !== "" && !isSegmentId(segment.previousId)) {
    return `${segmentText(segment)} after ${quoted(segment.previousId)}: an ID must have 1 to ${MAX_SEGMENT_ID} visible ASCII characters`;
  }
  return segment.schemaVersion < 1n || segment.schemaVersion > MAX_NUMBER
    ? `${segmentText(segment)} with the invalid schema version ${segment.schemaVersion}`
    : undefined;
}

function problemBetween(before: Segment | undefined, segment: Segment): string | undefined {
  if (before === undefined) {
    return undefined;
  }
  if (segment.fromBlock <= before.toBlock) {
    return `${segmentText(segment)} after ${segmentText(before)}, which it overlaps or precedes`;
  }
  if (segment.fromBlock !== before.toBlock + 1n) {
    return `a history with a gap: ${segmentText(segment)} follows ${segmentText(before)}`;
  }
  return segment.previousId === before.id
    ? undefined
    : `${segmentText(segment)} after ${quoted(segment.previousId)}, but the previous segment is ${segmentText(before)}`;
}

/**
 * Returns whether a text has the form of a segment identifier: 1 to 128 visible ASCII characters, which are safe in logs,
 * pages and databases.
 */
export function isSegmentId(text: string): boolean {
  return text.length <= MAX_SEGMENT_ID && /^[!-~]+$/.test(text);
}

export function segmentText({ fromBlock, toBlock, id }: Pick<Segment, "fromBlock" | "toBlock" | "id">): string {
  return `the segment ${fromBlock} to ${toBlock} (${quoted(id)})`;
}
