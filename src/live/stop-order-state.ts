import { type StopOrder, StopOrder_RejectionReason, StopOrder_Status } from "../../gen/client/vega/vega_pb.js";

/** Whether the network accepted a stop order. */
export type StopOrderState =
  | { readonly kind: "accepted" }
  | { readonly kind: "rejected"; readonly reason: string }
  /** It could not be read. */
  | { readonly kind: "unread"; readonly why: string };

/**
 * Reads whether the network accepted a stop order.
 *
 * @param stopOrder the stop order, at any time of its life
 * @returns whether it was accepted; `undefined` where it is missing, or has no status
 */
export function stopOrderState(
  stopOrder: Pick<StopOrder, "status" | "rejectionReason"> | undefined,
): Extract<StopOrderState, { readonly kind: "accepted" | "rejected" }> | undefined {
  switch (stopOrder?.status) {
    case undefined:
    case StopOrder_Status.UNSPECIFIED:
      return undefined;
    case StopOrder_Status.REJECTED:
      return {
        kind: "rejected",
        reason: `REJECTION_REASON_${StopOrder_RejectionReason[stopOrder.rejectionReason ?? 0] ?? stopOrder.rejectionReason}`,
      };
    default:
      return { kind: "accepted" };
  }
}
