import type { GetLatestMarketDepthResponse } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { MarketDepthUpdate, PriceLevel } from "../../../gen/vega/vega_pb.js";
import { Code } from "../../base/errors/code.js";
import { ProtocolError } from "../../base/errors/index.js";
import { asResult } from "../../base/json-result.js";
import { firstIndex } from "../../base/signal/collections.js";

/** The order book of a market at a time. */
export interface BookView {
  /**
   * - `live`: the node's book, with all updates that have arrived.
   * - `reloading`: updates are missing, and the book is being reloaded. The levels are the previous ones and may be
   *   outdated.
   */
  readonly state: "live" | "reloading";
  /** The levels to buy, highest price first. */
  readonly buy: readonly PriceLevel[];
  /** The levels to sell, lowest price first. During an auction, the book can be crossed. */
  readonly sell: readonly PriceLevel[];
  /** The node's number of this state of the book. A later state has a higher number. */
  readonly sequenceNumber: bigint;
  /** The number of gaps so far. */
  readonly gaps: number;
}

/** A gap in the updates of a book, after which the book was reloaded. */
export interface BookGap {
  /**
   * - `connection`: the connection was lost.
   * - `sequence`: an update did not continue the book.
   * - `contradiction`: an update was impossible, or the book differed from the node's book with the same number.
   */
  readonly reason: "connection" | "sequence" | "contradiction";
  /** The number of the last state before the gap. */
  readonly sequenceNumber: bigint;
}

/**
 * The state of a loaded book: complete, complete except perhaps for volume of AMMs, without updates after it, older than the
 * known one, or impossible.
 */
export type LoadResult = "complete" | "doubtful" | "incomplete" | "outdated" | "impossible";

/** An order book, built from the node's complete book and its updates. */
export interface OrderBook {
  /** Returns the book; undefined before it was loaded. */
  view(): BookView | undefined;
  readonly sequenceNumber: bigint;
  /** Applies an update. */
  update(update: MarketDepthUpdate): boolean;
  /** Reports that the connection of the updates was lost. */
  connectionLost(): void;
  /** Replaces the book with the node's, and applies the updates that arrived since. */
  load(loaded: GetLatestMarketDepthResponse, knownBefore: bigint): LoadResult;
}

/** The maximum size of the updates that wait for the book to load: the number of updates and of their levels. */
const MAX_WAITING = 100_000;

type Side = "buy" | "sell";

/** The result of an update: used, with whether to compare the book with the node's, or a gap. */
type Applied =
  | { readonly kind: "applied"; readonly isDoubtful: boolean }
  | { readonly kind: "gap"; readonly reason: "contradiction" | "sequence" };

/**
 * Creates an order book.
 *
 * The node numbers the states of its books. An update at the end of a block has all levels that changed after the state
 * `previousSequenceNumber` up to the state `sequenceNumber`, as they are at the end of the block;
 * `GetLatestMarketDepth` may answer with a state between the two (v0.78.0, `publishChanges` and `GetMarketDepth` in
 * datanode/service/market_depth.go). So an update continues any state from `previousSequenceNumber` on.
 */
export function createOrderBook(onGap: (gap: BookGap) => void): OrderBook {
  let phase: "loading" | "live" | "reloading" = "loading";
  const waiting = createWaitingUpdates();
  let sides: Record<Side, BookSide> = { buy: createBookSide("buy", []), sell: createBookSide("sell", []) };
  let sequenceNumber = 0n;
  let gaps = 0;
  let view: BookView | undefined;

  function reportGap(reason: BookGap["reason"]): void {
    if (phase === "live") {
      gaps += 1;
      phase = "reloading";
      view = undefined;
      onGap({ reason, sequenceNumber });
    }
  }

  function apply(update: MarketDepthUpdate): Applied {
    const { buy, sell, previousSequenceNumber } = update;
    if (update.sequenceNumber < sequenceNumber) {
      return { kind: "applied", isDoubtful: false };
    }
    if (previousSequenceNumber > sequenceNumber) {
      return { kind: "gap", reason: "sequence" };
    }
    if (previousSequenceNumber > update.sequenceNumber || ![...buy, ...sell].every(isPossibleUpdate)) {
      return { kind: "gap", reason: "contradiction" };
    }
    const wasCrossed = isCrossed(sides);
    const mayTouchAmm = [...applyLevels(sides.buy, buy), ...applyLevels(sides.sell, sell)].includes(true);
    sequenceNumber = update.sequenceNumber;
    // A crossed book is normal in an auction, and wrong otherwise. Volume of AMMs changes without a change of orders
    // (v0.78.0, `refreshAMM` in datanode/service/market_depth_amm.go). Both are compared with the node's book.
    const isDoubtful =
      mayTouchAmm || previousSequenceNumber === update.sequenceNumber || (!wasCrossed && isCrossed(sides));
    return { kind: "applied", isDoubtful };
  }

  /** Applies the waiting updates. They may continue the book without a gap. */
  function applyWaiting(): "complete" | "doubtful" | "incomplete" {
    const updates = waiting.take();
    let isDoubtful = false;
    for (const [at, update] of updates?.entries() ?? []) {
      const applied = apply(update);
      if (applied.kind === "gap") {
        // An update behind a gap may continue the next book that is loaded. An impossible one never does.
        for (const later of updates?.slice(applied.reason === "sequence" ? at : at + 1) ?? []) {
          waiting.add(later);
        }
        return "incomplete";
      }
      isDoubtful ||= applied.isDoubtful;
    }
    return updates === undefined ? "incomplete" : isDoubtful ? "doubtful" : "complete";
  }

  return {
    get sequenceNumber() {
      return sequenceNumber;
    },

    view() {
      if (phase !== "loading") {
        view ??= asResult({ state: phase, buy: sides.buy.list(), sell: sides.sell.list(), sequenceNumber, gaps });
      }
      return view;
    },

    update(update) {
      if (phase !== "live") {
        waiting.add(update);
        return false;
      }
      const applied = apply(update);
      view = undefined;
      if (applied.kind === "gap") {
        reportGap(applied.reason);
        if (applied.reason === "sequence") {
          waiting.add(update);
        }
        return true;
      }
      return applied.isDoubtful;
    },

    connectionLost() {
      reportGap("connection");
      waiting.take();
    },

    load(loaded, knownBefore) {
      if (phase !== "loading" && loaded.sequenceNumber < sequenceNumber) {
        return phase === "live" && loaded.sequenceNumber >= knownBefore ? "doubtful" : "outdated";
      }
      if (!isPossibleSide(loaded.buy) || !isPossibleSide(loaded.sell)) {
        return "impossible";
      }
      const replaced = { buy: createBookSide("buy", loaded.buy), sell: createBookSide("sell", loaded.sell) };
      if (loaded.sequenceNumber === sequenceNumber && !isEqual(sides, replaced)) {
        reportGap("contradiction");
      }
      sides = replaced;
      sequenceNumber = loaded.sequenceNumber;
      view = undefined;
      const result = applyWaiting();
      phase = result === "incomplete" ? phase : "live";
      return result;
    },
  };
}

