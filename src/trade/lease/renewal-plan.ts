import { create } from "@bufbuild/protobuf";
import {
  type BatchMarketInstructions,
  BatchMarketInstructionsSchema,
  type OrderSubmission,
  type StopOrdersSubmission,
  StopOrdersSubmissionSchema,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  Order_TimeInForce,
  Order_Type,
  type Side,
  StopOrder_ExpiryStrategy,
  StopOrder_SizeOverrideSetting,
} from "../../../gen/vega/vega_pb.js";
import type { LeaseSettings } from "./lease-options.js";
import type { LeaseLimits } from "./lease-services.js";
import {
  type LeasedOrder,
  type LeasedStop,
  type LeaseState,
  type LeaseTrigger,
  neededSides,
  volumeOf,
} from "./lease-state.js";

type FlattenSettings = Pick<LeaseSettings, "flattenAfterMs">;
type PlacedOrder = Pick<OrderSubmission, "marketId" | "side">;

interface WantedStop {
  readonly side: Side;
  /**
   * The size of its order; the network replaces it with the position's size, unless it triggers when it is submitted.
   */
  readonly size: bigint;
  /** The time without a renewal after which its order is submitted, in milliseconds. */
  readonly afterMs: number;
}

/** The instructions of one transaction, without the times of expiry, which depend on when it is signed. */
export interface LeaseBatch {
  readonly marketId: string;
  readonly renewed: readonly LeasedOrder[];
  readonly submitted: OrderSubmission | undefined;
  /** The identifiers of orders. */
  readonly cancelledOrders: readonly string[];
  readonly cancelledStops: readonly LeasedStop[];
  readonly submittedStops: readonly WantedStop[];
  readonly trigger: LeaseTrigger | undefined;
}

/** The reference of the orders of our stop orders, which identifies them after a crash. */
export const STOP_ORDER_REFERENCE = "tradewire lease";

/** A price that no market reaches: prices are numbers of up to 77 digits, and order prices must be covered by funds. */
export const FAR_PRICE = `1${"0".repeat(40)}`;

/**
 * Plans the renewals of a market, in as few batches as the network's limit allows. A stop order cannot be amended, so each is
 * canceled and submitted again in one batch, which the network executes in this order (v0.78.0, `ProcessBatch` in
 * core/processor/batch_market_instructions_processor.go). Orders that expire first are renewed first.
 */
export function planRenewals(
  state: LeaseState,
  marketId: string,
  settings: FlattenSettings,
  limits: LeaseLimits,
): readonly LeaseBatch[] {
  const orders = [...state.orders.values()]
    .filter((order) => order.marketId === marketId)
    .sort((a, b) => Number(a.expiresAt - b.expiresAt));
  const old = cancellable(state, marketId);
  const volume = volumeOf(state, marketId);
  const wanted = wantedStops(neededSides(state, marketId), volume, settings, limits);
  const swaps = Array.from({ length: Math.max(old.length, wanted.length) }, (_, index) => ({
    cancelledStops: old.slice(index, index + 1),
    submittedStops: wanted.slice(index, index + 1),
    renewed: [],
  }));
  const amendments = orders.map((order) => ({ cancelledStops: [], submittedStops: [], renewed: [order] }));
  const trigger = volume === 0n ? undefined : state.triggers.get(marketId);
  const base = { marketId, submitted: undefined, cancelledOrders: [], trigger };
  const batches: LeaseBatch[] = [];
  for (const part of [...swaps, ...amendments]) {
    const last = batches.at(-1);
    if (last === undefined || sizeOf(last) + sizeOf(part) > limits.batchSize) {
      batches.push({ ...base, ...part });
    } else {
      batches[batches.length - 1] = joined(last, part);
    }
  }
  return batches;
}

/**
 * Returns whether an order may open a position that has no stop order. One that was only sent does not count, as the network
 * may execute the order before it, and neither does one that a transaction cancels without another one in its place.
 */
export function isOpening(
  state: LeaseState,
  { marketId, side }: PlacedOrder,
  { flattenAfterMs }: FlattenSettings,
): boolean {
  const now = state.clock.latest() ?? 0n;
  const isCovered = [...state.stops.values()].some(
    (stop) =>
      stop.marketId === marketId &&
      stop.side !== side &&
      stop.status === "placed" &&
      stop.expiresAt > now &&
      stop.canceledBy.every(({ submittedStops }) => submittedStops.some((each) => each.side === stop.side)),
  );
  return flattenAfterMs.length > 0 && !isCovered && volumeOf(state, marketId) === 0n;
}

/**
 * Plans the stop orders that are submitted together with an order that may open a position. The market may already have
 * as many as the network allows, so all of them are replaced.
 */
