import type { Client } from "@connectrpc/connect";
import type { HistorySegment, TradingDataService } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import { compareBigints } from "../../base/bigints.js";
import { type ErrorText, renderText } from "../../base/errors/error-text.js";
import { assertArray, assertObject } from "../../base/input/assert.js";
import { type CallOptions, toConnectOptions } from "../../base/input/call-options.js";
import { withJson } from "../../base/json-result.js";

const SEGMENTS = "a result of listSegments()";

/** A range of blocks, inclusive. */
export interface BlockRange {
  readonly fromBlock: bigint;
  readonly toBlock: bigint;
}

/** The heights of a history segment, inclusive. */
export interface SegmentHeights {
  readonly fromHeight: bigint;
  readonly toHeight: bigint;
}

/** Adjacent segments, as one range. */
export interface SegmentSpan<S extends SegmentHeights> extends BlockRange {
  /** At least one. */
  readonly segments: readonly S[];
}

/** The result of checking a range: the segments that form it, or the problem with it. */
export type RangeCheck<S extends SegmentHeights> =
  | { readonly valid: true; readonly segments: readonly S[] }
  | {
      readonly valid: false;
      readonly problem: string;
      /** The nearest range that can be exported; `undefined` if there is no history. */
      readonly nearest: BlockRange | undefined;
    };

/** Lists the segments of network history that a node has, oldest first. */
export async function listSegments(
  client: Pick<Client<typeof TradingDataService>, "listAllNetworkHistorySegments">,
  options: CallOptions = {},
): Promise<HistorySegment[]> {
  const { segments } = await client.listAllNetworkHistorySegments({}, toConnectOptions(options));
  return segments.toSorted((a, b) => compareBigints(a.fromHeight, b.fromHeight));
}

/**
 * Joins adjacent segments. A range can be exported only within one of these spans.
 *
 * @param segments in order of height
 * @returns the spans, in the same order
 *
 * @example
 * for (const { fromBlock, toBlock } of contiguousSpans(await client.listSegments())) console.log(fromBlock, toBlock);
 */
export function contiguousSpans<S extends SegmentHeights>(segments: readonly S[]): SegmentSpan<S>[] {
  return withJson(spansWhere(segments, follows));
}

/**
 * Joins adjacent segments with the same schema version. An export contains one CSV file for each of these spans.
 *
 * @param segments in order of height
 * @returns the spans with their schema versions, in the same order
 *
 * @example
 * const versions = schemaSpans(await client.listSegments()).map(({ databaseVersion }) => databaseVersion);
 */
export function schemaSpans<S extends SegmentHeights & { readonly databaseVersion: bigint }>(
  segments: readonly S[],
): (SegmentSpan<S> & { readonly databaseVersion: bigint })[] {
  const spans = spansWhere(segments, (a, b) => follows(a, b) && a.databaseVersion === b.databaseVersion);
  return withJson(spans.map((span) => ({ ...span, databaseVersion: span.segments[0]?.databaseVersion ?? 0n })));
}

/**
 * Finds the blocks that are missing between spans.
 *
 * @param spans in block order
 * @returns the gaps, inclusive
 *
 * @example
 * const missing = gapsBetween(contiguousSpans(await client.listSegments()));
 */
export function gapsBetween(spans: readonly BlockRange[]): BlockRange[] {
  assertArray("spans", spans, "a result of contiguousSpans()");
  const gaps = spans.slice(1).flatMap(({ fromBlock }, index) => {
    const gap = { fromBlock: (spans[index]?.toBlock ?? 0n) + 1n, toBlock: fromBlock - 1n };
    return gap.fromBlock <= gap.toBlock ? [gap] : [];
  });
  return withJson(gaps);
}

/**
 * Checks whether a range can be exported: it starts at the first block of a history segment, ends at the last block of
 * one, and has no gap.
 *
 * @param segments the node's segments, in order of height
 * @param range the blocks, inclusive
 * @returns the segments that form the range, or the problem and the nearest range that can be exported
 *
 * @example
 * const check = checkRange(await client.listSegments(), { fromBlock: 1n, toBlock: 3000n });
 * if (!check.valid) console.log(check.problem, check.nearest);
 */
export function checkRange<S extends SegmentHeights>(segments: readonly S[], range: BlockRange): RangeCheck<S> {
  return withPlainProblem(findRange(segments, range, { snap: false }));
}

/**
 * Widens a range to the boundaries of the segments that contain its first and its last block. A range that begins or ends
 * outside all segments, or has a gap inside, cannot be widened to a valid one.
 *
 * @param segments the node's segments, in order of height
 * @param range the blocks, inclusive
 * @returns the segments that form the widened range, or the problem and the nearest range that can be exported
 *
 * @example
 * const snapped = snapRange(await client.listSegments(), { fromBlock: 1500n, toBlock: 2500n });
 * if (snapped.valid) console.log(contiguousSpans(snapped.segments)[0]); // { fromBlock: 1001n, toBlock: 3000n, ... }
 */
