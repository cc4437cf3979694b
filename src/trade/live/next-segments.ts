import * as v from "valibot";
import type { HistorySegment } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import { Code } from "../../base/errors/code.js";
import { quoted } from "../../base/errors/error-text.js";
import { ProtocolError, RequestError } from "../../base/errors/index.js";
import { isChainId } from "../../base/input/assert.js";
import { tryParseJson } from "../../base/input/decode.js";
import { wholeNumber } from "../../base/input/schemas.js";
import { checkHistory, isSegmentId, type Segment, segmentText } from "../../data/history/segment-chain.js";
import type { BlockRange } from "../../data/history/segments.js";
import { type TableName, tableNames } from "../../data/schema/table-names.js";
import { isDigest, type PartOfSegment } from "./segment-rows.js";

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

/** The position up to which a table was followed: a row of a segment, or the end of one. */
export interface FollowPosition extends BlockRange {
  readonly chainId: string;
  readonly table: TableName;
  readonly segmentId: string;
  /** `undefined` if the segment was received completely. */
  readonly part: PartOfSegment | undefined;
}

/** Maximum number of characters of a cursor: of its parts, the identifiers are the longest. */
const MAX_CURSOR = 600;

const block = v.pipe(wholeNumber, v.minValue(1));
const positionSchema = [
  v.literal(1), // The version of the form.
  v.pipe(v.string(), v.check(isChainId)),
  v.picklist(tableNames),
  block,
  block,
  v.pipe(v.string(), v.check(isSegmentId)),
] as const;
const cursorSchema = v.union([
  v.strictTuple(positionSchema),
  v.strictTuple([...positionSchema, wholeNumber, v.pipe(v.string(), v.check(isDigest))]),
]);

/** Writes a position as a cursor: letters, digits, `-` and `_`, at most 600 of them. */
export function writeCursor({ chainId, table, fromBlock, toBlock, segmentId, part }: FollowPosition): string {
  const parts: v.InferOutput<typeof cursorSchema> = [1, chainId, table, Number(fromBlock), Number(toBlock), segmentId];
  return Buffer.from(JSON.stringify(part === undefined ? parts : [...parts, part.rows, part.digest])).toString(
    "base64url",
  );
}

/**
 * Reads a cursor.
 *
 * @throws {@link RequestError} if it is not a cursor, or is one of another table
 */
export function readCursor(cursor: string, wanted: TableName): FollowPosition {
  const content = contentOf(cursor);
  if (!v.is(cursorSchema, content) || content[3] > content[4]) {
    throw new RequestError(`${quoted(String(cursor), 80)} is not a cursor of \`follow\``, {
      errorCode: "TW_INVALID_CURSOR",
      advice: "Pass the cursor of the rows unchanged, or none to start over.",
    });
  }
  const [, chainId, table, fromBlock, toBlock, segmentId, rows, digest] = content;
  if (table !== wanted) {
    throw new RequestError(`the cursor belongs to the table ${table}, not to ${wanted}`, {
      errorCode: "TW_INVALID_CURSOR",
      advice: "Store a separate cursor for each table.",
    });
  }
  const part = rows === undefined || digest === undefined ? undefined : { rows, digest };
  return { chainId, table, fromBlock: BigInt(fromBlock), toBlock: BigInt(toBlock), segmentId, part };
}

function contentOf(cursor: string): unknown {
  if (typeof cursor !== "string" || cursor.length > MAX_CURSOR || !/^[A-Za-z0-9_-]+$/.test(cursor)) {
    return undefined;
  }
  return tryParseJson(Buffer.from(cursor, "base64url").toString());
}
