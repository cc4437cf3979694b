import type { BusEvent } from "../../../gen/vega/events/v1/events_pb.js";
import type { Position } from "../../../gen/vega/vega_pb.js";

/** A block of the chain. */
export interface Block {
  readonly height: bigint;
  /** 64 hex digits in lower case. */
  readonly hash: string;
  /** Unix nanoseconds, in whole microseconds. */
  readonly time: bigint;
}

/**
 * What happened, as the network's event bus tells it; and a position as it stands, which the bus leaves to its readers
 * to compute. A message that is part of an event is never changed afterwards: what happens next brings a new one.
 */
export type Event =
  | Exclude<BusEvent["event"], { readonly case: undefined }>
  | { readonly case: "position"; readonly value: Position };

/** An event in its block. */
export interface Happening {
  readonly block: Block;
  /** The place in the block, from 1. */
  readonly sequence: number;
  /** The transaction that it comes from, or what stands for one where the block itself brings it: 64 hex digits in lower case. */
  readonly txHash: string;
  readonly event: Event;
}
