import type { Client } from "tradewire";

/** The limits of a market, as whole numbers in its decimals. */
export interface ObservedLimits {
  readonly maxSize: bigint;
  readonly maxPosition: bigint;
  readonly maxNotional: number;
  readonly maxDistance: number;
}

/** What {@link observePolicy} returns. */
export interface PolicyObserver {
  /** What was beyond the limits, a text for each. */
  readonly violations: readonly string[];
  readonly counts: { readonly orders: number; readonly stopOrders: number; readonly trades: number };
  /** Resolves when a block was seen. */
  readonly ready: Promise<void>;
  /** Whether everything was observed until now. What is done without is not checked. */
  isRunning(): boolean;
  height(): bigint;
  /** The identifiers of the party's live orders on a market. */
  orders(marketId: string): readonly string[];
  stopOrders(marketId: string): readonly string[];
  restarted(): void;
  killed(): void;
  mark(marketId: string): number | undefined;
  stop(): Promise<void>;
}

/** Observes a party until it is stopped. */
export function observePolicy(
  client: Client,
  partyId: string,
  limits: Readonly<Record<string, ObservedLimits>>,
  maxOrdersPerMinute?: number,
): PolicyObserver;
