import { hash } from "node:crypto";
import type { Block, BlockEvent, Event } from "../world/block-event.js";
import { blockHash } from "../world/block-event.js";

/** Number of hex digits in an identifier that encode its number. */
const NUMBER_DIGITS = 12;

export function hashOf(content: string | Uint8Array): string {
  return hash("sha256", content);
}

/** Returns an identifier that encodes a number: a hash whose last digits are the number. */
export function numberedId(kind: string, number: number): string {
  return hashOf(`${kind}:${number}`).slice(NUMBER_DIGITS) + number.toString(16).padStart(NUMBER_DIGITS, "0");
}

/** Returns the number that {@link numberedId} encoded. */
export function numberOf(kind: string, id: string): number | undefined {
  const number = Number.parseInt(id.slice(-NUMBER_DIGITS), 16);
  return Number.isSafeInteger(number) && numberedId(kind, number) === id ? number : undefined;
}

export function scatter(low: number, spread: number, seed: number): number {
  return low + ((seed * 7919 + 104_729) % spread);
}

export function decimal(units: number, places: number): string {
  const digits = String(units).padStart(places + 1, "0");
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

export function pick<T>(values: readonly [T, ...T[]], number: number): T {
  return values[Math.floor(number) % values.length] ?? values[0];
}

/**
 * Returns a text as users type it. The texts exercise every rule of the CSV format: delimiters,
 * quotes, all kinds of line breaks, the empty string, leading and trailing spaces, PostgreSQL's own markers, and other
 * scripts.
 */
export function freeText(number: number): string {
  return pick(texts, number);
}

const texts: readonly [string, ...string[]] = [
  "hedge",
  "buy low, sell high",
  'the "safe" side',
  "first line\nsecond line",
  "",
  "first line\r\nsecond line",
  "first line\rsecond line",
  "\\.",
  "  two spaces at both ends  ",
  "Größe – déjà vu, señor",
  "注文番号、第一",
  "🚀 to the moon 🦊",
  "طلب شراء رقم",
  'all at once: ",\r\n"',
  "NULL",
  "\\N\ttab",
  '"',
];

/** Defers a computation until its result is first needed, and caches the result. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Numbers of generated markets, parties and assets. Each is numbered from 0. */
export const COUNT = { market: 12, party: 97, asset: 5 } as const;

/** Virtual time of block 0: 2023-10-19 08:00:00 UTC, in Unix microseconds. */
const START = 1_697_702_400_000_000;

/** These functions return an identifier by number, which wraps around. */
export const marketId = ids("market", COUNT.market);
export const partyId = ids("party", COUNT.party);
export const assetId = ids("asset", COUNT.asset);

function ids(kind: string, count: number): (number: number) => string {
  const all = Array.from({ length: count }, (_, number) => hashOf(`${kind}:${number}`));
  return (number) => all[number % count] ?? "";
}

/** Returns the number of a market's settlement asset. */
export const settlementAsset = (market: number): number => (market % COUNT.market) % COUNT.asset;

/** Generates a block of the history. It does not depend on the clock. */
export function generatedBlock(height: bigint): Block {
  return { height, hash: blockHash(`${height}`), time: blockTime(height) };
}

export function blockTime(height: bigint | number): bigint {
  const number = Number(height);
  return BigInt(START + number * 1_000_000 + ((number * 7919) % 1_000_000)) * 1000n;
}

/** Returns the earlier of two times, or the shorter of two durations. */
export const earlier = (a: bigint, b: bigint): bigint => (a <= b ? a : b);

export function blockEvent(block: Block, sequence: number, event: Event): BlockEvent {
  return { block, sequence, txHash: hashOf(`tx:${block.height}:${sequence}`), event };
}
