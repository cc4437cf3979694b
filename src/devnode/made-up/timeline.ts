import type { Block } from "../world/event.js";
import type { Place, Placed, Timeline } from "../world/timeline.js";
import { madeUpBlock } from "./chain.js";
import { numberOf } from "./numbers.js";

/**
 * How many blocks at the end of the history listings reach back. A filter that nothing meets would otherwise keep the
 * node busy for the whole history. Exports, and finding by identifier, know all of it.
 */
export const REACH_BLOCKS = 100_000n;

/** The records of a made-up timeline. */
export interface Records<T> {
  readonly lastHeight: bigint;
  /** How many there are in each block. */
  readonly perBlock: number;
  /** What the records identify themselves by, where they do. */
  readonly kind?: string;
  /** Make one, by its block and its place in it. */
  readonly make: (block: Block, index: number) => T;
}

/**
 * Make a timeline of records that are made when their turn comes.
 *
 * @param records how to make them
 * @returns the timeline; it reads the last {@link REACH_BLOCKS} blocks
 */
export function madeUpTimeline<T>({ lastHeight, perBlock, kind, make }: Records<T>): Timeline<T> {
  const firstHeight = lastHeight > REACH_BLOCKS ? lastHeight - REACH_BLOCKS + 1n : 1n;
  return {
    *read(newestFirst, beyond) {
      const end = newestFirst ? firstHeight : lastHeight;
      const step = newestFirst ? -1n : 1n;
      const start = beyond === undefined ? (newestFirst ? lastHeight : firstHeight) : beyond.height;
      for (let height = within(start, firstHeight, lastHeight); (end - height) * step >= 0n; height += step) {
        const block = madeUpBlock(height);
        for (const place of places(height, perBlock, newestFirst)) {
          if (beyond === undefined || isBehind(place, beyond, newestFirst)) {
            yield { place, value: make(block, place.index) } satisfies Placed<T>;
          }
        }
      }
    },

    find(id) {
      const number = kind === undefined ? undefined : numberOf(kind, id);
      const height = number === undefined ? 0n : BigInt(Math.floor(number / perBlock)) + 1n;
      return number === undefined || height > lastHeight ? undefined : make(madeUpBlock(height), number % perBlock);
    },
  };
}

function within(height: bigint, first: bigint, last: bigint): bigint {
  return height < first ? first : height > last ? last : height;
}

function places(height: bigint, count: number, newestFirst: boolean): Place[] {
  return Array.from({ length: count }, (_, at) => ({ height, index: newestFirst ? count - 1 - at : at }));
}

function isBehind(place: Place, { height, index }: Place, newestFirst: boolean): boolean {
  const distance = place.height === height ? place.index - index : Number(place.height - height);
  return newestFirst ? distance < 0 : distance > 0;
}