export function snapRange<S extends SegmentHeights>(segments: readonly S[], range: BlockRange): RangeCheck<S> {
  return withPlainProblem(findRange(segments, range, { snap: true }));
}

/** The result of checking a range. Unlike in {@link RangeCheck}, the problem may be shown with other names of options. */
export type FoundRange<S extends SegmentHeights> =
  | Extract<RangeCheck<S>, { valid: true }>
  | { readonly valid: false; readonly problem: ErrorText; readonly nearest: BlockRange | undefined };

function withPlainProblem<S extends SegmentHeights>(found: FoundRange<S>): RangeCheck<S> {
  return withJson(found.valid ? found : { ...found, problem: renderText(found.problem) });
}

export function findRange<S extends SegmentHeights>(
  segments: readonly S[],
  range: BlockRange,
  { snap }: { readonly snap: boolean },
): FoundRange<S> {
  assertArray("segments", segments, SEGMENTS);
  assertObject("range", range);
  const { fromBlock, toBlock } = range;
  const indexContaining = (block: bigint) => segments.findIndex((s) => s.fromHeight <= block && block <= s.toHeight);
  const start = snap ? indexContaining(fromBlock) : segments.findIndex(({ fromHeight }) => fromHeight === fromBlock);
  const end = snap ? indexContaining(toBlock) : segments.findIndex(({ toHeight }) => toHeight === toBlock);
  const notFound =
    (option: string, block: bigint, place: string): ErrorText =>
    (nameOf) =>
      `${nameOf(option)} ${block} is ${snap ? "in no" : `not the ${place} block of a`} history segment${snap ? " of the node" : ""}`;
  const problem =
    reversed(range) ??
    (start < 0 ? notFound("fromBlock", fromBlock, "first") : undefined) ??
    (end < 0 ? notFound("toBlock", toBlock, "last") : undefined);
  return segmentsBetween(segments, range, start, end, problem);
}

/** Describes the nearest range that can be exported, for a message. */
export function nearestText(nearest: BlockRange | undefined): string {
  return nearest === undefined
    ? "the node has no history yet"
    : `the nearest valid range is ${nearest.fromBlock} to ${nearest.toBlock}`;
}

function reversed({ fromBlock, toBlock }: BlockRange): ErrorText | undefined {
  if (fromBlock < 0n) {
    return (nameOf) => `${nameOf("fromBlock")} ${fromBlock} is negative`;
  }
  if (toBlock < 0n) {
    return (nameOf) => `${nameOf("toBlock")} ${toBlock} is negative`;
  }
  return fromBlock > toBlock
    ? (nameOf) => `${nameOf("fromBlock")} ${fromBlock} is after ${nameOf("toBlock")} ${toBlock}`
    : undefined;
}

/** The segments from `start` to `end`, unless there is a problem or a gap between them. */
function segmentsBetween<S extends SegmentHeights>(
  segments: readonly S[],
  range: BlockRange,
  start: number,
  end: number,
  problem: ErrorText | undefined,
): FoundRange<S> {
  if (problem !== undefined) {
    return { valid: false, problem, nearest: nearestRange(segments, range) };
  }
  const chosen = segments.slice(start, end + 1);
  if (chosen.length === 0) {
    return { valid: false, problem: "the node lists segments that overlap", nearest: nearestRange(segments, range) };
  }
  const [span] = contiguousSpans(chosen);
  if (span !== undefined && span.segments.length < chosen.length) {
    const gap = `the history has a gap after block ${span.toBlock}`;
    return { valid: false, problem: gap, nearest: nearestRange(segments, range) };
  }
  return { valid: true, segments: chosen };
}

/** The nearest range that can be exported: it starts and ends with a segment, and has no gap. */
function nearestRange(segments: readonly SegmentHeights[], { fromBlock, toBlock }: BlockRange): BlockRange | undefined {
  const start = nearestIndex(segments, (segment) => segment.fromHeight, fromBlock);
  const [within] = contiguousSpans(segments.slice(start));
  const last = within?.segments[nearestIndex(within.segments, (segment) => segment.toHeight, toBlock)];
  return within && last && { fromBlock: within.fromBlock, toBlock: last.toHeight };
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

function follows(before: SegmentHeights, after: SegmentHeights): boolean {
  return after.fromHeight === before.toHeight + 1n;
}

function spansWhere<S extends SegmentHeights>(
  segments: readonly S[],
  joined: (before: S, after: S) => boolean,
): SegmentSpan<S>[] {
  assertArray("segments", segments, SEGMENTS);
  const spans: S[][] = [];
  for (const segment of segments) {
    const span = spans.at(-1);
    const before = span?.at(-1);
    if (span !== undefined && before !== undefined && joined(before, segment)) {
      span.push(segment);
    } else {
      spans.push([segment]);
    }
  }
  return spans.flatMap((span) => {
    const [first, last] = [span[0], span.at(-1)];
    return first && last ? [{ fromBlock: first.fromHeight, toBlock: last.toHeight, segments: span }] : [];
  });
}
