import { create } from "@bufbuild/protobuf";
import {
  type OrderAmendment,
  type OrderSubmission,
  OrderSubmissionSchema,
  type StopOrderSetup,
  type StopOrdersCancellation,
  type StopOrdersSubmission,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import { StopOrderEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { Market_TradingMode } from "../../../gen/vega/markets_pb.js";
import {
  OrderError,
  Side,
  type StopOrder,
  StopOrder_ExpiryStrategy,
  StopOrder_RejectionReason,
  StopOrder_SizeOverrideSetting,
  StopOrder_SizeOverrideValueSchema,
  StopOrder_Status,
  StopOrder_TriggerDirection,
  StopOrderSchema,
} from "../../../gen/vega/vega_pb.js";
import { STOP_ORDER_HALVES, type StopOrderIdentifiers } from "../../trade/transaction/command-identifiers.js";
import {
  type ExecutionContext,
  isContinuous,
  isOpen,
  type MarketState,
  type PendingStopOrder,
  trackExpiry,
} from "./engine-state.js";
import { abs, divideRounded, ONE, parseFixedPoint, truncateToMicroseconds } from "./fixed-point.js";
import { emitMarginLevels, isExposed } from "./margins.js";
import { volumeOf } from "./open-positions.js";
import { amendOrder, submitOrder } from "./order-commands.js";
import { orderErrorText, TRADING_NOT_ALLOWED } from "./order-validation.js";

const DIRECTION = {
  fallsBelow: StopOrder_TriggerDirection.FALLS_BELOW,
  risesAbove: StopOrder_TriggerDirection.RISES_ABOVE,
} as const;

interface SubmittedStopOrder extends PendingStopOrder {
  readonly setup: StopOrderSetup;
}

type StopOrderOutcome = Pick<StopOrder, "status"> & Partial<Pick<StopOrder, "orderId" | "rejectionReason">>;

/**
 * Submits a stop order or an OCO pair (v0.78.0, `core/execution/future/market.go`,
 * SubmitStopOrdersWithIDGeneratorAndOrderIDs). A stop order whose trigger price is already reached submits its order
 * immediately. The transaction result reports neither a rejection nor an unknown market.
 *
 * @param orderIds - the identifiers of the orders of the same batch
 */
export function submitStopOrders(
  context: ExecutionContext,
  partyId: string,
  submission: StopOrdersSubmission,
  ids: StopOrderIdentifiers,
  orderIds: readonly string[] = [],
): void {
  const stopOrders = stopOrdersOf(context, partyId, submission, ids, orderIds);
  const market = context.state.markets.get(stopOrders[0]?.stopOrder.marketId ?? "");
  if (market === undefined) {
    return;
  }
  const rejectionReason = stopOrderRejectionReason(context, market, partyId, stopOrders);
  if (rejectionReason !== undefined) {
    emitStopOrders(
      context,
      stopOrders.map((stop) => ({
        ...stop,
        stopOrder: { ...stop.stopOrder, status: StopOrder_Status.REJECTED, rejectionReason },
      })),
    );
    return;
  }
  const fired = isContinuous(market) ? stopOrders.find((stop) => isTriggeredOnSubmission(market, stop)) : undefined;
  if (fired === undefined) {
    for (const { setup: _, ...stop } of stopOrders) {
      market.stopOrders.set(stop.stopOrder.id, { ...stop, bestPrice: market.lastPrice });
      trackExpiry(market, stop.stopOrder.expiresAt);
    }
    emitStopOrders(context, stopOrders);
    return;
  }
  const orderId = nextOrderId(context, fired);
  submitAndTrigger(context, partyId, fired.submission, orderId);
  emitStopOrders(
    context,
    stopOrders.map((stop) => {
      const end =
        stop === fired ? { status: StopOrder_Status.TRIGGERED, orderId } : { status: StopOrder_Status.STOPPED };
      return { ...stop, stopOrder: { ...stop.stopOrder, ...end } };
    }),
  );
}

function isTriggeredOnSubmission(market: MarketState, stop: SubmittedStopOrder): boolean {
  return stop.stopOrder.trigger.case === "price" && isTriggered(market, stop);
}

function stopOrderRejectionReason(
  { block, maxStopOrders }: ExecutionContext,
  market: MarketState,
  partyId: string,
  stopOrders: readonly SubmittedStopOrder[],
): StopOrder_RejectionReason | undefined {
  if (market.market.tradingMode === Market_TradingMode.OPENING_AUCTION) {
    return StopOrder_RejectionReason.STOP_ORDER_NOT_ALLOWED_DURING_OPENING_AUCTION;
  }
  if (!isOpen(market)) {
    return StopOrder_RejectionReason.TRADING_NOT_ALLOWED;
  }
  for (const { setup } of stopOrders) {
    if (setup.expiresAt !== undefined && setup.expiresAt < block.time) {
      return StopOrder_RejectionReason.EXPIRY_IN_THE_PAST;
    }
    if (setup.orderSubmission?.reduceOnly !== true) {
      return StopOrder_RejectionReason.MUST_BE_REDUCE_ONLY;
    }
  }
  const [first, second] = stopOrders;
  if (second?.setup.expiresAt !== undefined && first?.setup.expiresAt === second.setup.expiresAt) {
    return StopOrder_RejectionReason.STOP_ORDER_CANNOT_MATCH_OCO_EXPIRY_TIMES;
  }
  const pending = [...market.stopOrders.values()].filter(({ stopOrder }) => stopOrder.partyId === partyId).length;
  if (pending + stopOrders.length > maxStopOrders) {
    return StopOrder_RejectionReason.MAX_STOP_ORDERS_PER_PARTY_REACHED;
  }
  if (volumeOf(market, partyId) === 0n && ![...market.orders.values()].some((order) => order.partyId === partyId)) {
    return StopOrder_RejectionReason.STOP_ORDER_NOT_ALLOWED_WITHOUT_A_POSITION;
  }
  return stopOrders.every(hasValidShare) ? undefined : StopOrder_RejectionReason.STOP_ORDER_LINKED_PERCENTAGE_INVALID;
}

/** Returns whether the size override, if there is one, is above 0 and at most 1. */
function hasValidShare({ setup: { sizeOverrideSetting, sizeOverrideValue } }: SubmittedStopOrder): boolean {
  if (sizeOverrideSetting !== StopOrder_SizeOverrideSetting.POSITION || sizeOverrideValue === undefined) {
    return true;
  }
  const share = parseFixedPoint(sizeOverrideValue.percentage);
  return share > 0n && share <= ONE;
}

/** Creates the stop orders of a submission, without validating them. */
function stopOrdersOf(
  { block, keepsStopOrderIds }: ExecutionContext,
  partyId: string,
  submission: StopOrdersSubmission,
  ids: StopOrderIdentifiers,
  orderIds: readonly string[],
): readonly SubmittedStopOrder[] {
  return STOP_ORDER_HALVES.flatMap((half) => {
    const setup = submission[half];
    if (setup === undefined) {
      return [];
    }
    const { orderSubmission, expiresAt, expiryStrategy, sizeOverrideSetting, sizeOverrideValue, trigger } = setup;
    const marketId = orderSubmission?.marketId.toLowerCase() ?? "";
    const linked = half === "fallsBelow" ? ids.risesAbove : ids.fallsBelow;
    const stopOrder = create(StopOrderSchema, {
      id: ids[half] ?? "",
      ...(linked !== undefined && { ocoLinkId: linked }),
      partyId,
      marketId,
      ...(expiresAt !== undefined && { expiresAt: truncateToMicroseconds(expiresAt), expiryStrategy }),
      triggerDirection: DIRECTION[half],
      status: StopOrder_Status.PENDING,
      createdAt: block.time,
      updatedAt: block.time,
      ...(sizeOverrideSetting !== undefined && { sizeOverrideSetting }),
      ...(sizeOverrideValue && {
        sizeOverrideValue: create(StopOrder_SizeOverrideValueSchema, { ...sizeOverrideValue }),
      }),
      trigger,
    });
    const order = orderSubmission ?? create(OrderSubmissionSchema);
    const sharesId = keepsStopOrderIds && !orderIds.includes(stopOrder.id);
    return [
      { setup, stopOrder, submission: { ...order, marketId, price: order.price || "0" }, bestPrice: 0n, sharesId },
    ];
  });
}

function emitStopOrders({ emit }: ExecutionContext, stopOrders: readonly PendingStopOrder[]): void {
  for (const { stopOrder, submission } of stopOrders) {
    emit({ case: "stopOrder", value: create(StopOrderEventSchema, { stopOrder, submission }) });
  }
}

function finishedStopOrder<T extends PendingStopOrder>({ block }: ExecutionContext, stop: T, end: StopOrderOutcome): T {
  return { ...stop, stopOrder: { ...stop.stopOrder, ...end, updatedAt: block.time } };
}

function ocoCounterpart(market: MarketState, { stopOrder }: PendingStopOrder): PendingStopOrder | undefined {
  return market.stopOrders.get(stopOrder.ocoLinkId ?? "");
}

function byId(a: PendingStopOrder, b: PendingStopOrder): number {
  return a.stopOrder.id < b.stopOrder.id ? -1 : 1;
}

/**
 * Cancels one pending stop order with its OCO counterpart, all on a market, or all of a party (v0.78.0,
 * `core/execution/engine.go`, CancelStopOrders).
 */
export function cancelStopOrders(
  context: ExecutionContext,
  partyId: string,
  cancellation: StopOrdersCancellation,
): string | undefined {
  const marketId = (cancellation.marketId ?? "").toLowerCase();
  const id = (cancellation.stopOrderId ?? "").toLowerCase();
  if (marketId === "") {
    if (id !== "") {
      return "market id required when order id specified";
    }
    for (const market of context.state.markets.values()) {
      cancelAll(context, market, partyId);
    }
    return undefined;
  }
  const market = context.state.markets.get(marketId);
  if (market === undefined) {
    return orderErrorText(OrderError.INVALID_MARKET_ID);
  }
  return id === "" ? cancelAll(context, market, partyId) : cancelOne(context, market, partyId, id);
}

function cancelAll(context: ExecutionContext, market: MarketState, partyId: string): string {
  if (!isOpen(market)) {
    return TRADING_NOT_ALLOWED;
  }
  removeAllOf(context, market, partyId);
  return orderErrorText(OrderError.INVALID_MARKET_ID); // The network returns this error even after a successful cancellation.
}

function cancelOne(context: ExecutionContext, market: MarketState, partyId: string, id: string): string | undefined {
  if (!isOpen(market)) {
    return TRADING_NOT_ALLOWED;
  }
  const stop = market.stopOrders.get(id);
  if (stop?.stopOrder.partyId !== partyId) {
    return "stop order not found";
  }
  const other = ocoCounterpart(market, stop);
  removeCancelled(context, market, other === undefined ? [stop] : [stop, other]);
  return undefined;
}

function removeAllOf(context: ExecutionContext, market: MarketState, partyId: string): void {
  const own = [...market.stopOrders.values()].filter(({ stopOrder }) => stopOrder.partyId === partyId).toSorted(byId);
  removeCancelled(context, market, own);
}

/**
 * Cancels the stop orders of parties that have neither a position nor active orders (v0.78.0,
 * `core/execution/future/market.go`, BlockEnd and removeAllStopOrders, and `core/positions/market_position.go`, Closed).
 */
export function cancelStopOrdersOfClosed(context: ExecutionContext, market: MarketState): void {
  const parties = new Set([...market.stopOrders.values()].map(({ stopOrder }) => stopOrder.partyId));
  for (const partyId of [...parties].filter((party) => !isExposed(market, party)).toSorted()) {
    removeAllOf(context, market, partyId);
  }
}

function removeCancelled(
  context: ExecutionContext,
  market: MarketState,
  stopOrders: readonly PendingStopOrder[],
): void {
  for (const { stopOrder } of stopOrders) {
    market.stopOrders.delete(stopOrder.id);
  }
  emitStopOrders(
    context,
    stopOrders.map((stop) => finishedStopOrder(context, stop, { status: StopOrder_Status.CANCELLED })),
  );
}

/**
 * Updates the reference prices of trailing stop orders: the highest price for `fallsBelow`, the lowest for
 * `risesAbove`.
 */
export function updateTrailingPrices(market: MarketState, price: bigint): void {
  for (const [id, stop] of market.stopOrders) {
    const { trigger, triggerDirection } = stop.stopOrder;
    const isBetter =
      triggerDirection === StopOrder_TriggerDirection.FALLS_BELOW ? price > stop.bestPrice : price < stop.bestPrice;
    if (trigger.case === "trailingPercentOffset" && (isBetter || stop.bestPrice === 0n)) {
      market.stopOrders.set(id, { ...stop, bestPrice: price });
    }
  }
}

/** Returns whether the last price of a market triggers a stop order. Reaching the trigger price suffices. */
function isTriggered({ lastPrice }: MarketState, stop: PendingStopOrder): boolean {
  const { trigger, triggerDirection } = stop.stopOrder;
  if (lastPrice === 0n || trigger.case === undefined) {
    return false;
  }
  const rises = triggerDirection === StopOrder_TriggerDirection.RISES_ABOVE;
  if (trigger.case === "price") {
    const price = BigInt(trigger.value);
    return rises ? lastPrice >= price : lastPrice <= price;
  }
  const offset = parseFixedPoint(trigger.value);
  const level = stop.bestPrice * (rises ? ONE + offset : ONE - offset);
  return rises ? lastPrice * ONE >= level : lastPrice * ONE <= level;
}

/** Submits an order and triggers the stop orders whose price it reaches. */
export function submitAndTrigger(
  context: ExecutionContext,
  partyId: string,
  submission: OrderSubmission,
  id: string,
): string | undefined {
  const error = submitOrder(context, partyId, submission, id);
  triggerStopOrders(context, submission.marketId);
  emitMarginLevels(context);
  return error;
}

/** Amends an order as {@link amendOrder} does, and triggers the stop orders whose price it reaches. */
export function amendAndTrigger(
  context: ExecutionContext,
  partyId: string,
  amendment: OrderAmendment,
): string | undefined {
  const error = amendOrder(context, partyId, amendment);
  triggerStopOrders(context, amendment.marketId);
  emitMarginLevels(context);
  return error;
}

/**
 * Triggers the stop orders that the last price has reached, until no more trigger (v0.78.0,
 * `core/execution/future/market.go`, triggerStopOrders). Each triggers at most once, and none triggers in an auction.
 */
function triggerStopOrders(context: ExecutionContext, marketId: string): void {
  const market = context.state.markets.get(marketId.toLowerCase());
  while (market?.hasNewPrice === true && isContinuous(market)) {
    market.hasNewPrice = false;
    updateTrailingPrices(market, market.lastPrice);
    const triggered = removeTriggered(market);
    const halves = triggered.flatMap((stop) => removePending(market, ocoCounterpart(market, stop)));
    const turned = [...market.stopOrders.values()].filter((stop) => isOnPositionSide(market, stop));
    emitStopOrders(context, [
      ...halves.map((stop) => finishedStopOrder(context, stop, { status: StopOrder_Status.STOPPED })),
      ...turned.map((stop) => cancelTurned(context, market, stop)),
    ]);
    submitOrdersOf(context, market, triggered, StopOrder_Status.TRIGGERED);
  }
}

/**
 * Cancels a stop order that faces away from the position, by status only: it stays in the market's pool and counts, but no
 * longer expires (v0.78.0, `core/execution/stoporders/stop_orders.go`, CheckDirection: it deletes by `OrderID`, which is empty).
 */
function cancelTurned(context: ExecutionContext, market: MarketState, stop: PendingStopOrder): PendingStopOrder {
  const turned = finishedStopOrder(context, stop, { status: StopOrder_Status.CANCELLED });
  market.stopOrders.set(stop.stopOrder.id, turned);
  return turned;
}

/**
 * Removes the triggered stop orders: those that fall below by descending price, those that rise above by ascending
 * price, then trailing ones.
 */
function removeTriggered(market: MarketState): readonly PendingStopOrder[] {
  const triggered = [...market.stopOrders.values()].filter((stop) => isTriggered(market, stop));
  const falling = triggered.filter((stop) => isPriced(stop) && isFalling(stop));
  const rising = triggered.filter((stop) => isPriced(stop) && !isFalling(stop));
  return [
    ...falling.toSorted((a, b) => Number(priceOf(b) - priceOf(a))),
    ...rising.toSorted((a, b) => Number(priceOf(a) - priceOf(b))),
    ...triggered.filter((stop) => !isPriced(stop)),
  ].flatMap((stop) =>
    market.stopOrders.has(stop.stopOrder.ocoLinkId ?? "") || !hasPair(stop) ? removePending(market, stop) : [],
  );
}

const hasPair = ({ stopOrder }: PendingStopOrder) => stopOrder.ocoLinkId !== undefined;
const isPriced = ({ stopOrder }: PendingStopOrder) => stopOrder.trigger.case === "price";
const isFalling = ({ stopOrder }: PendingStopOrder) =>
  stopOrder.triggerDirection === StopOrder_TriggerDirection.FALLS_BELOW;
const priceOf = ({ stopOrder: { trigger } }: PendingStopOrder) =>
  BigInt(trigger.case === "price" ? trigger.value : "0");

function removePending(market: MarketState, stop: PendingStopOrder | undefined): readonly PendingStopOrder[] {
  return stop !== undefined && market.stopOrders.delete(stop.stopOrder.id) ? [stop] : [];
}

function isOnPositionSide(market: MarketState, stop: PendingStopOrder): boolean {
  return isPositionLinked(stop) && volumeOf(market, stop.stopOrder.partyId) !== 0n && !isClosing(market, stop);
}

const isPositionLinked = ({ stopOrder }: PendingStopOrder) =>
  stopOrder.sizeOverrideSetting === StopOrder_SizeOverrideSetting.POSITION;

function isClosing(market: MarketState, { stopOrder, submission }: PendingStopOrder): boolean {
  const volume = volumeOf(market, stopOrder.partyId);
  return submission.side === Side.SELL ? volume > 0n : volume < 0n;
}

/**
 * Submits the orders of stop orders, then emits the stop orders with their status, even if an order is rejected. A
 * position-linked stop order without a position to reduce has no effect.
 */
function submitOrdersOf(
  context: ExecutionContext,
  market: MarketState,
  stopOrders: readonly PendingStopOrder[],
  status: StopOrder_Status.TRIGGERED | StopOrder_Status.EXPIRED,
): void {
  const submitted = stopOrders.flatMap((stop) => {
    const size = sizeOf(market, stop);
    if (size === 0n) {
      return [];
    }
    const { partyId } = stop.stopOrder;
    const submission = { ...stop.submission, size };
    const orderId = nextOrderId(context, stop);
    const error = submitOrder(context, partyId, submission, orderId);
    emitMarginLevels(context);
    return [finishedStopOrder(context, { ...stop, submission }, { status, ...(error === undefined && { orderId }) })];
  });
  emitStopOrders(context, submitted);
}

/**
 * Returns the identifier for the order of a stop order: the next one of the transaction or block or, as specified
 * (2.4), the stop order's own.
 */
function nextOrderId({ nextId }: ExecutionContext, { stopOrder, sharesId }: PendingStopOrder): string {
  return sharesId ? stopOrder.id : nextId();
}

function sizeOf(market: MarketState, stop: PendingStopOrder): bigint {
  const { stopOrder, submission } = stop;
  if (!isPositionLinked(stop)) {
    return submission.size;
  }
  const volume = abs(volumeOf(market, stopOrder.partyId));
  const share =
    stopOrder.sizeOverrideValue === undefined ? ONE : parseFixedPoint(stopOrder.sizeOverrideValue.percentage);
  return isClosing(market, stop) ? divideRounded(volume * share, ONE) : 0n;
}

/** Returns the time at which a stop order expires; `undefined` if it does not, as one that {@link triggerStopOrders} canceled. */
export function expiryOf({ stopOrder: { expiresAt, status } }: PendingStopOrder): bigint | undefined {
  return status === StopOrder_Status.CANCELLED ? undefined : expiresAt;
}

/**
 * Expires the stop orders of a market that are due. Depending on its expiry strategy, each ends or submits its order.
 * The OCO counterpart of an expired stop order is stopped (v0.78.0, `core/execution/future/market.go`,
 * removeExpiredStopOrders).
 */
export function expireStopOrders(context: ExecutionContext, market: MarketState): void {
  const isDue = (stop: PendingStopOrder) => (expiryOf(stop) ?? context.block.time + 1n) <= context.block.time;
  const due = [...market.stopOrders.values()].filter(isDue).flatMap((stop) => removePending(market, stop));
  const halves = due.flatMap((stop) => removePending(market, ocoCounterpart(market, stop)));
  const { EXPIRED, STOPPED } = StopOrder_Status;
  if (!isContinuous(market)) {
    const all = [...due, ...halves].toSorted(byId);
    emitStopOrders(
      context,
      all.map((stop) => finishedStopOrder(context, stop, { status: EXPIRED })),
    );
    return;
  }
  const submits = ({ stopOrder }: PendingStopOrder) => stopOrder.expiryStrategy === StopOrder_ExpiryStrategy.SUBMIT;
  const silent = [
    ...due.filter((stop) => !submits(stop)).map((stop) => finishedStopOrder(context, stop, { status: EXPIRED })),
    ...halves.map((stop) => finishedStopOrder(context, stop, { status: STOPPED })),
  ];
  emitStopOrders(context, silent.toSorted(byId));
  submitOrdersOf(context, market, due.filter(submits).toSorted(byId), EXPIRED);
}
