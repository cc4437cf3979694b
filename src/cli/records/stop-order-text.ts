import type { StopOrderEvent } from "../../../gen/client/vega/events/v1/events_pb.js";
import { type StopOrder, StopOrder_TriggerDirectionSchema } from "../../../gen/client/vega/vega_pb.js";
import { valueName } from "../listing.js";
import type { Names } from "./record-names.js";

/** Decimal numbers of a stop order: those of the order that it submits, and the price that triggers it. */
export type StopOrderDecimals = Readonly<Partial<Record<"price" | "size" | "triggerPrice", string>>>;

/** Converts the numbers of a stop order to decimal numbers. */
export function stopOrderDecimals(
  { stopOrder, submission }: StopOrderEvent,
  { unitsOf }: Pick<Names, "unitsOf">,
): StopOrderDecimals | undefined {
  const units = unitsOf(stopOrder?.marketId ?? "");
  if (stopOrder === undefined || units === undefined) {
    return undefined;
  }
  const price = (text: string) => (text === "" ? "" : units.price.format(text));
  return {
    ...(submission && { price: price(submission.price), size: units.size.format(submission.size) }),
    ...(stopOrder.trigger.case === "price" && { triggerPrice: price(stopOrder.trigger.value) }),
  };
}

/** Describes what triggers a stop order. */
export function triggerText({ trigger, triggerDirection }: StopOrder, price: string): string {
  const direction = valueName(StopOrder_TriggerDirectionSchema, triggerDirection);
  return `${direction} ${trigger.case === "trailingPercentOffset" ? `trailing ${trigger.value}` : price}`;
}
