import type { BusEvent } from "../../gen/vega/events/v1/events_pb.js";
import { ProtocolError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import type { EventContent, EventType } from "./event-types.js";

/** Where an event is from. */
export interface EventOrigin {
  /** The event's identifier, `BLOCK-SEQUENCE`. */
  readonly id: string;
  /** The height of its block, from the identifier. */
  readonly block: bigint;
  /** Its place in the block, from the identifier; the first has the lowest. */
  readonly sequence: bigint;
  /** The hash of its block, as the node gives it. */
  readonly blockHash: string;
  /** The hash of the transaction that caused it; of what the network does by itself, whatever the node gives. */
  readonly txHash: string;
  readonly chainId: string;
}

/** An event of a type, or of one of several: its case, the message of that case, and where it is from. */
export type LiveEventOf<T extends EventType> = EventOrigin & Extract<EventContent, { readonly case: T }>;

/** An event of a type that this release does not know, which a newer node has sent: all of it, as it came. */
export interface UnknownEvent extends EventOrigin {
  readonly case: "unknown";
  readonly value: BusEvent;
}

/** An event of any type; `case` tells which. */
export type LiveEvent = LiveEventOf<EventType> | UnknownEvent;

/** Both numbers fit 64 bits. */
const ID = /^(\d{1,19})-(\d{1,19})$/;

/**
 * Read an event as the node sent it.
 *
 * @param event the event
 * @returns the event by its case, with its block and its place in it
 * @throws {@link ProtocolError} where its identifier is not `BLOCK-SEQUENCE`
 */
export function readEvent(event: BusEvent): LiveEvent {
  const [, block, sequence] = ID.exec(event.id) ?? [];
  if (block === undefined || sequence === undefined) {
    throw new ProtocolError(`an event's id is ${quoted(event.id)}, not BLOCK-SEQUENCE`, {
      advice: "Try another node, and report it to who runs this one: neither gaps nor repeated events could be told.",
    });
  }
  const content = event.event.case === undefined ? ({ case: "unknown", value: event } as const) : event.event;
  // In one literal: to spread one object more takes eight times as long, and this is done for each event.
  return {
    id: event.id,
    block: BigInt(block),
    sequence: BigInt(sequence),
    blockHash: event.block,
    txHash: event.txHash,
    chainId: event.chainId,
    ...content,
  };
}