export function planOpening(
  state: LeaseState,
  order: PlacedOrder,
  settings: FlattenSettings,
  limits: LeaseLimits,
): Pick<LeaseBatch, "cancelledStops" | "submittedStops"> {
  if (!isOpening(state, order, settings)) {
    return { cancelledStops: [], submittedStops: [] };
  }
  const { marketId } = order;
  const besideOrder = { ...limits, batchSize: limits.batchSize - 1 };
  const submittedStops = wantedStops(neededSides(state, marketId, order.side), 0n, settings, besideOrder);
  const old = cancellable(state, marketId);
  return { cancelledStops: old.slice(0, besideOrder.batchSize - submittedStops.length), submittedStops };
}

/**
 * Returns the stop orders of a market that may be pending, those that the network most likely has first: those that no
 * transaction cancels so far, then placed ones, in case those transactions are not executed, then the latest ones. The order
 * matters because a batch may have space for the first ones only, and the network refuses new stop orders once it has as
 * many as it allows.
 */
function cancellable(state: LeaseState, marketId: string): readonly LeasedStop[] {
  const all = [...state.stops.values()].filter((stop) => stop.marketId === marketId);
  const isSent = ({ status }: LeasedStop) => status === "sent";
  const canceling = all.filter(({ canceledBy }) => canceledBy.length > 0);
  return [
    ...all.filter(({ canceledBy }) => canceledBy.length === 0),
    ...canceling.filter((stop) => !isSent(stop)),
    ...canceling.filter(isSent).reverse(),
  ];
}

/** Returns the stop orders that a market needs for its position, as far as the network allows them. */
function wantedStops(
  sides: readonly Side[],
  volume: bigint,
  { flattenAfterMs }: FlattenSettings,
  { stopOrders, batchSize }: LeaseLimits,
): readonly WantedStop[] {
  const perSide = Math.floor(Math.min(stopOrders, batchSize - 1) / Math.max(sides.length, 1));
  const size = volume === 0n ? 1n : volume < 0n ? -volume : volume;
  return sides.flatMap((side) => flattenAfterMs.slice(0, perSide).map((afterMs) => ({ side, size, afterMs })));
}

type BatchPart = Pick<LeaseBatch, "cancelledStops" | "renewed" | "submittedStops">;

function sizeOf({ cancelledStops, renewed, submittedStops }: BatchPart): number {
  return cancelledStops.length + renewed.length + submittedStops.length;
}

function joined(batch: LeaseBatch, part: BatchPart): LeaseBatch {
  return {
    ...batch,
    cancelledStops: [...batch.cancelledStops, ...part.cancelledStops],
    submittedStops: [...batch.submittedStops, ...part.submittedStops],
    renewed: [...batch.renewed, ...part.renewed],
  };
}

export function batchInstructions(batch: LeaseBatch, time: bigint, leaseMs: number): BatchMarketInstructions {
  const { marketId } = batch;
  const expiresAt = after(time, leaseMs);
  return create(BatchMarketInstructionsSchema, {
    cancellations: batch.cancelledOrders.map((orderId) => ({ marketId, orderId })),
    // An amendment of the expiry alone keeps the order's place in the queue (v0.78.0, amendOrder in
    // core/execution/future/market.go: `orderAmendInPlace`).
    amendments: batch.renewed.map(({ id: orderId }) => ({ marketId, orderId, expiresAt })),
    submissions: batch.submitted === undefined ? [] : [{ ...batch.submitted, expiresAt }],
    stopOrdersCancellation: batch.cancelledStops.map(({ id: stopOrderId }) => ({ marketId, stopOrderId })),
    stopOrdersSubmission: batch.submittedStops.map((stop) =>
      stopOrderOf(marketId, stop, after(time, stop.afterMs), batch.trigger),
    ),
  });
}

/** Returns the time some milliseconds after another one. */
export function after(time: bigint, ms: number): bigint {
  return time + BigInt(ms) * 1_000_000n;
}

/**
 * The stop order submits a market order of the whole position when it expires, unless the market is in an auction (v0.78.0,
 * removeExpiredStopOrders and submitStopOrders in core/execution/future/market.go). One that triggers when it is submitted
 * submits an order of its own size (the same, SubmitStopOrdersWithIDGeneratorAndOrderIDs).
 */
function stopOrderOf(
  marketId: string,
  { side, size }: WantedStop,
  expiresAt: bigint,
  trigger: LeaseTrigger = { risesAbove: FAR_PRICE },
): StopOrdersSubmission {
  const setup = (price: string) => ({
    orderSubmission: {
      marketId,
      side,
      size,
      type: Order_Type.MARKET,
      timeInForce: Order_TimeInForce.IOC,
      reduceOnly: true,
      reference: STOP_ORDER_REFERENCE,
    },
    expiresAt,
    expiryStrategy: StopOrder_ExpiryStrategy.SUBMIT,
    sizeOverrideSetting: StopOrder_SizeOverrideSetting.POSITION,
    sizeOverrideValue: { percentage: "1" },
    trigger: { case: "price" as const, value: price },
  });
  return create(
    StopOrdersSubmissionSchema,
    "risesAbove" in trigger ? { risesAbove: setup(trigger.risesAbove) } : { fallsBelow: setup(trigger.fallsBelow) },
  );
}
