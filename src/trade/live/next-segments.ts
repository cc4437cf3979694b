import { Code } from "@connectrpc/connect";
import type { HistorySegment } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import { quoted } from "../../base/errors/error-text.js";
import { ProtocolError, RequestError } from "../../base/errors/index.js";
import { checkHistory, type Segment, segmentText } from "../../data/history/segment-chain.js";
import type { FollowPosition } from "./follow-cursor.js";

/** Maximum number of segments that are stored of a listing. Later ones are listed again when they are due. */
const MAX_AHEAD = 1000;

/** The next part of a history to read. */
export interface FollowTarget {
  /** How far it was followed; `undefined` at the beginning. */
  readonly position: FollowPosition | undefined;
  /**
   * Where to begin without a position: the segment that contains this block, or by default the node's first segment.
   */
  readonly fromBlock: bigint | undefined;
  /** Segments that begin after this block are skipped. */
  readonly toBlock: bigint | undefined;
}

/** The next segments. */
export interface NextSegments {
  readonly chainId: string;
  /** Oldest first, each adjacent to the previous one; empty if the node has nothing new. */
  readonly segments: readonly Segment[];
  /** Whether the node's history ends before the position, so that it has to catch up first. */
  readonly isBehind: boolean;
}

/**
 * Selects the segments that come next, and checks that they continue the followed history: each segment names its
 * predecessor. Earlier segments are not checked.
 *
 * @throws {@link RequestError} if the first block is before the node's history, or the cursor belongs to another chain
 * @throws {@link ProtocolError} if the next blocks are not listed, or the node's history is not the one that was
 *   followed (`FAILED_PRECONDITION`), or the listing breaks a rule, as {@link checkHistory} says
 */
export function nextSegments(
  listed: readonly HistorySegment[],
  { position, fromBlock, toBlock }: FollowTarget,
): NextSegments {
  const [oldest] = listed;
  if (oldest === undefined) {
    return { chainId: position?.chainId ?? "", segments: [], isBehind: position !== undefined };
  }
  if (position !== undefined && position.chainId !== oldest.chainId) {
    throw otherChain(position.chainId, oldest.chainId);
  }
  const start = position?.toBlock ?? fromBlock ?? oldest.fromHeight;
  if (position === undefined && start < oldest.fromHeight) {
    throw tooEarly(start, oldest.fromHeight);
  }
  const index = listed.findIndex(({ toHeight }) => toHeight >= start);
  const { chainId, segments } = checkHistory(index < 0 ? [] : listed.slice(index, index + MAX_AHEAD));
  const [first] = segments;
  if (first === undefined) {
    return { chainId: oldest.chainId, segments: [], isBehind: position !== undefined };
  }
  if (position === undefined && first.fromBlock > start) {
    throw notListed(start, first);
  }
  const next = position === undefined ? segments : continuation(position, first, segments);
  return {
    chainId,
    segments: next.filter((segment) => segment.fromBlock <= (toBlock ?? segment.fromBlock)),
    isBehind: false,
  };
}

/** Leaves out completely received segments, after asserting that the segments belong to the followed history. */
function continuation(position: FollowPosition, first: Segment, segments: readonly Segment[]): readonly Segment[] {
  const { fromBlock, toBlock, segmentId, part } = position;
  if (first.fromBlock === fromBlock && first.toBlock === toBlock && first.id === segmentId) {
    return part === undefined ? segments.slice(1) : segments;
  }
  const isNext = first.fromBlock === toBlock + 1n;
  if (first.fromBlock <= toBlock || (isNext && first.previousId !== segmentId)) {
    throw divergedHistory(position, first);
  }
  if (isNext && part === undefined) {
    return segments;
  }
  throw notListed(part === undefined ? toBlock + 1n : fromBlock, first);
}

function otherChain(followed: string, listed: string): RequestError {
  return new RequestError(
    `the node is on chain ${quoted(listed)}, but the cursor belongs to chain ${quoted(followed)}`,
    {
      errorCode: "TW_CHAIN_MISMATCH",
      advice: "Check the node's URL, or start over without the cursor.",
    },
  );
}

function tooEarly(fromBlock: bigint, first: bigint): RequestError {
  return new RequestError(`${fromBlock} is before the first block of the node's history, ${first}`, {
    errorCode: "TW_BLOCK_RANGE",
    option: "fromBlock",
    advice: (nameOf) =>
      `Start at block ${first}, omit ${nameOf("fromBlock")} to start at the first block, or use another node.`,
  });
}

function notListed(block: bigint, next: Segment): ProtocolError {
  const last = next.fromBlock - 1n;
  return new ProtocolError(
    `the node does not list the blocks ${block} to ${last}, which come next: its history starts with ${segmentText(next)}`,
    {
      code: Code.FailedPrecondition,
      advice: `Continue with another node that still has them, or start over at block ${next.fromBlock}, without the rows of the blocks between.`,
    },
  );
}

function divergedHistory({ fromBlock, toBlock, segmentId }: FollowPosition, first: Segment): ProtocolError {
  const was = segmentText({ fromBlock, toBlock, id: segmentId });
  const behind = first.fromBlock > toBlock ? ` after ${quoted(first.previousId)}` : "";
  return new ProtocolError(
    `the histories diverge: ${was} was followed, but the node has ${segmentText(first)}${behind}`,
    {
      code: Code.FailedPrecondition,
      advice:
        "Check that the node belongs to the same network. The delivered rows are not part of its history: start over without the cursor.",
    },
  );
}
