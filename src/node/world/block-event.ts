import { createHash } from "node:crypto";
import type { BusEvent } from "../../../gen/vega/events/v1/events_pb.js";
import type { Order, Position } from "../../../gen/vega/vega_pb.js";

/** A block of the chain. */
export interface Block {
  readonly height: bigint;
  /** 64 hex digits in lower case. */
  readonly hash: string;
  /** Unix nanoseconds, in whole microseconds. */
  readonly time: bigint;
}

export function blockHash(content: string): string {
  return createHash("sha256").update(`block:${content}`).digest("hex");
}

/**
 * An event of the network's event bus, or a change that consumers of the bus compute themselves: a position, or an
 * order after it was canceled or has expired (the bus reports its identifier only). The message of an event is never
 * changed afterwards; a later change has its own event.
 */
export type Event =
  | Exclude<BusEvent["event"], { readonly case: undefined }>
  | {
      readonly case: "position";
      readonly value: Position;
      /** The average entry price in the asset's decimals, which only exports have: the message has the market's. */
      readonly entryPriceInAsset: string;
    }
  | { readonly case: "endedOrder"; readonly value: Order };

export function isOrder(event: Event): event is Extract<Event, { readonly case: "order" | "endedOrder" }> {
  return event.case === "order" || event.case === "endedOrder";
}

export interface BlockEvent {
  readonly block: Block;
  /** Sequence number in the block, from 1. */
  readonly sequence: number;
  /**
   * The transaction that caused it, or the block's hash for events of the block itself: 64 hex digits in lower case.
   */
  readonly txHash: string;
  readonly event: Event;
}
