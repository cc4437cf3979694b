import { Code } from "@connectrpc/connect";
import type { PriceLevel } from "../../../gen/vega/vega_pb.js";
import { ProtocolError } from "../../base/errors/index.js";

/** The maximum number of price levels of one side of a book. */
const MAX_LEVELS = 100_000;

/** The maximum volume of a level. A node that subtracts too much wraps around to a higher number. */
const MAX_VOLUME = 2n ** 63n - 1n;

/** The network's prices have up to 256 bits. */
const PRICE = /^\d{1,78}$/;

/** The levels of one side of a book, best price first. */
export interface BookSide {
  /** Returns the levels: a copy, which does not change later. */
  list(): PriceLevel[];
  best(): bigint | undefined;
  get(price: string): PriceLevel | undefined;
  /** Adds or replaces a level; removes it if it has no orders and no volume. */
  set(level: PriceLevel): void;
}

/** A level with its price as a number. */
interface Entry {
  readonly price: bigint;
  readonly level: PriceLevel;
}

/**
 * Creates one side of a book.
 *
 * @throws {@link ProtocolError} if it has more than 100 000 levels, also later
 */
export function createBookSide(side: "buy" | "sell", levels: readonly PriceLevel[]): BookSide {
  const comesBefore = side === "buy" ? (a: bigint, b: bigint) => a > b : (a: bigint, b: bigint) => a < b;
  const entries: Entry[] = levels
    .map((level) => ({ price: BigInt(level.price), level }))
    .sort((a, b) => (a.price === b.price ? 0 : comesBefore(a.price, b.price) ? -1 : 1));
  requireCapacity();

  function requireCapacity(): void {
    if (entries.length > MAX_LEVELS) {
      throw new ProtocolError(`the order book has more than ${MAX_LEVELS} levels to ${side}`, {
        code: Code.ResourceExhausted,
        advice: "No market has that many prices. Use another node, and report this to the operator of the node.",
      });
    }
  }

  /** Returns the position of a price, or the one where it belongs. */
  function find(price: bigint): number {
    let [low, high] = [0, entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = entries[middle];
      if (entry !== undefined && comesBefore(entry.price, price)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  return {
    list: () => entries.map(({ level }) => level),
    best: () => entries[0]?.price,
    get(text) {
      const price = BigInt(text);
      const entry = entries[find(price)];
      return entry?.price === price ? entry.level : undefined;
    },
    set(level) {
      const price = BigInt(level.price);
      const at = find(price);
      const isKnown = entries[at]?.price === price;
      const added = isEmpty(level) ? [] : [{ price, level }];
      entries.splice(at, isKnown ? 1 : 0, ...added);
      requireCapacity();
    },
  };
}

/** Returns whether a level is possible in a book: its price is a whole number, and its volumes did not wrap around. */
export function isPossibleLevel({ price, volume, ammVolume, ammVolumeEstimated }: PriceLevel): boolean {
  return PRICE.test(price) && [volume, ammVolume, ammVolumeEstimated].every((each) => each <= MAX_VOLUME);
}

/** Returns whether a level has volume of automated market makers (AMMs). */
export function hasAmmVolume({ ammVolume, ammVolumeEstimated }: PriceLevel): boolean {
  return ammVolume > 0n || ammVolumeEstimated > 0n;
}

function isEmpty(level: PriceLevel): boolean {
  return level.numberOfOrders === 0n && level.volume === 0n && !hasAmmVolume(level);
}
