import { create } from "@bufbuild/protobuf";
import {
  IcebergOptsSchema,
  type OrderSubmission,
  OrderSubmissionSchema,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import { type StopOrderEvent, StopOrderEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import {
  Order_TimeInForce,
  Order_Type,
  PeggedOrderSchema,
  Side,
  type StopOrder,
  StopOrder_SizeOverrideSetting,
  StopOrder_SizeOverrideValueSchema,
  StopOrder_Status,
  StopOrder_TriggerDirection,
  StopOrderSchema,
} from "../../../gen/vega/vega_pb.js";
import { blockTime, COUNT, decimal, freeText, hashOf, marketId, partyId, pick, scatter } from "./seeded-values.js";

const STOP_ORDERS = 10_000;

const SECOND = 1_000_000_000n;

/**
 * Minimum time from the end of the history to the expiry of pending stop orders. New blocks come years after the
 * history. With earlier expiries, the first of them would submit the orders of half of the stop orders.
 */
const PENDING_TIME = 50n * 365n * 86_400n * SECOND;

/** The inputs of the stop orders. */
export interface HistoryEnd {
  readonly lastHeight: bigint;
  /** Time of the last block, in Unix nanoseconds. */
  readonly end: bigint;
  /** Returns the last trade price of a market by its number. */
  readonly lastPrice: (market: number) => number;
}

/**
 * Generates the stop orders of the history. The first two of every ten are an OCO pair.
 *
 * They are spread evenly over the history. Pending ones have a trigger that the last price has not reached, and an
 * expiry, if any, in the future.
 */
export function generatedStopOrders(world: HistoryEnd): StopOrderEvent[] {
  return Array.from({ length: STOP_ORDERS }, (_, number) => stopOrderEvent(number, world));
}

/** Generates the pending stop orders only, in a fifth of the time that all of them take. */
export function generatedPendingStopOrders(world: HistoryEnd): StopOrderEvent[] {
  return Array.from({ length: STOP_ORDERS }, (_, number) => number)
    .filter((number) => statusOf(number) === StopOrder_Status.PENDING)
    .map((number) => stopOrderEvent(number, world));
}

const isPaired = (n: number): boolean => n % 10 < 2;

function statusOf(n: number): StopOrder_Status {
  return isPaired(n) ? pick([1, 2, 4 - (n % 10), 5], n / 10) : 1 + (Math.floor((n * 5) / 3) % 6);
}

function stopOrderEvent(n: number, { lastHeight, end, lastPrice }: HistoryEnd): StopOrderEvent {
  const paired = isPaired(n);
  const submission = n - (n % 10 === 1 ? 1 : 0);
  const createdAt = blockTime(1 + Math.floor((submission * Number(lastHeight)) / STOP_ORDERS));
  const status = statusOf(n);
  const pending = status === StopOrder_Status.PENDING;
  const direction: StopOrder_TriggerDirection = paired ? 1 + (n % 10) : 1 + (Math.floor(n / 3) % 2);
  const market = Math.floor(submission / COUNT.party) % COUNT.market;
  const lifetime = BigInt(3600 + (n % 7)) * SECOND;
  const longest = Math.min(Number(end - createdAt) / 1000, 3600 * 1_000_000);
  const finishedAt = createdAt + BigInt(Math.floor((longest * (1 + ((n * 7919) % 997))) / 997)) * 1000n;
  const expired = status === StopOrder_Status.EXPIRED;
  const expiresAt = expired ? finishedAt : (pending ? end + PENDING_TIME : createdAt) + lifetime;
  // Setting the fields one by one is several times faster than passing them to create(), and there are many stop orders.
  const stopOrder = create(StopOrderSchema);
  stopOrder.id = stopOrderId(n);
  if (paired) {
    stopOrder.ocoLinkId = stopOrderId(n + 1 - 2 * (n % 10));
  }
  if (expired || n % 3 === 1) {
    stopOrder.expiresAt = expiresAt;
    stopOrder.expiryStrategy = 1 + (Math.floor(n / 7) % 2);
  }
  stopOrder.triggerDirection = direction;
  stopOrder.status = status;
  stopOrder.createdAt = createdAt;
  if (!pending) {
    stopOrder.updatedAt = finishedAt;
  }
  if (status === StopOrder_Status.TRIGGERED) {
    stopOrder.orderId = stopOrder.id;
  }
  stopOrder.partyId = partyId(submission);
  stopOrder.marketId = marketId(market);
  if (status === StopOrder_Status.REJECTED) {
    stopOrder.rejectionReason = 1 + (Math.floor(n / 20) % 10);
  }
  stopOrder.sizeOverrideSetting = StopOrder_SizeOverrideSetting.NONE;
  if (n % 5 === 4) {
    stopOrder.sizeOverrideSetting = StopOrder_SizeOverrideSetting.POSITION;
    stopOrder.sizeOverrideValue = create(StopOrder_SizeOverrideValueSchema, { percentage: decimal(1 + (n % 100), 2) });
  }
  stopOrder.trigger = triggerOf(n, pending ? lastPrice(market) : undefined, direction);
  const event = create(StopOrderEventSchema);
  event.stopOrder = stopOrder;
  event.submission = submissionOf(n, stopOrder);
  return event;
}

const stopOrderId = (n: number): string => hashOf(`stop_order:${n}`);

/** Generates a trigger. With a last price, it is one that this price has not reached. */
function triggerOf(n: number, last: number | undefined, direction: StopOrder_TriggerDirection): StopOrder["trigger"] {
  if (n % 4 === 3) {
    return { case: "trailingPercentOffset", value: decimal(1 + (n % 250), 3) };
  }
  const distance = direction === StopOrder_TriggerDirection.RISES_ABOVE ? 1 : -1;
  const price = last === undefined ? scatter(2_650_000, 40_000, n) : last + distance * scatter(2_000, 40_000, n);
  return { case: "price", value: String(price) };
}

function submissionOf(n: number, { marketId: market, triggerDirection, createdAt }: StopOrder): OrderSubmission {
  const type: Order_Type = pick([1, 1, 1, 1, 2, 2, 3], n / 2);
  const limit = type === Order_Type.LIMIT;
  const timeInForce: Order_TimeInForce = limit ? 1 + (Math.floor(n / 14) % 6) : 3 + (Math.floor(n / 14) % 2);
  const pegged = limit && n % 9 === 5;
  const rests = limit && timeInForce < Order_TimeInForce.IOC;
  const submission = create(OrderSubmissionSchema);
  submission.marketId = market;
  submission.price = limit && !pegged ? String(scatter(2_640_000, 60_000, n)) : "";
  submission.size = BigInt(scatter(1, 500, n));
  submission.side = triggerDirection === StopOrder_TriggerDirection.RISES_ABOVE ? Side.BUY : Side.SELL;
  submission.timeInForce = timeInForce;
  if (timeInForce === Order_TimeInForce.GTT) {
    submission.expiresAt = createdAt + 86_400n * SECOND;
  }
  submission.type = type;
  submission.reference = freeText(n);
  if (pegged) {
    const offset = String(n % 100);
    submission.peggedOrder = create(PeggedOrderSchema, { reference: 1 + (Math.floor(n / 9) % 3), offset });
  }
  submission.postOnly = rests && n % 4 === 0;
  submission.reduceOnly = timeInForce === Order_TimeInForce.IOC || timeInForce === Order_TimeInForce.FOK;
  if (rests && n % 6 === 0) {
    const [peakSize, minimumVisibleSize] = [BigInt(10 + (n % 90)), BigInt(1 + (n % 9))];
    submission.icebergOpts = create(IcebergOptsSchema, { peakSize, minimumVisibleSize });
  }
  return submission;
}
