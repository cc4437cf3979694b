import type { World } from "./world.js";

/** Number of blocks per epoch. Epoch 0 has one less, because there is no block 0. */
const EPOCH_BLOCKS = 600;

/** The planned length of an epoch, in nanoseconds: the generated history has a block each second. */
const EPOCH_NANOSECONDS = BigInt(EPOCH_BLOCKS) * 1_000_000_000n;

/** The start and the end of an epoch, in Unix nanoseconds and as heights. */
export interface EpochTimes {
  readonly startTime: bigint;
  readonly expiryTime: bigint;
  readonly firstBlock: bigint;
  /** Set, together with the last block's height, once the epoch has ended. */
  readonly endTime?: bigint;
  readonly lastBlock?: bigint;
}

export function epochOf(height: bigint): bigint {
  return height / BigInt(EPOCH_BLOCKS);
}

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
