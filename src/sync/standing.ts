import { Code } from "@connectrpc/connect";
import { SinkError } from "../errors/index.js";
import type { BlockRange } from "../history/segments.js";
import type { Parting } from "./sink.js";
import type { LedgerEntry, Segment } from "./unit.js";

/**
 * How an entry of a ledger stands to a node's history: it is of its segments, it lies before or behind all of them, it
 * begins with one of them and ends behind the last, or the histories part with it.
 */
export type Standing = "of" | "before" | "behind" | "beyond" | "parted";

/** What a table's ledger and a history come to, in the order of the blocks. */
export type Step =
  | { readonly case: "entry"; readonly entry: LedgerEntry; readonly standing: Standing; readonly foreign: boolean }
  /** A segment within the range that no entry of the history covers. */
  | { readonly case: "missing"; readonly segment: Segment };

/**
 * Go through the ledger of a table and the segments of a node side by side. Nothing is kept, so that memory does not
 * grow with the ledger.
 *
 * @param entries the ledger of a table, in the order of the blocks
 * @param segments the node's segments, oldest first, without gaps
 * @param range segments that do not lie wholly within it are not missing
 * @param replaceFrom from this block on, entries that part from the history or go beyond it are foreign
 * @returns each entry and each missing segment, the missing ones in the order of their blocks
 * @throws {@link SinkError} where the entries overlap or are out of order; errors of `entries` unchanged
 */
export async function* standings(
  entries: AsyncIterable<LedgerEntry>,
  segments: readonly Segment[],
  range: BlockRange,
  replaceFrom?: bigint | undefined,
): AsyncGenerator<Step, void, undefined> {
  let next = 0;
  let before: LedgerEntry | undefined;
  function* missingUpTo(end: number): Generator<Step> {
    for (; next < end; next += 1) {
      const segment = segments[next];
      if (segment && range.fromBlock <= segment.fromBlock && segment.toBlock <= range.toBlock) {
        yield { case: "missing", segment };
      }
    }
  }
  for await (const entry of entries) {
    if (before !== undefined && entry.fromBlock <= before.toBlock) {
      throw disordered(before, entry);
    }
    before = entry;
    const standing = standingOf(entry, segments);
    const replaced = replaceFrom !== undefined && entry.fromBlock >= replaceFrom && segments.length > 0;
    const foreign = replaced && standing !== "of" && standing !== "before";
    if (standing === "of" || (standing === "beyond" && !foreign)) {
      yield* missingUpTo(firstEndingAt(segments, entry.fromBlock));
      next = Math.max(next, firstEndingAt(segments, entry.toBlock + 1n));
    }
    yield { case: "entry", entry, standing, foreign };
  }
  yield* missingUpTo(segments.length);
}

/**
 * Tell how an entry of a ledger stands to a node's history. An entry of several segments of which the node has only the
 * last ones, as it has dropped the others, is of the history where those agree.
 *
 * @param entry the entry
 * @param segments the node's segments, oldest first, without gaps
 * @returns the standing; in an empty history all entries are behind
 */
export function standingOf(entry: LedgerEntry, segments: readonly Segment[]): Standing {
  const [first, last] = [segments[0], segments.at(-1)];
  if (first === undefined || last === undefined || entry.fromBlock > last.toBlock) {
    return "behind";
  }
  if (entry.toBlock < first.fromBlock) {
    const adjacent = entry.toBlock === first.fromBlock - 1n;
    return adjacent && entry.segmentId !== first.previousId ? "parted" : "before";
  }
  const start = segments[firstEndingAt(segments, entry.fromBlock)];
  const begins =
    entry.fromBlock < first.fromBlock ||
    (start?.fromBlock === entry.fromBlock && start.previousId === entry.previousSegmentId);
  if (entry.toBlock > last.toBlock) {
    return begins ? "beyond" : "parted";
  }
  return begins && segmentEndingAt(segments, entry.toBlock)?.id === entry.segmentId ? "of" : "parted";
}

/**
 * Find the segment that ends with a block.
 *
 * @param segments in the order of their blocks
 * @param block the block
 * @returns the segment; `undefined` where none ends there
 */
export function segmentEndingAt(segments: readonly Segment[], block: bigint): Segment | undefined {
  const found = segments[firstEndingAt(segments, block)];
  return found?.toBlock === block ? found : undefined;
}

/**
 * Say where an entry of a ledger parts from a history.
 *
 * @param entry the entry
 * @param segments the node's segments
 * @returns the place, with the node's segment that ends with the same block, where there is one
 */
export function partingAt(entry: LedgerEntry, segments: readonly Segment[]): Parting {
  const segment = segmentEndingAt(segments, entry.toBlock);
  return { entry, ...(segment && { segment }) };
}

/**
 * Find the first segment that ends with a block or behind it.
 *
 * @param segments in the order of their blocks
 * @param block the block
 * @returns its index; the number of segments where there is none
 */
export function firstEndingAt(segments: readonly Segment[], block: bigint): number {
  let [low, high] = [0, segments.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((segments[middle]?.toBlock ?? block) < block) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

function disordered(before: LedgerEntry, { table, fromBlock }: LedgerEntry): SinkError {
  return new SinkError(
    `the ledger of ${table} has a unit from block ${fromBlock} behind one of blocks ${before.fromBlock} to ${before.toBlock}`,
    {
      code: Code.DataLoss,
      advice: "The ledger was changed by something else. Restore it, or sync into a new place.",
    },
  );
}
