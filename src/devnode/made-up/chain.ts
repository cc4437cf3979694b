import { blockHash } from "../core/blocks.js";
import type { Block, Event, Happening } from "../world/event.js";
import { hashOf } from "./numbers.js";

/** How many markets, parties and assets the local node has. Each one is numbered from 0. */
export const COUNT = { market: 12, party: 97, asset: 5 } as const;

/** The number of blocks of an epoch. Epoch 0 lacks block 0. */
export const EPOCH_BLOCKS = 600;

/** The time of block 0, which there is not: 2023-10-19 08:00:00 UTC, in Unix microseconds. */
const START = 1_697_702_400_000_000;

/** Identifiers by number. Numbers beyond the count begin again. */
export const marketId = ids("market", COUNT.market);
export const partyId = ids("party", COUNT.party);
export const assetId = ids("asset", COUNT.asset);

function ids(kind: string, count: number): (number: number) => string {
  const all = Array.from({ length: count }, (_, number) => hashOf(`${kind}:${number}`));
  return (number) => all[number % count] ?? "";
}

/** The number of the asset that a market settles in. */
export const settlementAsset = (market: number): number => (market % COUNT.market) % COUNT.asset;

/**
 * Make a block of the history. Nothing of it depends on the clock.
 *
 * @param height from 1
 * @returns the block
 */
export function madeUpBlock(height: bigint): Block {
  return { height, hash: blockHash(`${height}`), time: blockTime(height) };
}

/**
 * Give the time of a block of the history: one comes about every second.
 *
 * @param height from 1
 * @returns Unix nanoseconds, in whole microseconds
 */
export function blockTime(height: bigint | number): bigint {
  const number = Number(height);
  return BigInt(START + number * 1_000_000 + ((number * 7919) % 1_000_000)) * 1000n;
}

/** The earlier one of two times, or the shorter one of two spans. */
export const earlier = (a: bigint, b: bigint): bigint => (a <= b ? a : b);

/**
 * Put an event into a block of the history.
 *
 * @param block the block
 * @param sequence its place in the block, from 1
 * @param event what happens
 * @returns the event in its block, with a transaction of its own
 */
export function happening(block: Block, sequence: number, event: Event): Happening {
  return { block, sequence, txHash: hashOf(`tx:${block.height}:${sequence}`), event };
}
