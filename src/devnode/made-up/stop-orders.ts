import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type StopOrderEvent, StopOrderEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import {
  Order_TimeInForce,
  Order_Type,
  StopOrder_SizeOverrideSetting,
  StopOrder_Status,
  StopOrder_TriggerDirection,
  type StopOrderSchema,
} from "../../../gen/vega/vega_pb.js";
import { blockTime, COUNT, earlier, marketId, partyId } from "./chain.js";
import { decimal, hashOf, pick, scatter } from "./numbers.js";
import { freeText } from "./texts.js";

/** The number of stop orders. */
const STOP_ORDERS = 10_000;

const SECOND = 1_000_000_000n;

/**
 * How long after the history the pending stop orders begin to end. Live blocks come years after it: if the stop orders
 * ended sooner, the first of these blocks would submit the orders of half of them.
 */
const PENDING_TIME = 50n * 365n * 86_400n * SECOND;

/** What the stop orders of the history depend on. */
export interface StopOrderWorld {
  readonly lastHeight: bigint;
  /** The price of the last trade of a market, by the market's number. */
  readonly lastPrice: (market: number) => number;
}

/**
 * Make the stop orders of the history. The first two of every ten are a pair in which one cancels the other.
 *
 * They came evenly over the history, each with a block. Those that are pending have a trigger that the last price did
 * not reach, and an end, if any, that is yet to come.
 *
 * @param world the end of the history
 * @returns the stop orders and their submissions, in the order of their times
 */
export function madeUpStopOrders(world: StopOrderWorld): StopOrderEvent[] {
  return Array.from({ length: STOP_ORDERS }, (_, number) => stopOrderEvent(number, world));
}

function stopOrderEvent(n: number, { lastHeight, lastPrice }: StopOrderWorld): StopOrderEvent {
  const paired = n % 10 < 2;
  const submission = n - (n % 10 === 1 ? 1 : 0);
  const createdAt = blockTime(1n + (BigInt(submission) * lastHeight) / BigInt(STOP_ORDERS));
  const end = blockTime(lastHeight);
  const status: StopOrder_Status = paired ? pick([1, 2, 4 - (n % 10), 5], n / 10) : 1 + (Math.floor((n * 5) / 3) % 6);
  const pending = status === StopOrder_Status.PENDING;
  const direction: StopOrder_TriggerDirection = paired ? 1 + (n % 10) : 1 + (Math.floor(n / 3) % 2);
  const market = Math.floor(submission / COUNT.party) % COUNT.market;
  const lifetime = BigInt(3600 + (n % 7)) * SECOND;
  const longest = earlier(end - createdAt, 3600n * SECOND);
  const finishedAt = createdAt + ((longest * BigInt(1 + ((n * 7919) % 997))) / 997_000n) * 1000n;
  const expired = status === StopOrder_Status.EXPIRED;
  const expiresAt = expired ? finishedAt : (pending ? end + PENDING_TIME : createdAt) + lifetime;
  const percentage = n % 5 === 4 ? decimal(1 + (n % 100), 2) : undefined;
  return create(StopOrderEventSchema, {
    stopOrder: {
      id: stopOrderId(n),
      ...(paired && { ocoLinkId: stopOrderId(n + 1 - 2 * (n % 10)) }),
      ...((expired || n % 3 === 1) && { expiresAt, expiryStrategy: 1 + (Math.floor(n / 7) % 2) }),
      triggerDirection: direction,
      status,
      createdAt,
      ...(!pending && { updatedAt: finishedAt }),
      orderId: status === StopOrder_Status.TRIGGERED ? stopOrderId(n) : "",
      partyId: partyId(submission),
      marketId: marketId(market),
      ...(status === StopOrder_Status.REJECTED && { rejectionReason: 1 + (Math.floor(n / 20) % 10) }),
      sizeOverrideSetting:
        percentage === undefined ? StopOrder_SizeOverrideSetting.NONE : StopOrder_SizeOverrideSetting.POSITION,
      ...(percentage !== undefined && { sizeOverrideValue: { percentage } }),
      trigger: triggerOf(n, pending ? lastPrice(market) : undefined, direction),
    },
    submission: submissionOf(n, createdAt, direction, marketId(market)),
  });
}

const stopOrderId = (n: number): string => hashOf(`stop_order:${n}`);

/** The trigger; where a last price is given, one that it did not reach. */
function triggerOf(
  n: number,
  last: number | undefined,
  direction: StopOrder_TriggerDirection,
): NonNullable<MessageInitShape<typeof StopOrderSchema>["trigger"]> {
  if (n % 4 === 3) {
    return { case: "trailingPercentOffset", value: decimal(1 + (n % 250), 3) };
  }
  const distance = direction === StopOrder_TriggerDirection.RISES_ABOVE ? 1 : -1;
  const price = last === undefined ? scatter(2_650_000, 40_000, n) : last + distance * scatter(2_000, 40_000, n);
  return { case: "price", value: String(price) };
}

function submissionOf(n: number, createdAt: bigint, direction: number, market: string) {
  const type: Order_Type = pick([1, 1, 1, 1, 2, 2, 3], n / 2);
  const limit = type === Order_Type.LIMIT;
  const timeInForce: Order_TimeInForce = limit ? 1 + (Math.floor(n / 14) % 6) : 3 + (Math.floor(n / 14) % 2);
  const pegged = limit && n % 9 === 5;
  const rests = limit && timeInForce < Order_TimeInForce.IOC;
  return {
    marketId: market,
    price: limit && !pegged ? String(scatter(2_640_000, 60_000, n)) : "",
    size: BigInt(scatter(1, 500, n)),
    side: direction,
    timeInForce,
    expiresAt: timeInForce === Order_TimeInForce.GTT ? createdAt + 86_400n * SECOND : 0n,
    type,
    reference: freeText(n),
    ...(pegged && { peggedOrder: { reference: 1 + (Math.floor(n / 9) % 3), offset: String(n % 100) } }),
    postOnly: rests && n % 4 === 0,
    reduceOnly: timeInForce === Order_TimeInForce.IOC || timeInForce === Order_TimeInForce.FOK,
    ...(rests &&
      n % 6 === 0 && { icebergOpts: { peakSize: BigInt(10 + (n % 90)), minimumVisibleSize: BigInt(1 + (n % 9)) } }),
  };
}
