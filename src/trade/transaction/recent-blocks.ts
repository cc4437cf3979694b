import { type Moment, moment, passedMs } from "../../base/runtime/index.js";
import { setBounded } from "../../base/signal/collections.js";

/** A block that a transaction can be tied to. */
export interface KnownBlock {
  readonly height: bigint;
  /** 64 hex digits, as the node writes them. */
  readonly hash: string;
}

/** The highest block that a client knows. */
export interface LastKnownBlock {
  readonly height: bigint;
  /** The number of past blocks that transactions may be tied to; 0 if unknown. */
  readonly pastBlocks: number;
  /** Milliseconds since a node reported it. */
  readonly ageMs: number;
  /** The number of blocks that the network may have made since, at twice the previous rate. */
  readonly laterBlocks: number;
}

/**
 * The latest blocks that nodes have reported, with their hashes.
 *
 * A single wrong response must not determine the last block: transactions would be tied to a block that does not exist,
 * and all real blocks would look old. A height is accepted immediately if it is at most 10 above the highest accepted
 * one. Any other height, and the first one, is accepted once the next reading confirms it with a block from 10 before
 * it to 10 after it, plus up to 100 for each second between the two readings, for up to 5 seconds.
 */
export interface RecentBlocks {
  /**
   * Adds a reading: a block that a node has reported. A block without a valid hash is dropped, because no proof of work
   * can be computed for it.
   */
  add(block: KnownBlock & { readonly spamPowNumberOfPastBlocks?: number }, time?: bigint): boolean;
  /**
   * Returns the highest accepted block, if it was reported in the last minute. A node that replays blocks reports older
   * ones, so the last response alone is not enough; after a minute, a network may have started over.
   */
  last(): LastKnownBlock | undefined;
  /** Finds the newest known block in a range of heights. */
  newestIn(min: bigint, max: bigint): KnownBlock | undefined;
  /** Finds the oldest known block in a range of heights, like {@link newestIn}. */
  oldestIn(min: bigint, max: bigint): KnownBlock | undefined;
  /** The average interval between the known blocks, in milliseconds; `undefined` until the times of two are known. */
  averageMs(): number | undefined;
}

/**
 * How many blocks are retained. A network accepts transactions tied to at most 500 blocks (v0.78.0, `ringSize` in
 * `core/pow/engine.go`).
 */
const MAX_BLOCKS = 500;

/** For how long the highest block is remembered while nodes name lower ones, in milliseconds. */
const MAX_AGE_MS = 60_000;

/** How many blocks a reading may be above the highest one that counts. A client that follows blocks sees each of them. */
const MAX_STEP = 10;

/**
 * Maximum number of blocks that a network makes in a millisecond, and how long that may explain a difference, in milliseconds.
 */
const MAX_BLOCKS_PER_MS = 0.1;
const MAX_CONFIRMING_MS = 5_000;

/** The pace of a network is measured over at most this many readings, and over at least this many milliseconds. */
const MAX_READINGS = 100;
const MIN_READING_MS = 500;

/** The pace until it is known, in milliseconds: on a busy machine, a validator of v0.78.0 made 10 blocks in 250 ms. */
const UNKNOWN_PACE_MS = 50;

/** A block that a node has named, and when. */
interface Reading {
  readonly block: KnownBlock & { readonly spamPowNumberOfPastBlocks?: number };
  readonly time: bigint | undefined;
  readonly at: Moment;
}

/** Creates an empty list of recent blocks. */
export function createRecentBlocks(): RecentBlocks {
  const blocks = new Map<bigint, KnownBlock & { readonly time: bigint | undefined }>();
  /** The known blocks of a range, in the order of their heights. */
  const inRange = (min: bigint, max: bigint) =>
    [...blocks.values()].filter(({ height }) => height >= min && height <= max).sort(byHeight);

  let highest: { readonly height: bigint; readonly at: Moment } | undefined;
  let readings: { readonly height: bigint; readonly at: Moment }[] = [];
  let unconfirmed: Reading | undefined;
  let pastBlocks = 0;

  const fresh = () => (highest === undefined || passedMs(highest.at) > MAX_AGE_MS ? undefined : highest);

  function count({ block, time = blocks.get(block.height)?.time, at }: Reading): void {
    const { height, hash, spamPowNumberOfPastBlocks = pastBlocks } = block;
    if (/^[0-9a-f]{64}$/i.test(hash)) {
      setBounded(blocks, height, { height, hash, time }, MAX_BLOCKS);
    }
    pastBlocks = spamPowNumberOfPastBlocks;
    const known = fresh();
    if (known === undefined || height >= known.height) {
      highest = { height, at };
      readings = [...(known === undefined ? [] : readings.slice(1 - MAX_READINGS)), highest];
    }
  }

  /** The time between two blocks, in milliseconds, by the readings. */
  function paceMs(): number {
    const [first, last] = [readings[0], readings.at(-1)];
    if (first === undefined || last === undefined) {
      return UNKNOWN_PACE_MS;
    }
    const ms = last.at.monotonicMs - first.at.monotonicMs;
    return ms < MIN_READING_MS ? UNKNOWN_PACE_MS : ms / Number(last.height - first.height);
  }

  return {
    add(block, time) {
      const reading = { block, time, at: moment() };
      const known = fresh();
      const isNext = known !== undefined && block.height <= known.height + BigInt(MAX_STEP);
      const confirmed = isNext || unconfirmed === undefined || !confirms(block, unconfirmed) ? undefined : unconfirmed;
      if (!isNext && confirmed === undefined) {
        unconfirmed = reading;
        return false;
      }
      for (const each of confirmed === undefined ? [reading] : [confirmed, reading]) {
        count(each);
      }
      unconfirmed = undefined;
      return true;
    },

    last() {
      const known = fresh();
      if (known === undefined) {
        return undefined;
      }
      const ageMs = passedMs(known.at);
      return { height: known.height, pastBlocks, ageMs, laterBlocks: Math.floor((2 * ageMs) / paceMs()) };
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

/** Returns whether a block confirms a reading: both nodes, or the same one twice, name about the same height. */
function confirms({ height }: KnownBlock, { block, at }: Reading): boolean {
  const ms = passedMs(at);
  const later = MAX_STEP + Math.floor(Math.min(ms, MAX_CONFIRMING_MS) * MAX_BLOCKS_PER_MS);
  return ms <= MAX_AGE_MS && height >= block.height - BigInt(MAX_STEP) && height <= block.height + BigInt(later);
}

/** Compares blocks: several nodes may name them in any order. */
function byHeight(a: { readonly height: bigint }, b: { readonly height: bigint }): number {
  return Number(a.height - b.height);
}
