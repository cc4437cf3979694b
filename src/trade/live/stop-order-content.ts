import type { StopOrderSetup } from "../../../gen/vega/commands/v1/commands_pb.js";
import type { StopOrderEvent } from "../../../gen/vega/events/v1/events_pb.js";
import { StopOrder_SizeOverrideSetting, StopOrder_TriggerDirection } from "../../../gen/vega/vega_pb.js";
import { compare, decimal } from "../transaction/check/network/go-numbers.js";
import type { STOP_ORDER_HALVES } from "../transaction/command-identifiers.js";

/** A stop order as a command submits it. */
export interface SubmittedStopOrder {
  readonly half: (typeof STOP_ORDER_HALVES)[number];
  readonly setup: StopOrderSetup;
}

const DIRECTIONS = {
  fallsBelow: StopOrder_TriggerDirection.FALLS_BELOW,
  risesAbove: StopOrder_TriggerDirection.RISES_ABOVE,
};

/**
 * Compares the content of a stop order with what was submitted. A batch may number its stop orders in another way than it was
 * expected to, so the identifier alone does not say which one it is.
 */
export function stopOrderMismatch(
  { half, setup }: SubmittedStopOrder,
  { stopOrder, submission }: Pick<StopOrderEvent, "stopOrder" | "submission">,
): string | undefined {
  const { orderSubmission: order, sizeOverrideValue: share } = setup;
  const { UNSPECIFIED, POSITION } = StopOrder_SizeOverrideSetting;
  const override = setup.sizeOverrideSetting ?? UNSPECIFIED;
  const isTrigger =
    stopOrder?.triggerDirection === DIRECTIONS[half] &&
    stopOrder.trigger.case === setup.trigger.case &&
    isSameNumber(stopOrder.trigger.value, setup.trigger.value);
  const isExpiry =
    microseconds(stopOrder?.expiresAt) === microseconds(setup.expiresAt) &&
    (setup.expiresAt === undefined || stopOrder?.expiryStrategy === setup.expiryStrategy);
  const isSize =
    stopOrder?.sizeOverrideSetting === override &&
    (override === POSITION
      ? isSameNumber(stopOrder.sizeOverrideValue?.percentage, share?.percentage)
      : submission?.size === order?.size);
  const isOrder =
    submission?.side === order?.side &&
    submission?.type === order?.type &&
    submission?.timeInForce === order?.timeInForce &&
    submission?.reduceOnly === order?.reduceOnly &&
    isSameNumber(submission?.price, order?.price);
  const different = [
    ...(isTrigger ? [] : ["trigger"]),
    ...(isExpiry ? [] : ["expiry"]),
    ...(isSize ? [] : ["size"]),
    ...(isOrder ? [] : ["order"]),
  ];
  return different.length === 0 ? undefined : `has another ${different.join(" and another ")}`;
}

/** Compares numbers. The network writes decimals in its own way, and an empty one as 0. */
export function isSameNumber(one: string | undefined, other: string | undefined): boolean {
  const [first, second] = [decimal(one || "0"), decimal(other || "0")];
  return first !== undefined && second !== undefined && compare(first, second) === 0;
}

function microseconds(time: bigint | undefined): bigint | undefined {
  return time === undefined ? undefined : time / 1000n;
}
