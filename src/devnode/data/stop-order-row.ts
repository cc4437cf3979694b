import type { MessageInitShape } from "@bufbuild/protobuf";
import type { StopOrderEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { type Row, readRow } from "./row.js";

/**
 * Convert a row of the table of stop orders to its message (specification, 2.4).
 *
 * @param row the row; times are Unix nanoseconds, enum values are numbers
 * @returns the stop order and its order submission
 */
export function stopOrderEvent(row: Row): MessageInitShape<typeof StopOrderEventSchema> {
  const { text, number, integer, flag, given } = readRow(row);
  return {
    stopOrder: {
      id: text("id"),
      ...given("oco_link_id", () => ({ ocoLinkId: text("oco_link_id") })),
      ...given("expires_at", () => ({ expiresAt: integer("expires_at"), expiryStrategy: number("expiry_strategy") })),
      triggerDirection: number("trigger_direction"),
      status: number("status"),
      createdAt: integer("created_at"),
      ...given("updated_at", () => ({ updatedAt: integer("updated_at") })),
      orderId: text("order_id"),
      partyId: text("party_id"),
      marketId: text("market_id"),
      ...given("rejection_reason", () => ({ rejectionReason: number("rejection_reason") })),
      sizeOverrideSetting: number("size_override_setting"),
      ...given("size_override_percentage", () => ({
        sizeOverrideValue: { percentage: text("size_override_percentage") },
      })),
      trigger:
        row["trigger_price"] === null
          ? { case: "trailingPercentOffset", value: text("trailing_percent_offset") }
          : { case: "price", value: text("trigger_price") },
    },
    submission: {
      marketId: text("market_id"),
      price: text("price"),
      size: integer("size"),
      side: number("side"),
      timeInForce: number("time_in_force"),
      expiresAt: integer("order_expires_at"),
      type: number("type"),
      reference: text("reference"),
      ...given("pegged_reference", () => ({
        peggedOrder: { reference: number("pegged_reference"), offset: text("pegged_offset") },
      })),
      postOnly: flag("post_only"),
      reduceOnly: flag("reduce_only"),
      ...given("peak_size", () => ({
        icebergOpts: { peakSize: integer("peak_size"), minimumVisibleSize: integer("minimum_visible_size") },
      })),
    },
  };
}
