import type { Order_Status } from "../../../gen/vega/vega_pb.js";
import { RequestError } from "../../base/errors/index.js";
import {
  assertArray,
  assertFunction,
  assertKnownKeys,
  assertObject,
  assertOneOf,
  requireMs,
} from "../../base/input/assert.js";
import { requireIdentifier } from "../live/events-request.js";
import { readSigner } from "../transaction/transaction.js";
import { SIGNING_OPTIONS, type SigningOptions } from "../transaction/transactions.js";

/** How orders are leased, and how positions are handled when renewals stop. */
export interface LeasesOptions extends SigningOptions {
  /** How long an order lives without a renewal, in milliseconds of the chain's time; 30000 by default. */
  readonly leaseMs?: number | undefined;
  /** The time between two renewals, in milliseconds, less than `leaseMs`; a third of it by default. */
  readonly renewEveryMs?: number | undefined;
  /**
   * The time without a renewal after which the network closes positions, in milliseconds of the chain's time, at least
   * `leaseMs`. Several times give as many attempts, each with its own stop order. Without it, positions stay open.
   */
  readonly flattenAfterMs?: number | readonly number[] | undefined;
  /** The markets, 64 hex digits each; all by default. Orders and positions on other markets are not changed. */
  readonly marketIds?: readonly string[] | undefined;
  /** Whether live orders of the key that expire (`TIME_IN_FORCE_GTT`) are also leased, for example after a crash. */
  readonly adopt?: boolean | undefined;
  /** Called for each event of the leases. If it throws, the error becomes a warning and has no other effect. */
  readonly onEvent?: ((event: LeaseEvent) => void) | undefined;
}

/** An event of the leases. */
export type LeaseEvent =
  /** The network executed a renewal. */
  | {
      readonly kind: "renewed";
      readonly marketId: string;
      readonly txHash: string;
      /** The number of orders that it renewed. */
      readonly orders: number;
      /** Their new expiry, in Unix nanoseconds. */
      readonly expiresAt: bigint;
    }
  /** A renewal was not executed, or it is not known whether it was. The next one follows in any case. */
  | { readonly kind: "renewalFailed"; readonly marketId: string | undefined; readonly error: unknown }
  /** The network refused to renew an order, which is still live, for example as the margin no longer covers it. */
  | { readonly kind: "orderNotRenewed"; readonly marketId: string; readonly orderId: string; readonly reason: string }
  /** A leased order is no longer live. An order that has expired is not submitted again. */
  | {
      readonly kind: "orderEnded";
      readonly marketId: string;
      readonly orderId: string;
      readonly status: Order_Status;
    }
  /** The network refused the stop order that closes a position when renewals stop. */
  | { readonly kind: "stopOrderRefused"; readonly marketId: string; readonly reason: string }
  /** A stop order has expired without its order, for example as the market was in an auction. */
  | { readonly kind: "positionNotClosed"; readonly marketId: string; readonly stopOrderId: string }
  /** A stop order submitted its order: it expired as renewals had stopped, or its own trigger was reached. */
  | {
      readonly kind: "positionClosing";
      readonly marketId: string;
      readonly stopOrderId: string;
      readonly cause: "expired" | "triggered";
      /** The order that closes the position, 64 hex digits. */
      readonly orderId: string;
    };

/** The names of {@link LeasesOptions}. */
const LEASES_OPTIONS = {
  ...SIGNING_OPTIONS,
  leaseMs: true,
  renewEveryMs: true,
  flattenAfterMs: true,
  marketIds: true,
  adopt: true,
  onEvent: true,
} as const satisfies { readonly [Key in keyof Required<LeasesOptions>]: true };

/** The options with their defaults. */
export interface LeaseSettings {
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  /** In ascending order; empty if positions stay open. */
  readonly flattenAfterMs: readonly number[];
  /** In lower case; `undefined` for all. */
  readonly marketIds: ReadonlySet<string> | undefined;
  readonly adopt: boolean;
  readonly signing: SigningOptions;
}

const LEASE_MS = 30_000;

/** The minimum times, in milliseconds: a network makes a block about once a second. */
const MIN_MS = 100;

/** The maximum number of attempts to close a position: networks allow at most 100 stop orders on a market. */
const MAX_ATTEMPTS = 100;

/**
 * Checks the options of leases.
 *
 * @throws {@link RequestError} if an option is wrong
 */
export function parseLeasesOptions(options: LeasesOptions): LeaseSettings {
  assertObject("options", options);
  assertKnownKeys("options", options, LEASES_OPTIONS);
  const { leaseMs = LEASE_MS, marketIds, adopt, onEvent, signer, chainId, chainIdPrefix } = options;
  const { maxDifficulty, version } = options;
  assertFunction("onEvent", onEvent);
  assertOneOf("adopt", adopt, [true, false]);
  requireMs("leaseMs", leaseMs, MIN_MS);
  const renewEveryMs = options.renewEveryMs ?? Math.max(1, Math.floor(leaseMs / 3));
  requireMs("renewEveryMs", renewEveryMs, 1, leaseMs - 1);
  return {
    leaseMs,
    renewEveryMs,
    flattenAfterMs: parseFlattenAfter(options.flattenAfterMs, leaseMs),
    marketIds: parseMarketIds(marketIds),
    adopt: adopt ?? false,
    signing: { signer: readSigner(signer), chainId, chainIdPrefix, maxDifficulty, version },
  };
}

/** An order that rests until after the position was closed could open it again, so the position is closed last. */
function parseFlattenAfter(times: LeasesOptions["flattenAfterMs"], leaseMs: number): readonly number[] {
  if (times === undefined) {
    return [];
  }
  const all: readonly number[] = typeof times === "object" && times !== null ? [...times] : [times];
  if (all.length > MAX_ATTEMPTS) {
    throw new RequestError(`must have at most ${MAX_ATTEMPTS} times (got ${all.length})`, {
      option: "flattenAfterMs",
      advice: "Use one time, or a few.",
    });
  }
  for (const each of all) {
    requireMs("flattenAfterMs", each, leaseMs);
  }
  return [...all].sort((a, b) => a - b);
}

function parseMarketIds(marketIds: LeasesOptions["marketIds"]): ReadonlySet<string> | undefined {
  if (marketIds === undefined) {
    return undefined;
  }
  assertArray("marketIds", marketIds, "an array of market IDs");
  return new Set(marketIds.map((each) => requireIdentifier(each, "marketIds").toLowerCase()));
}
