import { monotonicMs } from "../runtime/index.js";
import { setBounded } from "../signal/collections.js";

/** A block that a transaction can be tied to. */
export interface KnownBlock {
  readonly height: bigint;
  /** 64 hex digits, as the node writes them. */
  readonly hash: string;
}

/** The highest block that a client knows. */
export interface LastKnownBlock {
  readonly height: bigint;
  /** How many blocks back the network takes transactions that are tied to one; 0 if that is not known. */
  readonly pastBlocks: number;
  /** How long ago a node named it, in milliseconds. */
  readonly ageMs: number;
}

/** The latest blocks that a node has named, with their hashes. */
export interface RecentBlocks {
  /**
   * Adds a block. One without a proper hash is ignored, as no proof of work can be made for it.
   *
   * @param block the block, and the network's `spam.pow.numberOfPastBlocks` if it is known
   * @param time its time, in Unix nanoseconds; `undefined` if that is not known
   */
  add(block: KnownBlock & { readonly spamPowNumberOfPastBlocks?: number }, time?: bigint): void;
  /**
   * Returns the highest block that was named in the last minute. A node that replays blocks names older ones, so the last
   * answer alone is not enough; after a minute, a network may have started over.
   */
  last(): LastKnownBlock | undefined;
  /**
   * Finds the newest known block in a range of heights.
   *
   * @param min the lowest height
   * @param max the highest height
   * @returns the block; `undefined` if none of the range is known
   */
  newestIn(min: bigint, max: bigint): KnownBlock | undefined;
  /** Finds the oldest known block in a range of heights, like {@link newestIn}. */
  oldestIn(min: bigint, max: bigint): KnownBlock | undefined;
  /** The average interval between the known blocks, in milliseconds; `undefined` until the times of two are known. */
  averageMs(): number | undefined;
}

/** How many blocks are retained. A network takes transactions tied to 500 blocks at most (v0.78.0, `ringSize` in `core/pow/engine.go`). */
const MAX_BLOCKS = 500;

/** For how long the highest block is remembered while nodes name lower ones, in milliseconds. */
const MAX_AGE_MS = 60_000;

/**
 * Creates an empty list of recent blocks.
 *
 * @returns the list
 */
export function createRecentBlocks(): RecentBlocks {
  const blocks = new Map<bigint, KnownBlock & { readonly time: bigint | undefined }>();
  /** The known blocks of a range, in the order of their heights. */
  const inRange = (min: bigint, max: bigint) =>
    [...blocks.values()].filter(({ height }) => height >= min && height <= max).sort(byHeight);

  let highest = { height: 0n, at: Number.NEGATIVE_INFINITY };
  let pastBlocks = 0;

  return {
    add({ height, hash, spamPowNumberOfPastBlocks = pastBlocks }, time = blocks.get(height)?.time) {
      if (/^[0-9a-f]{64}$/i.test(hash)) {
        setBounded(blocks, height, { height, hash, time }, MAX_BLOCKS);
        pastBlocks = spamPowNumberOfPastBlocks;
        const at = monotonicMs();
        if (height >= highest.height || at - highest.at > MAX_AGE_MS) {
          highest = { height, at };
        }
      }
    },

    last() {
      const ageMs = monotonicMs() - highest.at;
      return ageMs > MAX_AGE_MS ? undefined : { height: highest.height, pastBlocks, ageMs };
    },

    newestIn: (min, max) => inRange(min, max).at(-1),
    oldestIn: (min, max) => inRange(min, max)[0],

    averageMs() {
      const timed = [...blocks.values()]
        .flatMap(({ height, time }) => (time === undefined ? [] : [{ height, time }]))
        .sort(byHeight);
      const [first, last] = [timed[0], timed.at(-1)];
      if (first === undefined || last === undefined || first.height === last.height) {
        return undefined;
      }
      const ms = Number(last.time - first.time) / 1e6 / Number(last.height - first.height);
      return ms > 0 ? ms : undefined;
    },
  };
}

/** Compares blocks: several nodes may name them in any order. */
function byHeight(a: { readonly height: bigint }, b: { readonly height: bigint }): number {
  return Number(a.height - b.height);
}
