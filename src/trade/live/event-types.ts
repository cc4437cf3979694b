import { busEventTypeNames } from "../../../gen/names/events.js";
import type { BusEvent, BusEventType } from "../../../gen/vega/events/v1/events_pb.js";
import { closestName, quoted } from "../../base/errors/error-text.js";
import { ProtocolError, RequestError } from "../../base/errors/index.js";
import { asResult } from "../../base/json-result.js";

/** The content of an event as Protobuf holds it. */
type BusEventContent = Extract<BusEvent["event"], { readonly case: string }>;

/** The event types that this release knows, by the names of `BusEvent`'s cases. */
export type EventType = Exclude<BusEvent["event"]["case"], undefined>;

/** The content of an event: its type, and the message of that type. */
type EventContent<C = BusEventContent> = C extends BusEventContent
  ? { readonly kind: C["case"]; readonly value: C["value"] }
  : never;

// The definitions themselves are loaded with the first stream.
const BUS_EVENT_TYPE_NAMES = busEventTypeNames satisfies Record<EventType, keyof typeof BusEventType>;

/** All event types that this release knows. */
export const eventTypes: readonly EventType[] = Object.keys(BUS_EVENT_TYPE_NAMES).filter(isEventType);

function isEventType(name: string): name is EventType {
  return Object.hasOwn(BUS_EVENT_TYPE_NAMES, name);
}

export function busEventTypeName(type: EventType): keyof typeof BusEventType {
  return BUS_EVENT_TYPE_NAMES[type];
}

/**
 * Parses the name of an event type.
 *
 * @throws {@link RequestError} if there is no such type, with the closest name
 */
export function parseEventType(name: string, where: string): EventType {
  if (typeof name === "string" && isEventType(name)) {
    return name;
  }
  const similar = closestName(String(name), eventTypes);
  throw new RequestError(`must be an event type (got ${quoted(String(name))})`, {
    option: where,
    advice:
      similar === undefined
        ? `Use one of ${eventTypes.slice(0, 5).join(", ")} and so on. live.md in the documentation lists all types.`
        : `Did you mean ${similar}? live.md in the documentation lists all types.`,
  });
}

/** The position of an event in the chain. */
export interface EventOrigin {
  /** The event's identifier, `BLOCK-SEQUENCE`. */
  readonly id: string;
  /** The height of its block, from the identifier. */
  readonly block: bigint;
  /** Its number in the block, from the identifier; the first event has the lowest. */
  readonly sequence: bigint;
  /** The hash of its block, as the node sends it. */
  readonly blockHash: string;
  /**
   * The hash of the transaction that caused it. For events of the network itself, the value is the one that the node
   * sends.
   */
  readonly txHash: string;
  readonly chainId: string;
}

/** An event of one type, or of one of several: its type, its message, and its position. */
export type LiveEventOf<T extends EventType> = EventOrigin & Extract<EventContent, { readonly kind: T }>;

/** An event of a type that this release does not know, from a newer node: the complete message. */
export interface UnknownEvent extends EventOrigin {
  readonly kind: "unknown";
  readonly value: BusEvent;
}

/** An event of any type, discriminated by `kind`. */
export type LiveEvent = LiveEventOf<EventType> | UnknownEvent;

/** Both numbers fit 64 bits. */
const ID = /^(\d{1,19})-(\d{1,19})$/;

/**
 * Reads an event from the bus.
 *
 * @throws {@link ProtocolError} if its identifier is not `BLOCK-SEQUENCE`
 */
export function parseEvent(event: BusEvent): LiveEvent {
  const [, block, sequence] = ID.exec(event.id) ?? [];
  if (block === undefined || sequence === undefined) {
    throw new ProtocolError(`an event ID must have the form BLOCK-SEQUENCE (got ${quoted(event.id)})`, {
      advice:
        "Use another node, and report this to the operator of the node: neither gaps nor repeated events can be detected.",
    });
  }
  const { case: kind = "unknown", value = event } = event.event;
  // One literal without a spread: this runs for each event, and a spread takes eight times as long.
  return asResult({
    id: event.id,
    block: BigInt(block),
    sequence: BigInt(sequence),
    blockHash: event.block,
    txHash: event.txHash,
    chainId: event.chainId,
    kind,
    value,
  }) as LiveEvent; // The compiler cannot see that kind and value are those of one case.
}
