import type { Side } from "../../../gen/vega/vega_pb.js";

/** A live order, as the node listed it. */
export interface OpenOrder {
  readonly id: string;
  readonly marketId: string;
  readonly side: Side;
  /** In units of the market's price; 0 if the order is pegged. */
  readonly price: bigint;
  readonly isPegged: boolean;
  readonly size: bigint;
  /** The size that may still be traded, including the hidden part of an iceberg order. */
  readonly remaining: bigint;
  readonly version: bigint;
}

/** An effect of a signed transaction that the node does not show yet. */
export type UnseenPart =
  | {
      readonly kind: "order";
      /** `undefined` until it is signed: identifiers are derived from the signature. */
      id: string | undefined;
      /** The number of times that the node was asked for this order alone. */
      lookups: number;
      readonly index: number;
      readonly marketId: string;
      readonly side: Side;
      readonly price: bigint;
      readonly isPegged: boolean;
      readonly size: bigint;
      /** It can only lower a position (v0.78.0, `ReduceOnlyAdjustRemaining` in core/types/matching.go). */
      readonly isReduceOnly: boolean;
    }
  | {
      readonly kind: "amendment";
      readonly orderId: string;
      readonly marketId: string;
      readonly size: bigint | undefined;
      readonly sizeDelta: bigint;
      readonly price: bigint | undefined;
      /** The order has this version if it and all amendments before were executed. `undefined` if the order was not listed. */
      readonly seenFrom: bigint | undefined;
    }
  /** A stop order, which can only lower a position. */
  | {
      readonly kind: "stopOrder";
      id: string | undefined;
      lookups: number;
      readonly index: number;
      readonly half: "fallsBelow" | "risesAbove";
    };

/** A transaction that was signed, and may be executed. */
export interface SignedTransaction {
  /** The last block that may contain it. */
  readonly lastBlock: bigint;
  /** The effects that the node does not show yet. */
  parts: readonly UnseenPart[];
  /** The time of a block of the core, in Unix nanoseconds, when no later block could contain it. */
  overSince: bigint | undefined;
}

/** The state that a node reported at a time. */
export interface Observed {
  readonly orders: ReadonlyMap<string, OpenOrder>;
  /** The open volumes by market; negative if short. */
  readonly positions: ReadonlyMap<string, bigint>;
  /** The mark prices by market, in units; markets without one are missing. */
  readonly marks: ReadonlyMap<string, bigint>;
}

/** The limits of a market in units. */
export interface MarketLimits {
  readonly priceDecimals: number;
  readonly sizeDecimals: number;
  readonly maxSize: bigint;
  /** In units of price times size. */
  readonly maxNotional: bigint;
  readonly maxPosition: bigint;
  /** As a fraction: numerator and denominator. */
  readonly maxDistance: readonly [bigint, bigint] | undefined;
}

/** The rules of a market that the policy allows. */
export type MarketRules =
  | { readonly kind: "known"; readonly limits: MarketLimits }
  /** The node does not know the market. */
  | { readonly kind: "missing" }
  /** Its units could not be loaded. */
  | { readonly kind: "unknown"; readonly why: string };

/**
 * Lists the orders of a side that may be filled: listed ones, and signed ones that the node does not show yet, each
 * with the size that unseen amendments may add.
 */
export function openVolume(
  observed: Pick<Observed, "orders">,
  unseen: readonly UnseenPart[],
  of: { readonly marketId: string; readonly side: Side },
): bigint {
  const amendments = unseen.filter((part) => part.kind === "amendment");
  let sum = 0n;
  for (const order of observed.orders.values()) {
    if (order.marketId === of.marketId && order.side === of.side) {
      sum += order.remaining + growthOf(order.id, order.size, amendments);
    }
  }
  for (const part of unseen) {
    if (part.kind === "order" && part.marketId === of.marketId && part.side === of.side && !part.isReduceOnly) {
      sum += part.size + (part.id === undefined ? 0n : growthOf(part.id, part.size, amendments));
    }
  }
  return sum;
}

/** Returns how much amendments may add to an order, in any order in which they are executed or fail. */
export function growthOf(orderId: string, size: bigint, unseen: readonly UnseenPart[]): bigint {
  let largest = size;
  let deltas = 0n;
  for (const part of unseen) {
    if (part.kind === "amendment" && part.orderId === orderId) {
      largest = part.size !== undefined && part.size > largest ? part.size : largest;
      deltas += part.sizeDelta > 0n ? part.sizeDelta : 0n;
    }
  }
  return largest - size + deltas;
}
