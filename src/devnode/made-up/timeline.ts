import type { Block } from "../world/event.js";
import type { Place, Placed, Timeline } from "../world/timeline.js";
import { madeUpBlock } from "./chain.js";
import { numberOf } from "./numbers.js";

/**
 * How many blocks at the end of the history listings reach back. A filter that nothing meets would otherwise keep the
 * node busy for the whole history. Exports, and finding by identifier, know all of it.
 */
export const REACH_BLOCKS = 100_000n;

/** How many blocks at the end of the history keep their records once they are made: who polls asks for them again. */
const KEPT_BLOCKS = 5000n;

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
  const kept = new Map<bigint, readonly T[]>();
  const recordsAt = (height: bigint): readonly T[] => {
    const found = kept.get(height);
    if (found !== undefined) {
      return found;
    }
    const block = madeUpBlock(height);
    const made = Array.from({ length: perBlock }, (_, index) => make(block, index));
    if (height > lastHeight - KEPT_BLOCKS) {
      kept.set(height, made);
    }
    return made;
  };
  const firstHeight = lastHeight > REACH_BLOCKS ? lastHeight - REACH_BLOCKS + 1n : 1n;
  return {
    *read(newestFirst, beyond) {
      const end = newestFirst ? firstHeight : lastHeight;
      const step = newestFirst ? -1n : 1n;
      const start = beyond === undefined ? (newestFirst ? lastHeight : firstHeight) : beyond.height;
      for (let height = within(start, firstHeight, lastHeight); (end - height) * step >= 0n; height += step) {
        const places = recordsAt(height).map(
          (value, index) => ({ place: { height, index }, value }) satisfies Placed<T>,
        );
        for (const record of newestFirst ? places.reverse() : places) {
          if (beyond === undefined || isBehind(record.place, beyond, newestFirst)) {
            yield record;
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

function isBehind(place: Place, { height, index }: Place, newestFirst: boolean): boolean {
  const distance = place.height === height ? place.index - index : Number(place.height - height);
  return newestFirst ? distance < 0 : distance > 0;
}
