import type { BlockRange } from "../data/history/segments.js";
import { historyMarkedError } from "./divergence.js";
import type { HistoryMark, Sink } from "./sink.js";
import type { NodeHistory, Segment } from "./unit.js";
import { segmentEndingAt } from "./unit.js";

/**
 * Marks in a sink the history that is loaded into it, so that of two syncs with different histories, which both found an empty sink,
 * only one loads units.
 *
 * @throws `DivergenceError` if another history is marked; nothing was changed then
 */
export async function markHistory(
  sink: Pick<Sink, "name" | "markHistory">,
  { segments }: NodeHistory,
  { range, replaceFrom }: { readonly range: BlockRange; readonly replaceFrom?: bigint | undefined },
): Promise<void> {
  const loaded = segments.filter(({ toBlock }) => toBlock <= range.toBlock);
  const [first, last] = [loaded[0], loaded.at(-1)];
  if (first === undefined || last === undefined) {
    return;
  }
  await sink.markHistory?.((marks) => {
    const kept = marks.filter(({ toBlock }) => replaceFrom === undefined || toBlock < replaceFrom);
    const other = kept.find((mark) => isOther(mark, segments));
    if (other !== undefined) {
      throw historyMarkedError(sink.name, other, segments);
    }
    const outside = kept.filter(({ toBlock }) => toBlock < first.fromBlock || toBlock > last.toBlock);
    const next = [...outside, ...marksOf(loaded)].sort((a, b) => (a.toBlock < b.toBlock ? -1 : 1));
    const isSame = next.length === marks.length && next.every((mark) => marks.some((known) => isEqual(mark, known)));
    return isSame ? undefined : next;
  });
}

/** Returns whether a mark lies within the blocks of a history, which has another segment there. */
function isOther({ toBlock, segmentId }: HistoryMark, segments: readonly Segment[]): boolean {
  const [first, last] = [segments[0], segments.at(-1)];
  const isWithin = first !== undefined && last !== undefined && first.fromBlock <= toBlock && toBlock <= last.toBlock;
  return isWithin && segmentEndingAt(segments, toBlock)?.id !== segmentId;
}

/**
 * Returns the marks of a history. A segment names the one before it, so that the last one suffices for a history that is as long. A
 * shorter one is compared with an earlier mark: these are the closer to each other, the closer they are to the end.
 */
function marksOf(segments: readonly Segment[]): HistoryMark[] {
  const marks = new Set([segments[0], segments.at(-1)]);
  for (let back = 1; back < segments.length; back *= 2) {
    marks.add(segments.at(-1 - back));
  }
  return [...marks].flatMap((segment) => (segment ? [{ toBlock: segment.toBlock, segmentId: segment.id }] : []));
}

function isEqual(a: HistoryMark, b: HistoryMark): boolean {
  return a.toBlock === b.toBlock && a.segmentId === b.segmentId;
}
