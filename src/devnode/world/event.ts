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

/**
 * An event of the network's event bus, or a change that the bus leaves to its readers to compute: a position, and an order
 * after it was cancelled or has expired, which the bus names by its identifier alone. A message that is part of an event is never changed afterwards: what happens next brings a new one.
 */
export type Event =
  | Exclude<BusEvent["event"], { readonly case: undefined }>
  | { readonly case: "position"; readonly value: Position }
  | { readonly case: "endedOrder"; readonly value: Order };

/** Tells whether an event is a version of an order. */
export function isOrder(event: Event): event is Extract<Event, { readonly case: "order" | "endedOrder" }> {
  return event.case === "order" || event.case === "endedOrder";
}

/** An event in its block. */
export interface Happening {
  readonly block: Block;
  /** The place in the block, from 1. */
  readonly sequence: number;
  /** The transaction that it comes from, or what stands for one where the block itself brings it: 64 hex digits in lower case. */
  readonly txHash: string;
  readonly event: Event;
}
