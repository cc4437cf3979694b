import { EPOCH_BLOCKS } from "../made-up/chain.js";
import type { World } from "../world/world.js";

/** How long an epoch is meant to last, in nanoseconds: the history has a block a second. */
const EPOCH_NANOSECONDS = BigInt(EPOCH_BLOCKS) * 1_000_000_000n;

/** When an epoch began, and when it ended or is to end: Unix nanoseconds, and heights. */
export interface EpochTimes {
  readonly startTime: bigint;
  readonly expiryTime: bigint;
  readonly firstBlock: bigint;
  /** Given with the last block's height once the epoch has ended. */
  readonly endTime?: bigint;
  readonly lastBlock?: bigint;
}

/**
 * Find the epoch of a block.
 *
 * @param height the block's height
 * @returns the epoch's number
 */
export function epochOf(height: bigint): bigint {
  return height / BigInt(EPOCH_BLOCKS);
}

/**
 * Find when an epoch began, and when it ended or is to end.
 *
 * @param world how things stand
 * @param epoch the epoch's number; it must have begun
 * @returns its times and heights
 */
export function epochTimestamps(world: World, epoch: bigint): EpochTimes {
  const firstBlock = epoch === 0n ? 1n : epoch * BigInt(EPOCH_BLOCKS);
  const lastBlock = (epoch + 1n) * BigInt(EPOCH_BLOCKS) - 1n;
  const startTime = world.blockAt(firstBlock)?.time ?? 0n;
  const endTime = world.blockAt(lastBlock)?.time;
  return {
    startTime,
    expiryTime: startTime + EPOCH_NANOSECONDS,
    firstBlock,
    ...(endTime === undefined ? {} : { endTime, lastBlock }),
  };
}
