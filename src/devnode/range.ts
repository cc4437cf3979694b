/** A range of blocks, both ends inclusive. */
export interface BlockRange {
  readonly fromBlock: bigint;
  readonly toBlock: bigint;
}

/** The heights of a history segment, both ends inclusive. */
export interface SegmentHeights {
  readonly fromHeight: bigint;
  readonly toHeight: bigint;
}

/** What {@link checkRange} finds: the segments that make up the range, or why there are none. */
export type RangeCheck<S extends SegmentHeights> =
  | { readonly valid: true; readonly segments: readonly S[] }
  | { readonly valid: false; readonly reason: string };

/**
 * Checks that a range can be exported: it starts at the first block of a history segment, ends at the last block of one, and
 * no block between them is missing (specification, 4.1).
 *
 * @param segments the node's segments, in the order of their heights
 * @returns the segments that make up the range, or a reason that names the nearest valid range
 */
export function checkRange<S extends SegmentHeights>(segments: readonly S[], range: BlockRange): RangeCheck<S> {
  const { fromBlock, toBlock } = range;
  const start = segments.findIndex((segment) => segment.fromHeight === fromBlock);
  const end = segments.findIndex((segment) => segment.toHeight === toBlock);
  const problem = problemOf(segments, range, start, end);
  if (problem === undefined) {
    return { valid: true, segments: segments.slice(start, end + 1) };
  }
  const nearest = nearestRange(segments, range);
  const advice = nearest === undefined ? "there is no history yet" : `the nearest valid range is ${nearest}`;
  return { valid: false, reason: `${problem}; ${advice}` };
}

function problemOf(segments: readonly SegmentHeights[], range: BlockRange, start: number, end: number) {
  const { fromBlock, toBlock } = range;
  if (fromBlock < 0n) {
    return `fromBlock ${fromBlock} is negative`;
  }
  if (toBlock < 0n) {
    return `toBlock ${toBlock} is negative`;
  }
  if (fromBlock > toBlock) {
    return `fromBlock ${fromBlock} is after toBlock ${toBlock}`;
  }
  if (start < 0) {
    return `fromBlock ${fromBlock} is not the first block of a history segment`;
  }
  if (end < 0) {
    return `toBlock ${toBlock} is not the last block of a history segment`;
  }
  const last = contiguousEnd(segments, start);
  return last < end ? `the history has a gap after block ${segments[last]?.toHeight}` : undefined;
}

/** The range nearest to what was asked for: it starts where a segment starts and ends where one ends, with no gap between. */
function nearestRange(segments: readonly SegmentHeights[], { fromBlock, toBlock }: BlockRange): string | undefined {
  const start = nearestIndex(segments, (segment) => segment.fromHeight, fromBlock);
  const within = segments.slice(start, contiguousEnd(segments, start) + 1);
  const first = within[0];
  const last = within[nearestIndex(within, (segment) => segment.toHeight, toBlock)];
  return first && last && `${first.fromHeight} to ${last.toHeight}`;
}

/** The index of the segment whose height is nearest to a block; the lower one of two that are equally near. */
function nearestIndex(
  segments: readonly SegmentHeights[],
  height: (segment: SegmentHeights) => bigint,
  block: bigint,
): number {
  const distances = segments.map((segment) => {
    const difference = height(segment) - block;
    return difference < 0n ? -difference : difference;
  });
  return distances.reduce((best, distance, index) => (distance < (distances[best] ?? 0n) ? index : best), 0);
}

/** The index of the last segment that follows on from the one at `start` without a gap. */
function contiguousEnd(segments: readonly SegmentHeights[], start: number): number {
  const gap = segments.findIndex(
    (segment, index) => index > start && segment.fromHeight !== (segments[index - 1]?.toHeight ?? 0n) + 1n,
  );
  return (gap < 0 ? segments.length : gap) - 1;
}
