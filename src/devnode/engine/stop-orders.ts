import { create } from "@bufbuild/protobuf";
import {
  OrderSubmissionSchema,
  type StopOrderSetup,
  type StopOrdersCancellation,
  type StopOrdersSubmission,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import { StopOrderEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { Market_TradingMode } from "../../../gen/vega/markets_pb.js";
import {
  Side,
  StopOrder_RejectionReason,
  StopOrder_SizeOverrideSetting,
  StopOrder_SizeOverrideValueSchema,
  StopOrder_Status,
  StopOrder_TriggerDirection,
  StopOrderSchema,
} from "../../../gen/vega/vega_pb.js";
import { parseDecimal, wholeMicroseconds } from "./decimal.js";
import { openGeneralAccount } from "./ledger.js";
import { volumeOf } from "./positions.js";
import { isOpen, type MarketState, noteExpiry, type PendingStop, type Work } from "./state.js";

interface Half {
  readonly setup: StopOrderSetup;
  readonly direction: StopOrder_TriggerDirection;
}

/** The halves of a submission of stop orders, in the order of their identifiers. */
export function halvesOf({ risesAbove, fallsBelow }: StopOrdersSubmission): readonly Half[] {
  return [
    { setup: risesAbove, direction: StopOrder_TriggerDirection.RISES_ABOVE },
    { setup: fallsBelow, direction: StopOrder_TriggerDirection.FALLS_BELOW },
  ].flatMap(({ setup, direction }) => (setup === undefined ? [] : [{ setup, direction }]));
}

/**
 * Submit a stop order, or a pair of them. It waits for the end of a block whose last trade reaches its trigger, that of this
 * block included. Unlike on the network, a party may submit one before it has a position.
 *
 * @param work the block
 * @param partyId who submits them
 * @param submission the stop orders
 * @param ids their identifiers
 * @returns the name of the reason for which they were rejected, if so
 */
export function submitStopOrders(
  work: Work,
  partyId: string,
  submission: StopOrdersSubmission,
  ids: readonly string[],
): string | undefined {
  const halves = halvesOf(submission);
  const marketId = halves[0]?.setup.orderSubmission?.marketId.toLowerCase() ?? "";
  const market = work.state.markets.get(marketId);
  if (market !== undefined) {
    openGeneralAccount(work, partyId, market.asset);
  }
  const reason = rejectionReason(work, market, partyId, halves);
  halves.forEach((half, index) => {
    const stop = pendingStop(work, half, {
      id: ids[index] ?? "",
      ocoLinkId: halves.length > 1 ? ids[1 - index] : undefined,
      partyId,
      marketId,
    });
    if (market === undefined || reason !== undefined) {
      endStop(work, market, stop, { status: StopOrder_Status.REJECTED, ...(reason && { rejectionReason: reason }) });
    } else {
      market.stops.set(stop.stopOrder.id, { ...stop, best: market.lastPrice });
      market.isWatched = true;
      noteExpiry(market, stop.stopOrder.expiresAt);
      tellStop(work, stop);
    }
  });
  return reason === undefined ? undefined : `REJECTION_REASON_${StopOrder_RejectionReason[reason]}`;
}

function rejectionReason(
  { block, maxStopOrders }: Work,
  market: MarketState | undefined,
  partyId: string,
  halves: readonly Half[],
): StopOrder_RejectionReason | undefined {
  if (market === undefined || !isOpen(market)) {
    return StopOrder_RejectionReason.TRADING_NOT_ALLOWED;
  }
  const pending = [...market.stops.values()].filter(({ stopOrder }) => stopOrder.partyId === partyId).length;
  if (pending + halves.length > maxStopOrders) {
    return StopOrder_RejectionReason.MAX_STOP_ORDERS_PER_PARTY_REACHED;
  }
  const setups = halves.map(({ setup }) => setup);
  if (setups.some(({ expiresAt }) => expiresAt !== undefined && expiresAt <= block.time)) {
    return StopOrder_RejectionReason.EXPIRY_IN_THE_PAST;
  }
  if (setups.some(({ orderSubmission }) => orderSubmission?.reduceOnly !== true)) {
    return StopOrder_RejectionReason.MUST_BE_REDUCE_ONLY;
  }
  const [first, second] = setups;
  if (second?.expiresAt !== undefined && first?.expiresAt === second.expiresAt) {
    return StopOrder_RejectionReason.STOP_ORDER_CANNOT_MATCH_OCO_EXPIRY_TIMES;
  }
  if (market.market.tradingMode === Market_TradingMode.OPENING_AUCTION) {
    return StopOrder_RejectionReason.STOP_ORDER_NOT_ALLOWED_DURING_OPENING_AUCTION;
  }
  if (setups.some((setup) => !isShare(setup))) {
    return StopOrder_RejectionReason.STOP_ORDER_LINKED_PERCENTAGE_INVALID;
  }
  const volume = volumeOf(market, partyId);
  const enlarges = ({ orderSubmission }: StopOrderSetup) => (orderSubmission?.side === Side.BUY) === volume > 0n;
  return volume !== 0n && setups.some(enlarges)
    ? StopOrder_RejectionReason.STOP_ORDER_NOT_CLOSING_THE_POSITION
    : undefined;
}

/** Whether the share of the position that a stop order asks for is above 0, and 1 at most; or it asks for none. */
function isShare({ sizeOverrideSetting, sizeOverrideValue }: StopOrderSetup): boolean {
  const share = shareOf(sizeOverrideValue?.percentage ?? "0");
  return sizeOverrideSetting !== StopOrder_SizeOverrideSetting.POSITION || (share > 0n && share <= WHOLE);
}

const SHARE_DECIMALS = 18;

/** What stands for the whole of a position, in {@link shareOf}. */
export const WHOLE = 10n ** BigInt(SHARE_DECIMALS);

/** A share of a position as a whole number; {@link WHOLE} for all of it. */
export function shareOf(percentage: string): bigint {
  return parseDecimal(percentage, SHARE_DECIMALS);
}

function pendingStop(
  { block }: Work,
  { setup, direction }: Half,
  facts: Pick<PendingStop["stopOrder"], "id" | "partyId" | "marketId" | "ocoLinkId">,
): PendingStop {
  const { orderSubmission, expiresAt, expiryStrategy, sizeOverrideValue } = setup;
  const stopOrder = create(StopOrderSchema, {
    ...facts,
    ...(expiresAt !== undefined && { expiresAt: wholeMicroseconds(expiresAt), expiryStrategy }),
    triggerDirection: direction,
    status: StopOrder_Status.PENDING,
    createdAt: block.time,
    sizeOverrideSetting: setup.sizeOverrideSetting ?? StopOrder_SizeOverrideSetting.NONE,
    ...(sizeOverrideValue && {
      sizeOverrideValue: create(StopOrder_SizeOverrideValueSchema, { ...sizeOverrideValue }),
    }),
    trigger: setup.trigger,
  });
  const { marketId } = facts;
  return { stopOrder, submission: { ...(orderSubmission ?? create(OrderSubmissionSchema)), marketId }, best: 0n };
}

function tellStop({ emit }: Work, { stopOrder, submission }: PendingStop): void {
  emit({ case: "stopOrder", value: create(StopOrderEventSchema, { stopOrder, submission }) });
}

/**
 * End a stop order: it no longer waits.
 *
 * @param work the block
 * @param market its market, whose stop orders change
 * @param stop the stop order
 * @param end its status from then on, and what goes with it
 */
export function endStop(
  work: Work,
  market: MarketState | undefined,
  stop: PendingStop,
  end: Pick<PendingStop["stopOrder"], "status"> &
    Partial<Pick<PendingStop["stopOrder"], "orderId" | "rejectionReason">>,
): void {
  market?.stops.delete(stop.stopOrder.id);
  tellStop(work, { ...stop, stopOrder: { ...stop.stopOrder, ...end, updatedAt: work.block.time } });
}

/** End the other half of a pair, if it waits. */
export function endOther(work: Work, market: MarketState, stop: PendingStop, status: StopOrder_Status): void {
  const other = market.stops.get(stop.stopOrder.ocoLinkId ?? "");
  if (other !== undefined) {
    endStop(work, market, other, { status });
  }
}

/**
 * Cancel a party's stop orders that wait: one of them, along with the other half of its pair; those on a market; or all.
 *
 * @param work the block
 * @param partyId the party
 * @param cancellation the cancellation; an empty identifier stands for any
 * @returns why nothing was done, if so
 */
export function cancelStopOrders(
  work: Work,
  partyId: string,
  cancellation: StopOrdersCancellation,
): string | undefined {
  const marketId = (cancellation.marketId ?? "").toLowerCase();
  const id = (cancellation.stopOrderId ?? "").toLowerCase();
  const { markets } = work.state;
  if (marketId !== "" && !markets.has(marketId)) {
    return `there is no market ${marketId}`;
  }
  const own = [...markets.values()].flatMap((market) =>
    [...market.stops.values()].flatMap((stop) => {
      const { stopOrder } = stop;
      const isMeant = (marketId === "" || stopOrder.marketId === marketId) && (id === "" || stopOrder.id === id);
      return stopOrder.partyId === partyId && isMeant ? [{ market, stop }] : [];
    }),
  );
  if (id !== "" && own.length === 0) {
    return `the party has no pending stop order ${id}`;
  }
  for (const { market, stop } of own) {
    if (market.stops.has(stop.stopOrder.id)) {
      endStop(work, market, stop, { status: StopOrder_Status.CANCELLED });
      endOther(work, market, stop, StopOrder_Status.CANCELLED);
    }
  }
  return undefined;
}
