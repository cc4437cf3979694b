import type { BlockRange } from "../../history/segments.js";
import type { SyncOptions } from "../options.js";
import type { NodeHistory } from "../unit.js";
import { firstBehind } from "./coverage.js";
import type { Lag, TableProgress } from "./snapshot.js";

/** The most looks at the node's listing that are remembered. Beyond that, the newest ones count as one. */
const MAX_LOOKS = 1000;

/**
 * Keep how far the tables are behind the node.
 *
 * @param now tells the time in milliseconds
 * @returns functions that tell what the node has, and show the lag
 */
export function createLag(now: () => number) {
  /** When the node was first seen to have blocks beyond those seen before, oldest first. */
  const looks: { readonly from: bigint; readonly at: number }[] = [];
  let seen: BlockRange | undefined;
  return {
    look({ fromBlock, toBlock }: BlockRange): void {
      const news = seen === undefined ? fromBlock : seen.toBlock + 1n;
      if (toBlock >= news && looks.length < MAX_LOOKS) {
        looks.push({ from: news, at: now() });
      }
      seen = { fromBlock, toBlock };
    },
    show(tables: readonly TableProgress[]): Lag | undefined {
      if (seen === undefined) {
        return undefined;
      }
      const { fromBlock, toBlock: newest } = seen;
      const behind = tables.reduce(
        (least, { toBlock = fromBlock - 1n }) => (toBlock < least ? toBlock : least),
        newest,
      );
      while ((looks[1]?.from ?? newest + 1n) <= behind + 1n && looks.length > 0) {
        looks.shift(); // All that was seen then is there.
      }
      const since = behind < newest ? (looks[0]?.at ?? now()) : now();
      return { blocks: newest - behind, seconds: (now() - since) / 1000 };
    },
  };
}

/**
 * Find where the segments of a history end that lie within a range, so that those within a unit can be counted.
 *
 * @returns their first block, and the last block of each of them, oldest first
 */
export function segmentsWithin(
  { segments }: NodeHistory,
  { fromBlock = 0n, toBlock }: NonNullable<SyncOptions["range"]> = {},
): (BlockRange & { readonly ends: Float64Array }) | undefined {
  const within = segments.filter(
    (segment) => segment.fromBlock >= fromBlock && (toBlock === undefined || segment.toBlock <= toBlock),
  );
  const [first, last] = [within[0], within.at(-1)];
  return (
    first &&
    last && {
      fromBlock: first.fromBlock,
      toBlock: last.toBlock,
      ends: Float64Array.from(within, (segment) => Number(segment.toBlock)),
    }
  );
}

/** Count the segments that end within a range of blocks. */
export function countEnds(ends: Float64Array, { fromBlock, toBlock }: BlockRange): number {
  return firstBehind(ends, Number(toBlock)) - firstBehind(ends, Number(fromBlock) - 1);
}
