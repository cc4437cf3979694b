import { setBounded } from "../signal/set-bounded.js";

/** The number of blocks whose times are kept: an outcome is looked for soon after its block. */
const MAX_BLOCKS = 1000;

/** The times of blocks. */
export interface BlockTimes {
  add(height: bigint, time: bigint): void;
  /** The height of the block of a time, in Unix nanoseconds; `undefined` where it does not follow from the known ones. */
  blockAt(time: bigint): bigint | undefined;
}

/**
 * Keeps the times of the last blocks, to find the block of a record that has only a time. A block between two neighbours
 * that are known is known, too.
 *
 * @returns the times, none at first
 */
export function createBlockTimes(): BlockTimes {
  const times = new Map<bigint, bigint>();
  return {
    add(height, time) {
      setBounded(times, height, microseconds(time), MAX_BLOCKS);
    },
    blockAt(time) {
      const wanted = microseconds(time);
      let before: bigint | undefined;
      let after: bigint | undefined;
      for (const [height, known] of times) {
        if (known === wanted) {
          return height;
        }
        if (known < wanted && (before === undefined || height > before)) {
          before = height;
        }
        if (known > wanted && (after === undefined || height < after)) {
          after = height;
        }
      }
      return before !== undefined && after === before + 2n ? before + 1n : undefined;
    },
  };
}

/** The data node stores times in microseconds. */
function microseconds(nanoseconds: bigint): bigint {
  return nanoseconds / 1000n;
}