/** The updates that arrive while the book is not live. */
function createWaitingUpdates() {
  let updates: MarketDepthUpdate[] = [];
  let size = 0;
  return {
    add(update: MarketDepthUpdate): void {
      size += 1 + update.buy.length + update.sell.length;
      if (size > MAX_WAITING) {
        updates = [];
      } else {
        updates.push(update);
      }
    },
    /** Removes and returns the updates; undefined if there were too many. */
    take(): readonly MarketDepthUpdate[] | undefined {
      const taken = size > MAX_WAITING ? undefined : updates;
      updates = [];
      size = 0;
      return taken;
    },
  };
}

/**
 * Applies the levels of an update, and returns for each whether it may concern volume of AMMs, which updates do not carry.
 * The node lists each level that an AMM changes (v0.78.0, `AddOrderUpdate` in datanode/entities/market_depth.go): so a level
 * whose orders have not changed shows such a change, as does an empty level that the book lacks.
 */
function applyLevels(side: BookSide, levels: readonly PriceLevel[]): boolean[] {
  return levels.map((level) => {
    const { volume = 0n, numberOfOrders = 0n, ammVolume = 0n, ammVolumeEstimated = 0n } = side.get(level.price) ?? {};
    const updated = { ...level, ammVolume, ammVolumeEstimated };
    side.set(updated);
    return hasAmmVolume(updated) || (level.volume === volume && level.numberOfOrders === numberOfOrders);
  });
}

/** A level without orders is removed; any other one has volume. */
function isPossibleUpdate(level: PriceLevel): boolean {
  return isPossibleLevel(level) && (level.numberOfOrders === 0n) === (level.volume === 0n);
}

function isPossibleSide(levels: readonly PriceLevel[]): boolean {
  return levels.every(isPossibleLevel) && new Set(levels.map(({ price }) => price)).size === levels.length;
}

function isCrossed({ buy, sell }: Record<Side, BookSide>): boolean {
  const [bid, ask] = [buy.best(), sell.best()];
  return bid !== undefined && ask !== undefined && bid >= ask;
}

/** Returns whether two books have the same orders. Volume of AMMs may differ. */
function isEqual(one: Record<Side, BookSide>, other: Record<Side, BookSide>): boolean {
  const ordersOf = (side: BookSide) =>
    side
      .list()
      .flatMap(({ price, volume, numberOfOrders }) =>
        numberOfOrders > 0n ? [`${price} ${volume} ${numberOfOrders}`] : [],
      );
  return (["buy", "sell"] as const).every((side) => String(ordersOf(one[side])) === String(ordersOf(other[side])));
}

/** The maximum number of price levels of one side of a book. */
const MAX_LEVELS = 100_000;

/** The maximum volume of a level. A node that subtracts too much wraps around to a higher number. */
const MAX_VOLUME = 2n ** 63n - 1n;

/** The network's prices have up to 256 bits. */
const PRICE = /^\d{1,78}$/;

/** The levels of one side of a book, best price first. */
interface BookSide {
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
function createBookSide(side: "buy" | "sell", levels: readonly PriceLevel[]): BookSide {
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
    return firstIndex(entries, (entry) => comesBefore(entry.price, price));
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
function isPossibleLevel({ price, volume, ammVolume, ammVolumeEstimated }: PriceLevel): boolean {
  return PRICE.test(price) && [volume, ammVolume, ammVolumeEstimated].every((each) => each <= MAX_VOLUME);
}

/** Returns whether a level has volume of automated market makers (AMMs). */
function hasAmmVolume({ ammVolume, ammVolumeEstimated }: PriceLevel): boolean {
  return ammVolume > 0n || ammVolumeEstimated > 0n;
}

function isEmpty(level: PriceLevel): boolean {
  return level.numberOfOrders === 0n && level.volume === 0n && !hasAmmVolume(level);
}
