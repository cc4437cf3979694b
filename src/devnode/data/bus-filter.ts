import { BusEventType } from "../../../gen/vega/events/v1/events_pb.js";
import type { LedgerMovement } from "../../../gen/vega/vega_pb.js";
import { invalidArgument } from "../api-error.js";
import type { Event } from "../world/event.js";
import { busEventType } from "./bus-event.js";
import { oneOf } from "./conditions.js";

/** The events that a request asks for. */
export interface BusFilter {
  readonly type: readonly BusEventType[];
  readonly partyId: string;
  readonly marketId: string;
}

/** What {@link BusEventType.MARKET} stands for on deployed nodes. */
const OF_MARKETS = [
  BusEventType.POSITION_RESOLUTION,
  BusEventType.MARKET_CREATED,
  BusEventType.MARKET_UPDATED,
  BusEventType.MARKET_TICK,
  BusEventType.AUCTION,
];

/** The fields of events that name a party, and those that name a market. */
const PARTY_FIELDS = ["partyId", "party", "owner", "buyer", "seller", "from", "to", "referrer", "referee"];
const MARKET_FIELDS = ["marketId", "market"];

/**
 * Make the condition of a subscription to the event bus. A party or a market that is asked for lets through only events
 * that name it: those that name none, such as the beginning of a block, are left out.
 *
 * @param filter the types of events, of which none and ALL stand for all, and the party and the market; empty for any
 * @returns a function that tells whether an event is asked for
 * @throws ConnectError with `InvalidArgument` where there is no such type
 */
export function busFilter({ type, partyId, marketId }: BusFilter): (event: Event) => boolean {
  const unknown = type.find((each) => BusEventType[each] === undefined || each === BusEventType.UNSPECIFIED);
  if (unknown !== undefined && !type.includes(BusEventType.ALL)) {
    throw invalidArgument("malformed request", "invalid event type");
  }
  const isOfType = type.includes(BusEventType.ALL)
    ? () => true
    : oneOf(type.flatMap((each) => (each === BusEventType.MARKET ? [each, ...OF_MARKETS] : [each])));
  return (event) =>
    isOfType(busEventType(event.case)) &&
    (partyId === "" || partiesOf(event).includes(partyId)) &&
    (marketId === "" || marketsOf(event).includes(marketId));
}

/** The parties that an event is about. */
function partiesOf(event: Event): readonly string[] {
  switch (event.case) {
    case "party":
      return [event.value.id];
    case "stopOrder":
      return named(event.value.stopOrder, PARTY_FIELDS);
    case "ledgerMovements":
      return event.value.ledgerMovements.flatMap(ownersOf);
    default:
      return named(event.value, PARTY_FIELDS);
  }
}

/** The markets that an event is about. */
function marketsOf(event: Event): readonly string[] {
  switch (event.case) {
    case "marketCreated":
    case "marketUpdated":
    case "marketTick":
      return [event.value.id];
    case "stopOrder":
      return named(event.value.stopOrder, MARKET_FIELDS);
    default:
      return named(event.value, MARKET_FIELDS);
  }
}

function ownersOf({ entries }: LedgerMovement): readonly string[] {
  return entries.flatMap(({ fromAccount, toAccount }) => [fromAccount?.owner ?? "", toAccount?.owner ?? ""]);
}

/** What the fields of a message say, of those that it has. */
function named(message: object | undefined, names: readonly string[]): readonly string[] {
  const fields: Partial<Record<string, unknown>> = { ...message };
  return names.map((name) => fields[name]).filter((value) => typeof value === "string");
}
