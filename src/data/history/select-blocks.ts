import { RequestError } from "../../base/errors/index.js";
import type { RowFilter } from "../archive/row-filter.js";
import { microsFrom, timeText } from "../schema/time-text.js";
import type { ReadTimes } from "./block-times.js";
import { rangeError, requireOrder } from "./export-request.js";
import { type BlockRange, findRange, type SegmentHeights } from "./segments.js";

/** A part of a history, as a user names it. What is not given ends with the history. */
export interface AskedPart {
  /** First block. A negative one counts from the last block of the history, which is -1. */
  readonly fromBlock?: bigint | undefined;
  /** Last block, inclusive, or counted from the end as well. */
  readonly toBlock?: bigint | undefined;
  /** Only blocks from this time on, in Unix nanoseconds. */
  readonly since?: bigint | undefined;
  /** Only blocks before this time, in Unix nanoseconds. */
  readonly until?: bigint | undefined;
}

/** The complete segments that contain a part of a history, and the filter that leaves the part. */
export interface SelectedBlocks extends BlockRange {
  /** The blocks that were asked for, from the beginning. */
  readonly asked: BlockRange;
  readonly filter: Pick<RowFilter, "from" | "before">;
}

/**
 * Finds the segments that contain a part of a history. Times are looked up in the segments by bisection, each with one call.
 *
 * @param segments the node's segments, in order of height
 * @throws {@link RequestError} if there is no history, the range is reversed or the node's segments do not contain it
 */
export async function selectBlocks(
  segments: readonly SegmentHeights[],
  { fromBlock, toBlock, since, until }: AskedPart,
  readTimes: ReadTimes,
): Promise<SelectedBlocks> {
  const asked = absoluteRange(segments, { fromBlock, toBlock });
  const found = findRange(segments, asked, { snap: true });
  if (!found.valid) {
    throw rangeError(found, segments, asked);
  }
  const spans = found.segments.map(({ fromHeight, toHeight }) => ({ fromBlock: fromHeight, toBlock: toHeight }));
  const [from, before] = [since, until].map((time) => (time === undefined ? undefined : microsFrom(time)));
  const start = from === undefined ? 0 : await firstReaching(spans, from, readTimes);
  const end = before === undefined ? spans.length : await firstReaching(spans, before, readTimes);
  const [first, last] = [spans[start], spans[Math.min(end, spans.length - 1)]];
  if (first === undefined || last === undefined) {
    const isLast = asked.toBlock >= (segments.at(-1)?.toHeight ?? 0n);
    throw new RequestError(
      `is after the time of block ${asked.toBlock}, the last of the ${isLast ? "history" : "range"}`,
      {
        option: "since",
        errorCode: "TW_BLOCK_RANGE",
        advice: isLast
          ? `The node's history has nothing from ${timeText(from ?? 0n)} on yet. Wait for the next segment, or use an earlier time.`
          : "Use an earlier time or a later last block.",
      },
    );
  }
  const range = { fromBlock: first.fromBlock, toBlock: last.toBlock < first.fromBlock ? first.toBlock : last.toBlock };
  const cut = await blockFilter(asked, [first, last], readTimes);
  return { ...range, asked, filter: { from: later(cut.from, from), before: earlier(cut.before, before) } };
}

/**
 * Returns the filter that leaves the blocks of a range, whose first and last segment may contain others.
 *
 * @throws errors of `readTimes`
 */
export async function blockFilter(
  { fromBlock, toBlock }: BlockRange,
  [first, last]: readonly [first: BlockRange, last: BlockRange],
  readTimes: ReadTimes,
): Promise<Pick<RowFilter, "from" | "before">> {
  const starts = first.fromBlock < fromBlock && fromBlock <= first.toBlock;
  const ends = last.fromBlock <= toBlock && toBlock < last.toBlock;
  const from = starts ? (await readTimes(first, { fromBlock, toBlock: first.toBlock })).first : undefined;
  const before = ends ? (await readTimes(last, { fromBlock: last.fromBlock, toBlock })).last + 1n : undefined;
  return { from, before };
}

/**
 * Returns the range of blocks of a history from its beginning.
 *
 * @throws {@link RequestError} if there is no history, or the range is reversed
 */
export function absoluteRange(
  segments: readonly SegmentHeights[],
  { fromBlock, toBlock }: Pick<AskedPart, "fromBlock" | "toBlock">,
): BlockRange {
  const [first, last] = [segments[0], segments.at(-1)];
  if (first === undefined || last === undefined) {
    throw new RequestError("the node has no history yet", {
      errorCode: "TW_BLOCK_RANGE",
      advice: "Wait for its first segment, or use another node.",
    });
  }
  const range = {
    fromBlock: absoluteBlock(segments, fromBlock ?? first.fromHeight, first.fromHeight),
    toBlock: absoluteBlock(segments, toBlock ?? last.toHeight, 0n),
  };
  assertWithin(range, { fromBlock, toBlock }, { fromBlock: first.fromHeight, toBlock: last.toHeight });
  return range;
}

/**
 * Asserts that a range is not empty. What was not asked for is not named.
 *
 * @throws {@link RequestError} if it is
 */
function assertWithin(range: BlockRange, asked: Pick<AskedPart, "fromBlock" | "toBlock">, history: BlockRange): void {
  const option = asked.toBlock === undefined ? "fromBlock" : asked.fromBlock === undefined ? "toBlock" : undefined;
  if (range.fromBlock > range.toBlock && option !== undefined) {
    throw new RequestError(`${range[option]} is outside the node's history`, {
      option,
      errorCode: "TW_BLOCK_RANGE",
      advice: `Its history has blocks ${history.fromBlock} to ${history.toBlock}.`,
    });
  }
  requireOrder(range);
}

/** Returns the height of a block that may count from the end: at least `min`, since the last 100,000 blocks of fewer are all. */
export function absoluteBlock(segments: readonly SegmentHeights[], block: bigint, min: bigint): bigint {
  const fromEnd = (segments.at(-1)?.toHeight ?? 0n) + 1n + block;
  return block >= 0n ? block : fromEnd < min ? min : fromEnd;
}

/** Returns the block at which the rows from a time on begin: the first of a segment, or the one after the history. */
export async function firstBlockSince(
  segments: readonly SegmentHeights[],
  since: bigint,
  readTimes: ReadTimes,
): Promise<bigint | undefined> {
  const spans = segments.map(({ fromHeight, toHeight }) => ({ fromBlock: fromHeight, toBlock: toHeight }));
  const last = spans.at(-1);
  return spans[await firstReaching(spans, microsFrom(since), readTimes)]?.fromBlock ?? (last && last.toBlock + 1n);
}

/** Returns the index of the first segment whose last block was made at a time or later. */
async function firstReaching(segments: readonly BlockRange[], time: bigint, readTimes: ReadTimes): Promise<number> {
  let [low, high] = [0, segments.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const segment = segments[middle];
    if (segment === undefined || (await readTimes(segment, segment)).last >= time) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

function later(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  return a === undefined || (b !== undefined && b > a) ? b : a;
}

function earlier(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  return a === undefined || (b !== undefined && b < a) ? b : a;
}
